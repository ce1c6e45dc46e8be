//! What is changed below the application shows, and the database itself refuses seals that do not follow.

use domain::{
    exception::Class,
    id::{LotId, SettlementId, TenantId},
    settlement::{Effect, Entry, EntryType, Phase, SettlementKey, Subject},
};
use engine::seal::{MOST, ProofError, Sealer, views::Seal};
use sqlx::{AssertSqlSafe, Executor, PgPool};
use uuid::Uuid;

use super::{busy, report, seals};
use crate::{
    bench::{Bench, seal, usd},
    reconcile::below,
};

async fn breaks(bench: &Bench) -> Vec<(Class, String)> {
    let breaks = report(bench).await.breaks.into_iter();
    breaks.map(|found| (found.check, found.subject)).collect()
}

/// Ten times what was granted, with everything that the books can be checked by made to agree.
async fn make_rich(bench: &Bench) {
    let (tenant, lot, snapshot): (Uuid, Uuid, serde_json::Value) =
        sqlx::query_as("SELECT tenant_id, subject_id, snapshot FROM settlements")
            .fetch_one(&bench.owner)
            .await
            .unwrap();
    let amount = usd("1000");
    let entry_type = EntryType::Grant;
    let effect = Effect {
        phase: Phase::Grant,
        version: 1,
        amount,
        entries: vec![Entry { entry_type, amount }],
        snapshot,
    };
    let key = SettlementKey {
        tenant: TenantId(tenant),
        subject: Subject::Lot(LotId(lot)),
        phase: Phase::Grant,
        version: 1,
    };
    let hash = effect.content_hash(&key).unwrap();
    below(
        bench,
        &format!(
            "UPDATE settlements SET amount = 1000, content_hash = '\\x{hash}';
             UPDATE transfers SET amount = 1000, credit_balance = 1000;
             UPDATE lots SET amount = 1000, remaining = 1000;
             UPDATE balances SET balance = balance * 10"
        ),
    )
    .await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_was_made_to_agree_with_itself_does_not_agree_with_its_seal(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("100", None).await;
    seal(&bench, MOST).await;
    let noted = seals(&bench).await.pop().unwrap();
    make_rich(&bench).await;
    assert_eq!(breaks(&bench).await, [(Class::Seals, "seal_1".to_owned())]);

    // Sealed anew it agrees with everything but what was noted elsewhere.
    below(&bench, "DELETE FROM seals").await;
    seal(&bench, MOST).await;
    assert_eq!(breaks(&bench).await, []);
    assert_ne!(seals(&bench).await.pop().unwrap().root, noted.root);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_first_seal_that_does_not_hold_is_named_with_its_range(pool: PgPool) {
    let bench = busy(pool).await;
    seal(&bench, 1).await;
    let all = seals(&bench).await;
    assert!(all.len() >= 6, "{all:?}");
    let with = |found: fn(&Seal) -> bool| all.iter().position(found).unwrap() + 1;
    let moved = with(|seal| seal.posting_to == 2);
    let unmoved = with(|seal| seal.unmoved > 0);
    let kept = "CREATE TABLE kept AS SELECT * FROM";
    for (damage, mend, first) in [
        (
            "UPDATE transfers SET posted_at = posted_at + interval '1s' WHERE posting_id = 2".to_owned(),
            "UPDATE transfers SET posted_at = posted_at - interval '1s' WHERE posting_id = 2".to_owned(),
            moved,
        ),
        (
            format!("{kept} transfers WHERE posting_id = 2; DELETE FROM transfers WHERE posting_id = 2"),
            "INSERT INTO transfers OVERRIDING SYSTEM VALUE SELECT * FROM kept; DROP TABLE kept".to_owned(),
            moved,
        ),
        (
            "INSERT INTO transfers OVERRIDING SYSTEM VALUE
                 SELECT tenant_id, settlement_id, 'goodwill', posting_id, debit_account_id, credit_account_id, currency, amount,
                     NULL, NULL, posted_at FROM transfers WHERE posting_id = 2".to_owned(),
            "DELETE FROM transfers WHERE entry_type = 'goodwill'".to_owned(),
            moved,
        ),
        (
            format!("{kept} sealed_unmoved WHERE seal_number = {unmoved};
                 DELETE FROM sealed_unmoved WHERE seal_number = {unmoved}"),
            "INSERT INTO sealed_unmoved SELECT * FROM kept; DROP TABLE kept".to_owned(),
            unmoved,
        ),
        (
            "UPDATE seals SET root = sha256('x') WHERE seal_number = 3".to_owned(),
            format!("UPDATE seals SET root = '\\x{}' WHERE seal_number = 3", all[2].root),
            3,
        ),
        (
            format!("{kept} seals WHERE seal_number = 3; DELETE FROM seals WHERE seal_number = 3"),
            "INSERT INTO seals SELECT * FROM kept; DROP TABLE kept".to_owned(),
            4,
        ),
    ] {
        below(&bench, &damage).await;
        let found = report(&bench).await.breaks;
        let found = found.iter().find(|one| one.check == Class::Seals).unwrap();
        assert_eq!(found.subject, format!("seal_{first}"), "{damage}");
        let seal = &all[first - 1];
        let range = format!("postings {} to {}", seal.posting_from + 1, seal.posting_to);
        assert!(found.line.contains(&range), "{}", found.line);
        below(&bench, &mend).await;
        assert_eq!(breaks(&bench).await, [], "{damage}");
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn nothing_is_proven_of_what_was_changed_nor_sealed_on_top(pool: PgPool) {
    let bench = busy(pool).await;
    seal(&bench, MOST).await;
    let released = "SELECT settlement_id FROM settlements WHERE phase = 'release'";
    let id = sqlx::query_scalar(released).fetch_one(&bench.owner).await;
    let id = SettlementId(id.unwrap());
    assert!(bench.engine.seal_evidence(id, None).await.is_ok());
    let change = "UPDATE settlements SET event_id = NULL WHERE phase = 'release'";
    below(&bench, change).await;
    let none = bench.engine.seal_evidence(id, None).await;
    assert!(matches!(none, Err(ProofError::Broken(..))), "{none:?}");

    below(&bench, "UPDATE seals SET root = sha256('x')").await;
    bench.submit(1).await;
    let before = seals(&bench).await;
    let round = Sealer::new(bench.engine.clone(), MOST).round().await;
    assert!(round.is_err(), "{round:?}");
    assert_eq!(seals(&bench).await, before);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_database_refuses_a_seal_that_does_not_follow(pool: PgPool) {
    let bench = busy(pool).await;
    seal(&bench, 2).await;
    let copy = |number: &str, previous: &str, columns: &str| {
        format!(
            "INSERT INTO seals (seal_number, previous_number, posting_from, posting_to, leaves_before, leaves, unmoved, root,
                 previous_root, frontier, sealed_at)
             SELECT {number}, {previous}, {columns} FROM seals WHERE seal_number = (SELECT max(seal_number) FROM seals)"
        )
    };
    let next =
        "posting_to, posting_to + 1, leaves, leaves + leaves, 0, root, root, frontier, sealed_at";
    let (number, previous) = ("seal_number + 1", "seal_number");
    for (statement, constraint) in [
        (copy("seal_number", "seal_number - 1", next), "seals_pkey"),
        (
            copy("seal_number + 2", "seal_number + 1", next),
            "seals_continue",
        ),
        (copy("seal_number + 2", "seal_number", next), "seals_follow"),
        (
            copy("1", "NULL", &next.replacen("root, root", "root, NULL", 1)),
            "seals_first",
        ),
        (
            copy(
                number,
                previous,
                &next.replacen("posting_to", "posting_to - 1", 1),
            ),
            "seals_continue",
        ),
        (
            copy(number, previous, &next.replacen("leaves", "leaves - 1", 1)),
            "seals_continue",
        ),
        (
            copy(
                number,
                previous,
                &next.replacen("root, root", "root, sha256('x')", 1),
            ),
            "seals_continue",
        ),
        (
            copy(
                number,
                previous,
                &next.replacen("root, root", "root, NULL", 1),
            ),
            "seals_follow",
        ),
        (
            copy(
                number,
                previous,
                &next.replacen("posting_to + 1", "posting_to - 1", 1),
            ),
            "seals_range",
        ),
        (
            copy(
                number,
                previous,
                &next.replacen("leaves + leaves", "leaves", 1),
            ),
            "seals_not_empty",
        ),
        (
            copy(number, previous, &next.replacen("frontier", "'{}'", 1)),
            "seals_frontier",
        ),
        (
            "INSERT INTO sealed_unmoved SELECT tenant_id, settlement_id, 1 FROM sealed_unmoved"
                .to_owned(),
            "sealed_unmoved_pkey",
        ),
    ] {
        let refused = bench.owner.execute(AssertSqlSafe(&statement[..])).await;
        let refused = refused.expect_err(&statement).into_database_error();
        let refused = refused.and_then(|error| error.constraint().map(str::to_owned));
        assert_eq!(refused.as_deref(), Some(constraint), "{statement}");
    }
    let follows = copy(number, previous, next);
    bench
        .owner
        .execute(AssertSqlSafe(&follows[..]))
        .await
        .unwrap();
    for table in ["seals", "sealed_unmoved"] {
        let delete = format!("DELETE FROM {table}");
        for pool in [&bench.owner, bench.engine.pool()] {
            let refused = pool.execute(AssertSqlSafe(&delete[..])).await;
            assert!(refused.is_err(), "{delete}");
        }
    }
}
