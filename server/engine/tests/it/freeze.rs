//! Freezes of a tenant and of a source: nothing is settled while they are in force, nothing is lost, and a
//! lift takes two.

use chrono::TimeDelta;
use domain::{
    action::{Kind, NotYours, Request, State, Subject, Target},
    id::{ActionId, EventId, JobId, SourceId},
};
use engine::{
    action::{ActionError, Refusal},
    freeze::views::{self, FrozenBy, HeldBack},
    job::submit::{Request as Order, SubmitError},
    settlement::{self, Claim, Patience, Prices, Setting},
};
use futures::future::join_all;
use sqlx::{AssertSqlSafe, PgPool};

use crate::bench::{
    Bench, Desk, failed, price, started, succeeded, succeeded_by_reference, until_blocked, usd,
};

mod by_rule;
mod races;

/// A desk whose wallet has credit.
async fn desk(pool: PgPool) -> Desk {
    let desk = Desk::open(pool).await;
    desk.bench.grant("100", None).await;
    desk
}

fn tenant(bench: &Bench) -> Target {
    Target::Tenant(bench.tenant)
}

fn source(bench: &Bench) -> Target {
    Target::Source(bench.source)
}

fn request(desk: &Desk, kind: Kind, target: Target) -> Request {
    desk.request_about(kind, "", Subject::whole(target))
}

async fn freeze(desk: &Desk, target: Target) -> ActionId {
    let draft = desk.drafted(&request(desk, Kind::Freeze, target)).await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Done);
    draft.0
}

/// A lift that waits for a second person.
async fn ask_to_lift(desk: &Desk, target: Target) -> ActionId {
    let draft = desk.drafted(&request(desk, Kind::Unfreeze, target)).await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Waiting);
    draft.0
}

async fn lift(desk: &Desk, target: Target) {
    let lift = ask_to_lift(desk, target).await;
    assert_eq!(desk.approve(lift, desk.checker).await.unwrap(), State::Done);
}

async fn submit(bench: &Bench) -> Result<JobId, SubmitError> {
    let order = Order {
        tenant: bench.tenant,
        livemode: true,
        wallet: bench.wallet,
        user: "user".into(),
        client_request_id: bench.engine.mint().to_string(),
        model: price().model,
        estimate: None,
        source: None,
        output_required: false,
    };
    let submission = bench.engine.submit_job(&order).await?;
    Ok(submission.job.id)
}

async fn held_back(bench: &Bench, target: Target) -> HeldBack {
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let of = engine::freeze::Of::whole(target).unwrap();
    views::held_back(&mut conn, of).await.unwrap()
}

