//! A difference that a person accepts is not found again while both numbers are the same.

use engine::exception::ExceptionError;

use super::*;

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_accepted_difference_is_closed_until_a_number_changes(pool: PgPool) {
    let bench = bench(pool).await;
    let ann = bench.operator("ann").await;
    used(&bench, "one", 2).await;
    import(&bench, "reference,meter,quantity\none,images,3\n").await;
    assert_eq!(run(&bench).await.found, 1);
    let id = open(&bench).await[0].id;
    let engine = &bench.engine;
    let silent = engine
        .accept_exception(id, " ", (engine.mint(), by(ann)))
        .await;
    assert!(matches!(silent, Err(ExceptionError::NoText)), "{silent:?}");
    let key = engine.mint();
    for _ in 0..2 {
        let done = engine.accept_exception(id, "they count the preview", (key, by(ann)));
        done.await.unwrap();
    }
    let lines = "SELECT count(*) FROM audit_log WHERE action = 'exception.accept'";
    let lines: i64 = sqlx::query_scalar(lines)
        .fetch_one(&bench.owner)
        .await
        .unwrap();
    assert_eq!(lines, 1);
    let after = run(&bench).await;
    assert_eq!((after.found, after.closed), (0, 1));
    assert_eq!(run(&bench).await.found, 0, "it stays accepted");
    // Another number is another matter.
    import(&bench, "reference,meter,quantity\none,images,4\n").await;
    let again = run(&bench).await;
    assert_eq!((again.found, again.opened), (1, 1));
    assert_eq!(open(&bench).await[0].id, id);
}
