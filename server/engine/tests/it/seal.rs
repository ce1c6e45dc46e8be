//! Sealing: everything posted becomes a leaf once, whoever commits late, and what is changed afterwards
//! shows even when everything else was made to agree with it.

mod tampering;

use std::time::Duration;

use chrono::TimeDelta;
use domain::id::SettlementId;
use engine::{
    books::{self, Report},
    error::StoreError,
    seal::{
        MOST, ProofError, Round, Sealer,
        views::{self, Seal},
    },
    wallet::{self, Grant},
};
use sqlx::{PgConnection, PgPool};

use crate::bench::{Bench, failed, seal, succeeded, until_blocked, usd};

/// Books with a capture, a release, and a job that cost nothing.
async fn busy(pool: PgPool) -> Bench {
    let bench = Bench::new(pool).await;
    bench.grant("100", None).await;
    let (paid, free) = (bench.submit(5).await, bench.submit(0).await);
    let lost = bench.submit(7).await;
    bench.hear(&succeeded("a", paid, 3, 1)).await;
    bench.hear(&succeeded("b", free, 0, 1)).await;
    bench.hear(&failed("c", lost, 1)).await;
    bench.settle().await;
    bench
}

/// All seals, oldest first.
async fn seals(bench: &Bench) -> Vec<Seal> {
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let page = views::list(&mut conn, Default::default()).await;
    let mut seals = page.unwrap().rows;
    seals.reverse();
    seals
}

/// How many transfers, and how many settlements without any, are written.
async fn written(bench: &Bench) -> (i64, i64) {
    sqlx::query_as(
        "SELECT (SELECT count(*) FROM transfers),
                (SELECT count(*) FROM settlements s WHERE NOT EXISTS (
                     SELECT FROM transfers t WHERE t.settlement_id = s.settlement_id))",
    )
    .fetch_one(&bench.owner)
    .await
    .unwrap()
}

/// How many transfers, and how many settlements without any, are sealed.
async fn sealed(bench: &Bench) -> (i64, i64) {
    let seals = seals(bench).await;
    let unmoved: i64 = seals.iter().map(|seal| seal.unmoved).sum();
    (
        seals.last().map_or(0, |seal| seal.leaves) - unmoved,
        unmoved,
    )
}

