//! Corrections of jobs by people: adjustments, reversals, holds that are given up.

use chrono::TimeDelta;
use domain::{
    action::{Kind, NotYours, State},
    decide::Obstacle,
    id::JobId,
};
use engine::{
    action::{ActionError, Refusal},
    job::correct::{CorrectError, Hindrance},
};
use futures::future::join_all;
use sqlx::PgPool;

use crate::bench::{Desk, corrected, failed, succeeded};

/// A desk, and a job of its wallet that was charged 8 of the 100 there were.
async fn charged(pool: PgPool) -> (Desk, JobId) {
    let desk = Desk::open(pool).await;
    desk.bench.grant("100", None).await;
    let job = desk.bench.submit(10).await;
    desk.bench.hear(&succeeded("e1", job, 8, 1)).await;
    desk.bench.settle().await;
    (desk, job)
}

async fn done(desk: &Desk, request: &domain::action::Request) -> domain::id::SettlementId {
    let draft = desk.drafted(request).await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Done);
    desk.posted(draft.0).await
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_credit_gives_back_once_and_is_undone_once(pool: PgPool) {
    let (desk, job) = charged(pool).await;
    let draft = desk.drafted(&desk.request_of(Kind::Credit, "3", job)).await;
    assert_eq!(
        desk.bench.balances().await,
        "available 92\nfunding -100\nrevenue 8\n"
    );
    // A form that is sent ten times at once is one action.
    let all = join_all((0..10).map(|_| desk.commit(draft))).await;
    assert!(
        all.iter().all(|one| matches!(one, Ok(State::Done))),
        "{all:?}"
    );
    assert_eq!(
        desk.bench.balances().await,
        "available 95\nfunding -100\nrevenue 5\n"
    );
    let credit = desk.posted(draft.0).await;

    // Two people take it back at once: one wins.
    let undo = desk.undo_of(job, credit);
    let (one, other) = (desk.drafted(&undo).await, desk.drafted(&undo).await);
    let ends = join_all([desk.commit(one), desk.commit(other)]).await;
    assert_eq!(
        ends.iter()
            .filter(|end| matches!(end, Ok(State::Done)))
            .count(),
        1,
        "{ends:?}"
    );
    assert!(
        ends.iter()
            .any(|end| matches!(end, Err(ActionError::Stale))),
        "{ends:?}"
    );
    let late = desk.drafted(&undo).await;
    let refused = desk.commit(late).await;
    assert!(
        matches!(
            refused,
            Err(ActionError::Refused(Refusal::Job(Hindrance::Undone)))
        ),
        "{refused:?}"
    );
    assert_eq!(
        desk.bench.balances().await,
        "available 92\nfunding -100\nrevenue 8\n"
    );
    assert_eq!(
        desk.bench.settlements(job).await,
        [
            "reserve/1 10",
            "capture/1 8",
            "adjustment/1 3",
            "reversal/1 3"
        ]
    );
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_database_takes_a_correction_back_once(pool: PgPool) {
    let (desk, job) = charged(pool).await;
    let credit = done(&desk, &desk.request_of(Kind::Credit, "3", job)).await;
    done(&desk, &desk.undo_of(job, credit)).await;
    let again = sqlx::query(
        "INSERT INTO job_corrections (tenant_id, settlement_id, job_id, action_id, net, undoes)
         SELECT c.tenant_id, s.settlement_id, c.job_id, a.action_id, 3, c.settlement_id
         FROM job_corrections c
         JOIN settlements s ON s.phase = 'capture'
         JOIN actions a ON a.action = 'goodwill'
         WHERE c.settlement_id = $1",
    )
    .bind(credit.0);
    // Some action that corrected nothing, so that only the second undoing stands in the way.
    let goodwill = desk.proposed(Kind::Goodwill, "1").await;
    assert_eq!(desk.commit(goodwill).await.unwrap(), State::Done);
    let refused = again.execute(&desk.bench.owner).await.unwrap_err();
    assert_eq!(
        refused
            .as_database_error()
            .and_then(|error| error.constraint()),
        Some("job_corrections_undone_once")
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_reversed_charge_stays_away_until_that_is_undone(pool: PgPool) {
    let (desk, job) = charged(pool).await;
    let reversal = done(&desk, &desk.request_of(Kind::Reverse, "", job)).await;
    assert_eq!(
        desk.bench.job(job).await,
        "completed reversed held 0 captured 0 owed 0"
    );
    desk.bench.hear(&corrected("e2", job, 9, 2, 2)).await;
    desk.bench.settle().await;
    assert_eq!(desk.bench.balances().await, "available 100\nfunding -100\n");
    let again = desk.drafted(&desk.request_of(Kind::Reverse, "", job)).await;
    let refused = desk.commit(again).await;
    assert!(
        matches!(
            refused,
            Err(ActionError::Refused(Refusal::Job(Hindrance::Obstacle(
                Obstacle::Reversed
            ))))
        ),
        "{refused:?}"
    );
    let reinstated = done(&desk, &desk.undo_of(job, reversal)).await;
    assert_eq!(
        desk.bench.job(job).await,
        "completed adjusted held 0 captured 9 owed 0"
    );
    // And back once more, by taking back what took it back.
    done(&desk, &desk.undo_of(job, reinstated)).await;
    assert_eq!(desk.bench.balances().await, "available 100\nfunding -100\n");
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_adjustment_outlives_corrected_usage(pool: PgPool) {
    let (desk, job) = charged(pool).await;
    done(&desk, &desk.request_of(Kind::Credit, "3", job)).await;
    done(&desk, &desk.request_of(Kind::Charge, "1", job)).await;
    desk.bench.hear(&corrected("e2", job, 10, 2, 2)).await;
    desk.bench.settle().await;
    assert_eq!(
        desk.bench.balances().await,
        "available 92\nfunding -100\nrevenue 8\n"
    );
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_changes_the_job_makes_the_draft_stale(pool: PgPool) {
    let (desk, job) = charged(pool).await;
    let draft = desk.drafted(&desk.request_of(Kind::Credit, "3", job)).await;
    desk.bench.hear(&corrected("e2", job, 9, 2, 2)).await;
    desk.bench.settle().await;
    let stale = desk.commit(draft).await;
    assert!(matches!(stale, Err(ActionError::Stale)), "{stale:?}");
    assert_eq!(
        desk.bench.balances().await,
        "available 91\nfunding -100\nrevenue 9\n"
    );
    // An approval, too, is given to what its maker saw.
    let large = desk
        .drafted(&desk.request_of(Kind::Charge, "51", job))
        .await;
    assert_eq!(desk.commit(large).await.unwrap(), State::Waiting);
    done(&desk, &desk.request_of(Kind::Credit, "1", job)).await;
    let stale = desk.approve(large.0, desk.checker).await;
    assert!(matches!(stale, Err(ActionError::Stale)), "{stale:?}");
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_wallet_is_charged_no_more_than_it_has_and_nothing_while_it_is_frozen(pool: PgPool) {
    let (desk, job) = charged(pool).await;
    let refused = async |kind, amount: &str| {
        let draft = desk.drafted(&desk.request_of(kind, amount, job)).await;
        match desk.commit(draft).await {
            Err(ActionError::Refused(Refusal::Job(Hindrance::Obstacle(obstacle)))) => obstacle,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(
        refused(Kind::Charge, "92.01").await,
        Obstacle::Short(_)
    ));
    assert!(matches!(
        refused(Kind::Credit, "8.01").await,
        Obstacle::MoreThanCharged(_)
    ));
    desk.freeze().await;
    assert!(matches!(
        refused(Kind::Charge, "1").await,
        Obstacle::Short(_)
    ));
    // Giving back reaches a frozen wallet.
    done(&desk, &desk.request_of(Kind::Credit, "8", job)).await;
    assert_eq!(desk.bench.balances().await, "available 100\nfunding -100\n");
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn giving_up_a_hold_takes_two_and_success_still_has_authority(pool: PgPool) {
    let desk = Desk::open(pool).await;
    desk.bench.grant("10", None).await;
    let job = desk.bench.submit(4).await;
    let draft = desk.drafted(&desk.request_of(Kind::Release, "", job)).await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Waiting);
    let own = desk.approve(draft.0, desk.maker).await;
    assert!(
        matches!(own, Err(ActionError::NotYours(NotYours::Own))),
        "{own:?}"
    );
    assert_eq!(
        desk.bench.balances().await,
        "available 6\nfunding -10\nheld 4\n"
    );
    let approvals = join_all((0..5).map(|_| desk.approve(draft.0, desk.checker))).await;
    assert!(
        approvals.iter().all(|one| matches!(one, Ok(State::Done))),
        "{approvals:?}"
    );
    assert_eq!(
        desk.bench.job(job).await,
        "cancelled released held 0 captured 0 owed 0"
    );
    assert_eq!(desk.bench.balances().await, "available 10\nfunding -10\n");
    desk.in_order().await;

    desk.bench.hear(&succeeded("e1", job, 3, 1)).await;
    desk.bench.settle().await;
    assert_eq!(
        desk.bench.balances().await,
        "available 7\nfunding -10\nrevenue 3\n"
    );
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_verdict_that_comes_while_a_release_waits_makes_it_stale(pool: PgPool) {
    let desk = Desk::open(pool).await;
    desk.bench.grant("10", None).await;
    let job = desk.bench.submit(4).await;
    let draft = desk.drafted(&desk.request_of(Kind::Release, "", job)).await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Waiting);
    desk.bench.hear(&failed("e1", job, 1)).await;
    desk.bench.settle_after(TimeDelta::seconds(1)).await;
    let stale = desk.approve(draft.0, desk.checker).await;
    assert!(matches!(stale, Err(ActionError::Stale)), "{stale:?}");
    assert_eq!(
        desk.bench.settlements(job).await,
        ["reserve/1 4", "release/1 4"]
    );
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_job_of_another_wallet_and_what_is_no_correction_do_not_exist(pool: PgPool) {
    let (desk, job) = charged(pool).await;
    let neighbour = desk.bench.neighbour().await;
    neighbour.grant("10", None).await;
    let theirs = neighbour.submit(4).await;
    let foreign = desk.request_of(Kind::Release, "", theirs);
    let unknown = desk.propose(desk.id(), &foreign).await;
    assert!(matches!(unknown, Err(ActionError::Unknown)), "{unknown:?}");

    let capture: uuid::Uuid =
        sqlx::query_scalar("SELECT settlement_id FROM settlements WHERE phase = 'capture'")
            .fetch_one(&desk.bench.owner)
            .await
            .unwrap();
    let undo = desk.undo_of(job, domain::id::SettlementId(capture));
    let unknown = desk.propose(desk.id(), &undo).await;
    assert!(
        matches!(unknown, Err(ActionError::Correct(CorrectError::Unknown))),
        "{unknown:?}"
    );
}
