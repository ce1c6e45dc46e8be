//! Actions: keyed, committed once on what was shown, and checked by someone else.

use chrono::TimeDelta;
use domain::action::{Kind, NotYours, State};
use engine::{
    action::{self, ActionError, Refusal, views},
    audit,
};
use futures::future::join_all;
use sqlx::PgPool;

use crate::bench::Desk;

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn goodwill_moves_what_was_shown_and_once(pool: PgPool) {
    let desk = Desk::open(pool).await;
    let draft = desk.proposed(Kind::Goodwill, "12.40").await;
    assert_eq!(desk.bench.balances().await, "");
    // A form that is sent ten times at once is one action.
    let all = join_all((0..10).map(|_| desk.commit(draft))).await;
    assert!(
        all.iter().all(|one| matches!(one, Ok(State::Done))),
        "{all:?}"
    );
    assert_eq!(
        desk.bench.balances().await,
        "available 12.4\ngoodwill -12.4\n"
    );
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn above_the_threshold_someone_else_approves(pool: PgPool) {
    let desk = Desk::open(pool).await;
    let draft = desk.proposed(Kind::Goodwill, "50.01").await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Waiting);
    let own = desk.approve(draft.0, desk.maker).await.unwrap_err();
    assert!(matches!(own, ActionError::NotYours(NotYours::Own)), "{own}");
    assert_eq!(desk.bench.balances().await, "");
    let both = join_all((0..5).map(|_| desk.approve(draft.0, desk.checker))).await;
    assert!(
        both.iter().all(|one| matches!(one, Ok(State::Done))),
        "{both:?}"
    );
    assert_eq!(
        desk.bench.balances().await,
        "available 50.01\ngoodwill -50.01\n"
    );
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_database_refuses_self_approval_and_approval_left_out(pool: PgPool) {
    let desk = Desk::open(pool).await;
    let draft = desk.proposed(Kind::Unfreeze, "").await;
    let constraint = async |set: &str| {
        let statement = format!(
            "UPDATE actions SET state = 'done', decided_at = now(), basis_hash = request_hash, {set}"
        );
        let error = sqlx::query(sqlx::AssertSqlSafe(statement))
            .execute(desk.bench.engine.pool())
            .await
            .unwrap_err();
        let error = error.into_database_error().unwrap();
        error.constraint().unwrap_or_default().to_owned()
    };
    assert_eq!(
        constraint("approved_by = requested_by").await,
        "actions_maker_is_not_checker"
    );
    assert_eq!(
        constraint("decided_by = requested_by").await,
        "actions_done_with_approval"
    );
    assert_eq!(
        desk.withdraw(draft.0, desk.maker).await.unwrap(),
        State::Withdrawn
    );
    assert_eq!(constraint("approved_by = NULL").await, "actions_transition");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn one_key_is_one_request(pool: PgPool) {
    let desk = Desk::open(pool).await;
    let id = desk.id();
    let request = desk.request(Kind::Goodwill, "5");
    desk.propose(id, &request).await.unwrap();
    desk.propose(id, &request).await.unwrap();
    let other = desk.propose(id, &desk.request(Kind::Goodwill, "6")).await;
    assert!(matches!(other, Err(ActionError::OtherRequest(known)) if known == id));
    let lines: i64 =
        sqlx::query_scalar("SELECT count(*) FROM audit_log WHERE action = 'action.propose'")
            .fetch_one(&desk.bench.owner)
            .await
            .unwrap();
    assert_eq!(lines, 1);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_changed_since_it_was_shown_is_not_committed(pool: PgPool) {
    let desk = Desk::open(pool).await;
    let seen = desk.proposed(Kind::Goodwill, "5").await;
    desk.freeze().await;
    let stale = desk.commit(seen).await;
    assert!(matches!(stale, Err(ActionError::Stale)), "{stale:?}");
    // Looked at again, it may go ahead.
    let again = (seen.0, desk.basis(seen.0).await);
    assert_eq!(desk.commit(again).await.unwrap(), State::Done);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_approval_is_for_what_the_maker_saw(pool: PgPool) {
    let desk = Desk::open(pool).await;
    let draft = desk.proposed(Kind::Goodwill, "80").await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Waiting);
    desk.freeze().await;
    let stale = desk.approve(draft.0, desk.checker).await;
    assert!(matches!(stale, Err(ActionError::Stale)), "{stale:?}");
    assert_eq!(
        desk.refuse(draft.0, desk.checker).await.unwrap(),
        State::Refused
    );
    assert_eq!(desk.bench.balances().await, "");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn stopping_is_at_once_and_lifting_takes_two(pool: PgPool) {
    let desk = Desk::open(pool).await;
    desk.bench.grant("10", None).await;
    desk.freeze().await;
    assert!(desk.frozen().await);
    let again = desk.proposed(Kind::Freeze, "").await;
    let refused = desk.commit(again).await;
    assert!(matches!(
        refused,
        Err(ActionError::Refused(Refusal::Frozen))
    ));
    let lift = desk.proposed(Kind::Unfreeze, "").await;
    assert_eq!(desk.commit(lift).await.unwrap(), State::Waiting);
    assert!(desk.frozen().await);
    assert_eq!(
        desk.approve(lift.0, desk.checker).await.unwrap(),
        State::Done
    );
    assert!(!desk.frozen().await);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn two_who_lift_one_stop_do_it_once(pool: PgPool) {
    let desk = Desk::open(pool).await;
    desk.freeze().await;
    let (one, other) = (
        desk.proposed(Kind::Unfreeze, "").await,
        desk.proposed(Kind::Unfreeze, "").await,
    );
    assert_eq!(desk.commit(one).await.unwrap(), State::Waiting);
    assert_eq!(desk.commit(other).await.unwrap(), State::Waiting);
    let (first, second) = tokio::join!(
        desk.approve(one.0, desk.checker),
        desk.approve(other.0, desk.checker)
    );
    let done = [&first, &second].map(|one| matches!(one, Ok(State::Done)));
    assert_eq!(
        done.iter().filter(|done| **done).count(),
        1,
        "{first:?} {second:?}"
    );
    let stale = [&first, &second].map(|one| matches!(one, Err(ActionError::Stale)));
    assert_eq!(
        stale.iter().filter(|stale| **stale).count(),
        1,
        "{first:?} {second:?}"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn only_the_maker_withdraws_and_only_another_refuses(pool: PgPool) {
    let desk = Desk::open(pool).await;
    let draft = desk.proposed(Kind::Goodwill, "80").await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Waiting);
    let other = desk.withdraw(draft.0, desk.checker).await;
    assert!(matches!(
        other,
        Err(ActionError::NotYours(NotYours::NotOwn))
    ));
    let own = desk.refuse(draft.0, desk.maker).await;
    assert!(matches!(own, Err(ActionError::NotYours(NotYours::Own))));
    assert_eq!(
        desk.withdraw(draft.0, desk.maker).await.unwrap(),
        State::Withdrawn
    );
    let late = desk.approve(draft.0, desk.checker).await;
    assert!(matches!(late, Err(ActionError::Ended(State::Withdrawn))));
    assert_eq!(desk.bench.balances().await, "");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_nobody_decides_on_expires(pool: PgPool) {
    let desk = Desk::open(pool).await;
    let draft = desk.proposed(Kind::Goodwill, "80").await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Waiting);
    desk.bench
        .engine
        .clock()
        .advance(action::LIFE + TimeDelta::seconds(1));
    // Before the sweep has come round, too.
    let late = desk.approve(draft.0, desk.checker).await;
    assert!(matches!(late, Err(ActionError::Ended(State::Expired))));
    let mut conn = desk.bench.engine.pool().acquire().await.unwrap();
    let now = desk.bench.now();
    assert_eq!(action::expire(&mut conn, now).await.unwrap(), 1);
    let action = views::find(&mut conn, draft.0).await.unwrap().unwrap();
    assert_eq!(action.state, State::Expired);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn every_step_is_in_the_audit_log(pool: PgPool) {
    let desk = Desk::open(pool).await;
    let draft = desk.proposed(Kind::Goodwill, "80").await;
    desk.commit(draft).await.unwrap();
    desk.approve(draft.0, desk.checker).await.unwrap();
    let mut conn = desk.bench.owner.acquire().await.unwrap();
    let filter = audit::views::Filter {
        object: Some(draft.0.to_string()),
        ..Default::default()
    };
    let page = audit::views::list(&mut conn, &filter, Default::default())
        .await
        .unwrap();
    let steps: Vec<_> = page.rows.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(steps, ["action.approve", "action.submit", "action.propose"]);
    assert!(audit::views::follow(&mut conn).await.unwrap().is_ok());
}
