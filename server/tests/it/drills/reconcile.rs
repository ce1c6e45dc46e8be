//! A reconciliation run that is killed half way: what it had written is gone with it, and the next starts over.

use sqlx::PgPool;

use super::ground::{Ground, LIMIT, Process};

/// Waits until some connection waits for the table that is held.
async fn until_blocked(pool: &PgPool) {
    let blocked = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'exception_notes'::regclass
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))";
    let awaited = async {
        let waits = || sqlx::query_scalar::<_, bool>(blocked).fetch_one(pool);
        while !waits().await.unwrap() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, awaited)
        .await
        .expect("the run never came to its notes");
}

/// How the runs ended, oldest first.
async fn outcomes(pool: &PgPool) -> Vec<String> {
    sqlx::query_scalar("SELECT outcome FROM reconciliation_runs ORDER BY run_id")
        .fetch_all(pool)
        .await
        .unwrap()
}

/// Classes and subjects of the exceptions with what was noted about each, in order.
async fn exceptions(pool: &PgPool) -> Vec<String> {
    sqlx::query_scalar(
        "SELECT class || ' ' || subject || ':' || coalesce(string_agg(' ' || what || ' by ' || n.run_id, ',' ORDER BY note_id), '')
         FROM exceptions LEFT JOIN exception_notes n USING (exception_id)
         GROUP BY exception_id ORDER BY class, subject",
    )
    .fetch_all(pool)
    .await
    .unwrap()
}

async fn says(mut process: Process, text: &str) {
    process.until_it_says(text).await;
    assert_eq!(
        process.ends_with().await,
        Some(1),
        "something does not hold"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_run_killed_half_way_is_abandoned_and_the_next_starts_over(pool: PgPool) {
    let ground = Ground::of(&pool).await;
    let break_two = "UPDATE balances SET balance = balance + 1 WHERE account_id IN (
                         SELECT account_id FROM accounts WHERE wallet_id IS NOT NULL)";
    let broken = sqlx::query(break_two).execute(&pool).await.unwrap();
    assert_eq!(broken.rows_affected(), 2);

    // Its exceptions are inserted and their notes are not.
    let mut hold = pool.begin().await.unwrap();
    let lock = "LOCK TABLE exception_notes IN EXCLUSIVE MODE";
    sqlx::query(lock).execute(&mut *hold).await.unwrap();
    let mut doomed = ground.command("reconcile");
    until_blocked(&pool).await;
    // Another one meanwhile is turned away rather than kept waiting.
    says(
        ground.command("reconcile"),
        "a reconciliation run is going on",
    )
    .await;
    doomed.kill().await;
    assert_eq!(outcomes(&pool).await, ["running"]);
    assert!(exceptions(&pool).await.is_empty());
    hold.rollback().await.unwrap();

    let found = "run 2, full: 5 found, 5 of them new, 0 right again";
    says(ground.command("reconcile"), found).await;
    assert_eq!(outcomes(&pool).await, ["abandoned", "exceptions"]);
    let opened = exceptions(&pool).await;
    assert_eq!(opened.len(), 5, "{opened:?}");
    assert!(
        opened.iter().all(|one| one.ends_with(": opened by 2")),
        "{opened:?}"
    );

    let found = "run 3, full: 5 found, 0 of them new, 0 right again";
    says(ground.command("reconcile"), found).await;
    assert_eq!(exceptions(&pool).await, opened);
}