async fn report(bench: &Bench) -> Report {
    books::verify(bench.engine.pool()).await.unwrap()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn history_is_sealed_at_once_and_everything_once(pool: PgPool) {
    let bench = busy(pool).await;
    assert_eq!(seals(&bench).await, []);
    let before = report(&bench).await;
    assert_eq!((before.breaks, before.seal_head), (vec![], None));
    // Small rounds, so that seals follow each other.
    seal(&bench, 2).await;
    let (transfers, unmoved) = written(&bench).await;
    assert!(transfers >= 6 && unmoved >= 2, "{transfers} {unmoved}");
    assert_eq!(sealed(&bench).await, (transfers, unmoved));
    let first = seals(&bench).await;
    assert!(first.len() >= 3, "{first:?}");
    assert!(first.iter().all(|seal| seal.added() <= 4), "{first:?}");

    // Nothing new, nothing to seal; a new sealer goes on where the last one ended.
    seal(&bench, 2).await;
    assert_eq!(seals(&bench).await, first);
    bench.engine.clock().advance(TimeDelta::minutes(1));
    bench.submit(1).await;
    seal(&bench, 2).await;
    let last = seals(&bench).await.pop().unwrap();
    assert_eq!((last.added(), last.sealed_at), (1, bench.now()));
    let report = report(&bench).await;
    let head = report.seal_head.unwrap();
    assert_eq!(
        (head.number, head.leaves, head.root),
        (last.number, last.leaves, last.root)
    );
    assert_eq!(report.breaks, []);
}

/// Posts a transfer, and says which posting it has.
async fn post(conn: &mut PgConnection, bench: &Bench) -> i64 {
    let credit = Grant {
        tenant: bench.tenant,
        wallet: bench.wallet,
        key: bench.engine.mint().to_string(),
        amount: usd("1"),
        expires_at: None,
        note: "test".to_owned(),
        action: None,
    };
    let granted = wallet::grant(conn, &bench.engine, &credit).await.unwrap();
    sqlx::query_scalar("SELECT posting_id FROM transfers WHERE settlement_id = $1")
        .bind(granted.settlement.0)
        .fetch_one(conn)
        .await
        .unwrap()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn who_commits_late_is_waited_for(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let other = bench.neighbour().await;
    bench.grant("100", None).await;
    let mut sealer = Sealer::new(bench.engine.clone(), MOST);
    let waits = Round::Nothing { waiting: true };

    // Alone, and the newest of all transactions.
    let mut late = bench.begin().await;
    let posted = post(&mut late, &bench).await;
    for _ in 0..3 {
        assert_eq!(sealer.round().await.unwrap(), waits);
    }
    // Overtaken by one with a later posting.
    let mut early = other.begin().await;
    let posted_later = post(&mut early, &other).await;
    assert!(posted < posted_later);
    early.commit().await.unwrap();
    for mut sealer in [sealer, Sealer::new(bench.engine.clone(), MOST)] {
        for _ in 0..3 {
            assert_eq!(sealer.round().await.unwrap(), waits);
        }
    }
    late.commit().await.unwrap();
    seal(&bench, MOST).await;
    assert_eq!(sealed(&bench).await, (3, 0));
    assert_eq!(report(&bench).await.breaks, []);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn who_never_commits_holds_up_nobody(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("100", None).await;
    let mut given_up = bench.begin().await;
    for _ in 0..7 {
        post(&mut given_up, &bench).await;
    }
    given_up.rollback().await.unwrap();
    bench.grant("1", None).await;
    // Rounds smaller than the gap go past it.
    seal(&bench, 2).await;
    assert_eq!(sealed(&bench).await, (2, 0));
    assert_eq!(report(&bench).await.breaks, []);
}

/// A settlement without transfers.
async fn settle_nothing(conn: &mut PgConnection, bench: &Bench) {
    sqlx::query(
        "INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency,
             livemode, amount, snapshot, content_hash, settled_at)
         SELECT tenant_id, $2, 'job', job_id, 'adjustment', 1, wallet_id, currency, livemode, 0, '{}', sha256('x'), $3
         FROM jobs WHERE tenant_id = $1",
    )
    .bind(bench.tenant.0)
    .bind(bench.engine.mint())
    .bind(bench.now())
    .execute(conn)
    .await
    .unwrap();
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_late_settlement_without_transfers_is_sealed_once_it_is_committed(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let other = bench.neighbour().await;
    for bench in [&bench, &other] {
        bench.grant("100", None).await;
        bench.submit(1).await;
    }
    let mut sealer = Sealer::new(bench.engine.clone(), MOST);
    let (mut soon, mut late) = (bench.begin().await, bench.begin().await);
    settle_nothing(&mut late, &other).await;
    settle_nothing(&mut soon, &bench).await;
    let unmoved = async |sealer: &mut Sealer| {
        sealer.round().await.unwrap();
        sealed(&bench).await.1
    };
    assert_eq!(unmoved(&mut sealer).await, 0);
    soon.commit().await.unwrap();
    assert_eq!(unmoved(&mut sealer).await, 1);
    // Whatever its id and its time say.
    bench.engine.clock().advance(TimeDelta::days(2));
    assert_eq!(unmoved(&mut sealer).await, 1);
    late.commit().await.unwrap();
    assert_eq!(unmoved(&mut sealer).await, 2);
    seal(&bench, MOST).await;
    assert_eq!(sealed(&bench).await, (4, 2));
}

/// Holds up whoever writes a seal.
async fn hold_up(bench: &Bench) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let mut tx = bench.owner.begin().await.unwrap();
    sqlx::query("LOCK TABLE seals IN EXCLUSIVE MODE")
        .execute(&mut *tx)
        .await
        .unwrap();
    tx
}

/// A round that has hashed its leaves and cannot write them yet.
async fn held_up_round(bench: &Bench) -> tokio::task::JoinHandle<Result<Round, StoreError>> {
    let mut sealer = Sealer::new(bench.engine.clone(), MOST);
    let round = tokio::spawn(async move {
        loop {
            match sealer.round().await {
                Ok(Round::Nothing { waiting: true }) => {
                    tokio::time::sleep(Duration::from_millis(5)).await
                }
                round => return round,
            }
        }
    });
    until_blocked(&bench.owner).await;
    round
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn one_seals_at_a_time(pool: PgPool) {
    let bench = busy(pool).await;
    let held = hold_up(&bench).await;
    let first = held_up_round(&bench).await;
    let mut second = Sealer::new(bench.engine.clone(), MOST);
    // Who did not look at the lock would wait with the first.
    let second = tokio::time::timeout(Duration::from_secs(30), second.round()).await;
    assert_eq!(second.unwrap().unwrap(), Round::Busy);
    held.rollback().await.unwrap();
    let first = first.await.unwrap().unwrap();
    assert!(
        matches!(first, Round::Sealed { number: 1, .. }),
        "{first:?}"
    );
    // Several that take turns.
    for _ in 0..4 {
        bench.submit(1).await;
        futures::future::join_all([1, 2, 3].map(|most| seal(&bench, most))).await;
    }
    assert_eq!(sealed(&bench).await, written(&bench).await);
    assert_eq!(report(&bench).await.breaks, []);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_round_that_is_killed_leaves_nothing(pool: PgPool) {
    let bench = busy(pool).await;
    let held = hold_up(&bench).await;
    let round = held_up_round(&bench).await;
    sqlx::query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    .execute(&bench.owner)
    .await
    .unwrap();
    assert!(round.await.unwrap().is_err());
    held.rollback().await.unwrap();
    assert_eq!(seals(&bench).await, []);
    seal(&bench, MOST).await;
    assert_eq!(sealed(&bench).await, written(&bench).await);
    assert_eq!(report(&bench).await.breaks, []);
}

/// The settlement of the newest transfer.
async fn newest(bench: &Bench) -> SettlementId {
    let newest = "SELECT settlement_id FROM transfers ORDER BY posting_id DESC LIMIT 1";
    let id = sqlx::query_scalar(newest).fetch_one(&bench.owner).await;
    SettlementId(id.unwrap())
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn every_settlement_can_be_proven_to_whoever_noted_the_root(pool: PgPool) {
    let bench = busy(pool).await;
    let ids: Vec<uuid::Uuid> = sqlx::query_scalar("SELECT settlement_id FROM settlements")
        .fetch_all(&bench.owner)
        .await
        .unwrap();
    let unsealed = SettlementId(ids[0]);
    let none = bench.engine.seal_evidence(unsealed, None).await;
    assert!(matches!(none, Err(ProofError::NotSealed(id)) if id == unsealed));
    seal(&bench, 2).await;
    let seals = seals(&bench).await;
    let last = seals.last().unwrap();
    let mut proven = 0;
    for id in ids {
        for under in [None, Some(last.number)] {
            let evidence = bench.engine.seal_evidence(SettlementId(id), under).await;
            let evidence = evidence.unwrap();
            assert_eq!(evidence.check(), Ok(()));
            for proof in &evidence.proofs {
                let seal = seals.iter().find(|seal| seal.number == proof.seal);
                let seal = seal.unwrap();
                assert!(under.is_none_or(|under| under == seal.number));
                assert_eq!((seal.root, seal.leaves as u64), (proof.root, proof.leaves));
            }
            proven += evidence.proofs.len() as i64;
        }
    }
    let early = bench
        .engine
        .seal_evidence(newest(&bench).await, Some(1))
        .await;
    assert!(
        matches!(early, Err(ProofError::NotUnder(_, _, 1))),
        "{early:?}"
    );
    let (transfers, unmoved) = written(&bench).await;
    assert_eq!(proven, 2 * (transfers + unmoved));
}
