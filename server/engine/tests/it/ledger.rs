//! Posting: balances follow transfers, lots follow the available account, a key settles once.

use domain::{
    id::LotId,
    settlement::{Effect, Entry, EntryType, Phase, SettlementKey, Subject},
};
use engine::ledger::{self, PostError, Posting};
use serde_json::json;
use sqlx::PgPool;

use crate::bench::{Bench, until_blocked, usd};

fn expiry(bench: &Bench, lot: LotId, amount: &str) -> Posting {
    let key = SettlementKey {
        tenant: bench.tenant,
        subject: Subject::Lot(lot),
        phase: Phase::Expiry,
        version: 1,
    };
    let entries = vec![Entry {
        entry_type: EntryType::Breakage,
        amount: usd(amount),
    }];
    let effect = Effect {
        phase: Phase::Expiry,
        version: 1,
        amount: usd(amount),
        entries,
        snapshot: json!({}),
    };
    Posting {
        key,
        wallet: bench.wallet,
        effect,
        event: None,
    }
}

async fn post(bench: &Bench, postings: &[Posting]) -> Result<(), PostError> {
    let mut tx = bench.begin().await;
    let locked = ledger::lock(&mut tx, &[(bench.tenant, bench.wallet)], &[]).await?;
    ledger::post(&mut tx, &bench.engine, locked, postings, bench.now()).await?;
    tx.commit().await.unwrap();
    Ok(())
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn balances_and_lots_follow_the_transfers(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let (kept, expired) = (
        bench.grant("10", None).await,
        bench.grant("2.5", None).await,
    );
    post(&bench, &[expiry(&bench, expired, "2.5")])
        .await
        .unwrap();
    assert_eq!(
        bench.balances().await,
        "available 10\nbreakage 2.5\nfunding -12.5\n"
    );
    assert_eq!(
        (bench.remaining(kept).await, bench.remaining(expired).await),
        ("10".into(), "0".into())
    );
    let chain: Vec<(String, Option<String>)> = sqlx::query_as(
        "SELECT entry_type, trim_scale(coalesce(debit_balance, credit_balance))::text FROM transfers ORDER BY posting_id",
    )
    .fetch_all(&bench.owner)
    .await
    .unwrap();
    let expected = [("grant", "10"), ("grant", "12.5"), ("breakage", "10")];
    assert_eq!(
        chain,
        expected.map(|(entry, balance)| (entry.to_owned(), Some(balance.to_owned())))
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_key_settles_once_and_the_loser_learns_which_key_it_was(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let lot = bench.grant("10", None).await;
    let posting = expiry(&bench, lot, "4");
    post(&bench, std::slice::from_ref(&posting)).await.unwrap();
    let again = post(&bench, std::slice::from_ref(&posting))
        .await
        .unwrap_err();
    assert!(
        matches!(&again, PostError::AlreadySettled(keys) if *keys == [posting.key]),
        "{again:?}"
    );
    assert_eq!(
        bench.balances().await,
        "available 6\nbreakage 4\nfunding -10\n"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_wallet_is_never_overdrawn(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let lot = bench.grant("3", None).await;
    let refused = post(&bench, &[expiry(&bench, lot, "4")]).await.unwrap_err();
    assert!(
        matches!(refused, PostError::Store(_) | PostError::Overdrawn(_)),
        "{refused:?}"
    );
    assert_eq!(bench.balances().await, "available 3\nfunding -3\n");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn posting_without_the_lock_is_refused(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let lot = bench.grant("3", None).await;
    let mut tx = bench.begin().await;
    let posting = expiry(&bench, lot, "1");
    let refused = ledger::post(
        &mut tx,
        &bench.engine,
        ledger::Locked::default(),
        &[posting],
        bench.now(),
    )
    .await;
    assert!(matches!(refused, Err(PostError::NotLocked(wallet)) if wallet == bench.wallet));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn balances_that_moved_since_they_were_locked_are_not_overwritten(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let lot = bench.grant("3", None).await;
    let mut tx = bench.begin().await;
    let stale = ledger::lock(&mut tx, &[(bench.tenant, bench.wallet)], &[])
        .await
        .unwrap();
    tx.rollback().await.unwrap();
    bench.grant("5", None).await;
    let mut tx = bench.begin().await;
    let posting = expiry(&bench, lot, "1");
    let refused = ledger::post(&mut tx, &bench.engine, stale, &[posting], bench.now()).await;
    assert!(matches!(refused, Err(PostError::Raced)), "{refused:?}");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_lock_of_a_wallet_is_waited_for_and_then_shows_what_was_posted(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let lot = bench.grant("3", None).await;
    let wallet = (bench.tenant, bench.wallet);
    let mut first = bench.begin().await;
    let locked = ledger::lock(&mut first, &[wallet], &[]).await.unwrap();
    let engine = bench.engine.clone();
    let second = tokio::spawn(async move {
        let mut tx = engine.pool().begin().await.unwrap();
        let locked = ledger::lock(&mut tx, &[wallet], &[]).await.unwrap();
        let funds = locked.get(wallet.0, wallet.1).unwrap();
        let at = engine.clock().now();
        (funds.available().unwrap(), funds.spendable(at).unwrap())
    });
    until_blocked(&bench.owner).await;
    let posting = expiry(&bench, lot, "1");
    ledger::post(&mut first, &bench.engine, locked, &[posting], bench.now())
        .await
        .unwrap();
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap(), (usd("2"), usd("2")));
}