/// Event keys in the order in which their settlements were written.
async fn settled(bench: &Bench) -> Vec<String> {
    sqlx::query_scalar(
        "SELECT e.event_key FROM settlements s JOIN events e USING (event_id) ORDER BY s.settlement_id",
    )
    .fetch_all(&bench.owner)
    .await
    .unwrap()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_frozen_tenant_gets_no_jobs_and_its_events_go_through_after_the_lift(pool: PgPool) {
    let desk = desk(pool).await;
    let bench = &desk.bench;
    let (one, two) = (bench.submit(5).await, bench.submit(3).await);
    freeze(&desk, tenant(bench)).await;
    let refused = submit(bench).await.unwrap_err();
    assert!(
        matches!(&refused, SubmitError::TenantFrozen { reason, .. } if reason == "render nodes were down"),
        "{refused}"
    );

    let before = bench.balances().await;
    let events = [
        bench.hear(&started("a", one, 1)).await,
        bench.hear(&succeeded("b", one, 4, 2)).await,
        bench.hear(&failed("c", two, 2)).await,
    ];
    // However often they are looked at.
    bench.settle().await;
    for _ in 0..3 {
        bench.settle_after(TimeDelta::minutes(20)).await;
    }
    for event in events {
        assert_eq!(bench.outcome(event).await, "waiting: tenant_frozen");
    }
    assert_eq!(bench.balances().await, before);
    let back = held_back(bench, tenant(bench)).await;
    assert_eq!((back.events, back.jobs), (3, 2));
    assert_eq!(back.on_hold[0].amount, usd("8"));
    desk.in_order().await;

    lift(&desk, tenant(bench)).await;
    bench.settle().await;
    for event in events {
        assert_eq!(bench.outcome(event).await, "applied");
    }
    assert_eq!(settled(bench).await, ["b", "c"]);
    assert_eq!(bench.settlements(one).await, ["reserve/1 5", "capture/1 4"]);
    assert_eq!(bench.settlements(two).await, ["reserve/1 3", "release/1 3"]);
    assert_eq!(held_back(bench, tenant(bench)).await, HeldBack::default());
    submit(bench).await.unwrap();
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn nobody_else_is_frozen_with_a_tenant(pool: PgPool) {
    let desk = desk(pool).await;
    let neighbour = desk.bench.neighbour().await;
    neighbour.grant("10", None).await;
    let job = neighbour.submit(2).await;
    freeze(&desk, tenant(&desk.bench)).await;
    let event = neighbour.hear(&succeeded("a", job, 2, 1)).await;
    neighbour.settle().await;
    assert_eq!(neighbour.outcome(event).await, "applied");
    submit(&neighbour).await.unwrap();
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_events_of_a_frozen_source_wait_and_those_of_another_do_not(pool: PgPool) {
    let desk = desk(pool).await;
    let bench = &desk.bench;
    let (one, two) = (bench.submit(5).await, bench.submit(3).await);
    let other = SourceId(bench.engine.mint());
    bench.open_source(other, "other", true).await;
    freeze(&desk, source(bench)).await;

    let waits = bench.hear(&succeeded("a", one, 4, 1)).await;
    let goes = bench.hear_from(other, &succeeded("b", two, 3, 1)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(waits).await, "waiting: source_frozen");
    assert_eq!(bench.outcome(goes).await, "applied");
    // A source decides nothing about new jobs.
    submit(bench).await.unwrap();
    let back = held_back(bench, source(bench)).await;
    assert_eq!((back.events, back.jobs), (1, 1));
    assert_eq!(back.on_hold[0].amount, usd("5"));

    lift(&desk, source(bench)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(waits).await, "applied");
    assert_eq!(bench.settlements(one).await, ["reserve/1 5", "capture/1 4"]);
    desk.in_order().await;
}

/// Events that find their job only by one another, through a freeze that outlasts all patience.
async fn long_freeze(desk: &Desk, target: Target) {
    let bench = &desk.bench;
    let job = bench.submit(5).await;
    freeze(desk, target).await;
    // It came first and names the job in a way that only the second makes known.
    let by_reference = bench
        .hear(&succeeded_by_reference("a", "ext-1", 4, 2))
        .await;
    let mut naming = started("b", job, 1);
    naming["data"]["provider_reference"] = "ext-1".into();
    let naming: EventId = bench.hear(&naming).await;
    bench.settle().await;
    bench
        .settle_after(Patience::default().unknown_job - TimeDelta::minutes(1))
        .await;
    bench.settle_after(TimeDelta::days(3)).await;
    for event in [by_reference, naming] {
        let outcome = bench.outcome(event).await;
        assert!(outcome.ends_with("_frozen"), "{outcome}");
    }
    lift(desk, target).await;
    bench.settle().await;
    bench.settle_after(TimeDelta::minutes(15)).await;
    // Bound while it waited, the job of a tenant completes by what came first.
    let start = bench.outcome(naming).await;
    assert!(
        ["applied", "ignored: already_started"].contains(&start.as_str()),
        "{start}"
    );
    assert_eq!(bench.outcome(by_reference).await, "applied");
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn patience_with_an_unknown_job_begins_at_the_lift_of_its_source(pool: PgPool) {
    let desk = desk(pool).await;
    long_freeze(&desk, source(&desk.bench)).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_frozen_tenants_events_still_find_their_job_by_one_another(pool: PgPool) {
    let desk = desk(pool).await;
    long_freeze(&desk, tenant(&desk.bench)).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_freeze_says_who_and_why_and_its_steps_are_in_the_audit_log(pool: PgPool) {
    let desk = desk(pool).await;
    let frozen = [tenant(&desk.bench), source(&desk.bench)];
    for target in frozen {
        freeze(&desk, target).await;
    }
    let mut conn = desk.bench.engine.pool().acquire().await.unwrap();
    let known = views::in_force(&mut conn, None).await.unwrap();
    assert_eq!(known.len(), 2);
    for (known, name) in known.iter().zip(["Acme", "acme"]) {
        assert_eq!((known.name.as_str(), known.since), (name, desk.bench.now()));
        assert_eq!(known.reason, "render nodes were down");
        assert!(matches!(&known.by, FrozenBy::Person { name, .. } if name == "maker"));
    }
    let counts = views::counts(&mut conn, true).await.unwrap();
    assert_eq!((counts.tenants, counts.sources, counts.wallets), (1, 1, 0));
    for target in frozen {
        lift(&desk, target).await;
    }
    assert!(views::in_force(&mut conn, None).await.unwrap().is_empty());
    let lines: Vec<String> =
        sqlx::query_scalar("SELECT action FROM audit_log ORDER BY audit_id LIMIT 4")
            .fetch_all(&desk.bench.owner)
            .await
            .unwrap();
    let steps = ["propose", "commit", "propose", "commit"];
    assert_eq!(lines, steps.map(|step| format!("action.{step}")));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_form_sent_often_freezes_once_and_lifts_once(pool: PgPool) {
    let desk = desk(pool).await;
    for target in [tenant(&desk.bench), source(&desk.bench)] {
        let wanted = request(&desk, Kind::Freeze, target);
        let id = desk.id();
        for _ in 0..2 {
            desk.propose(id, &wanted).await.unwrap();
        }
        let draft = (id, desk.basis(id).await);
        let all = join_all((0..5).map(|_| desk.commit(draft))).await;
        assert!(
            all.iter().all(|one| matches!(one, Ok(State::Done))),
            "{all:?}"
        );
        let again = desk.drafted(&wanted).await;
        let refused = desk.commit(again).await;
        assert!(matches!(
            refused,
            Err(ActionError::Refused(Refusal::Frozen))
        ));

        let (one, other) = (
            ask_to_lift(&desk, target).await,
            ask_to_lift(&desk, target).await,
        );
        let all = join_all((0..3).map(|_| desk.approve(one, desk.checker))).await;
        assert!(
            all.iter().all(|one| matches!(one, Ok(State::Done))),
            "{all:?}"
        );
        let late = desk.approve(other, desk.checker).await;
        assert!(matches!(late, Err(ActionError::Stale)), "{late:?}");
    }
    let freezes: i64 = sqlx::query_scalar("SELECT count(*) FROM freezes")
        .fetch_one(&desk.bench.owner)
        .await
        .unwrap();
    assert_eq!(freezes, 2);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_lift_takes_someone_else(pool: PgPool) {
    let desk = desk(pool).await;
    for target in [tenant(&desk.bench), source(&desk.bench)] {
        freeze(&desk, target).await;
        let lift = ask_to_lift(&desk, target).await;
        let own = desk.approve(lift, desk.maker).await.unwrap_err();
        assert!(matches!(own, ActionError::NotYours(NotYours::Own)), "{own}");
    }
    assert!(submit(&desk.bench).await.is_err());
}

/// The constraint that refuses a statement of the application's role, at the latest when it commits.
async fn refused_by(bench: &Bench, statement: &str) -> String {
    let mut tx = bench.begin().await;
    let done = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
        .execute(&mut *tx)
        .await;
    let error = match done {
        Ok(_) => tx.commit().await.unwrap_err(),
        Err(error) => error,
    };
    let error = error.into_database_error().unwrap();
    error.constraint().unwrap_or_default().to_owned()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_database_refuses_a_lift_that_nobody_else_approved(pool: PgPool) {
    let desk = desk(pool).await;
    let bench = &desk.bench;
    freeze(&desk, tenant(bench)).await;
    let asked = ask_to_lift(&desk, tenant(bench)).await.0;
    let lift = format!(
        "UPDATE freezes SET lifted_at = now(), lifted_by = '{asked}' WHERE lifted_at IS NULL"
    );
    assert_eq!(refused_by(bench, &lift).await, "freezes_lift_is_approved");
    // Nor does it help to call the action done.
    let done = |how: &str| {
        format!(
            "UPDATE actions SET state = 'done', decided_at = now(), decided_by = requested_by, {how}
             WHERE action_id = '{asked}'; {lift}"
        )
    };
    for (how, by) in [
        ("approved_by = requested_by", "actions_maker_is_not_checker"),
        ("needs_approval = false", "actions_lift_takes_two"),
        ("needs_approval = true", "actions_done_with_approval"),
    ] {
        let found = refused_by(bench, &done(how)).await;
        assert!(
            found == by || found == "actions_lift_takes_two",
            "{how}: {found}"
        );
    }
    // The lift of something else is none of this.
    freeze(&desk, source(bench)).await;
    let other = ask_to_lift(&desk, source(bench)).await;
    desk.approve(other, desk.checker).await.unwrap();
    let stolen = format!(
        "UPDATE freezes SET lifted_at = now(), lifted_by = '{}' WHERE lifted_at IS NULL",
        other.0
    );
    assert_eq!(refused_by(bench, &stolen).await, "freezes_lifted_by");
    assert!(submit(bench).await.is_err());

    desk.approve(ActionId(asked), desk.checker).await.unwrap();
    let again = "UPDATE freezes SET lifted_at = now()";
    assert_eq!(refused_by(bench, again).await, "freezes_lifted_once");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn only_a_freeze_is_of_a_tenant_or_a_source(pool: PgPool) {
    let desk = desk(pool).await;
    let mut goodwill = desk.request(Kind::Goodwill, "5");
    for target in [tenant(&desk.bench), source(&desk.bench)] {
        goodwill.target = target;
        let refused = desk.propose(desk.id(), &goodwill).await;
        assert!(matches!(refused, Err(ActionError::Unknown)), "{refused:?}");
    }
    let statement = format!(
        "INSERT INTO actions (tenant_id, action_id, action, amount, category, reason, request_hash, state,
             requested_by, requested_at, expires_at)
         SELECT '{}', '{}', 'goodwill', 5, 'incident', 'render nodes were down', sha256(''), 'draft', '{}', now(), now()",
        desk.bench.tenant.0,
        desk.id().0,
        desk.maker.0,
    );
    assert_eq!(refused_by(&desk.bench, &statement).await, "actions_about");
    let stranger = Target::Tenant(domain::id::TenantId(desk.bench.engine.mint()));
    let wanted = request(&desk, Kind::Freeze, stranger);
    let unknown = desk.propose(desk.id(), &wanted).await;
    assert!(matches!(unknown, Err(ActionError::Unknown)));
}
