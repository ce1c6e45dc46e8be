//! Every kind of action against everything that may come between its form and the ledger: sent often, changed
//! meanwhile, asked for twice at once, decided by the wrong person, done below the application, about a wallet
//! that is frozen. What counts is the net of the ledger, not what was answered.
//!
//! Each kind has a tenant of its own, a job that was charged 60 of the 200 there were, and an amount above the
//! threshold, so that all but a freeze take two.

use domain::{
    action::{Kind, NotYours, Request, State},
    canonical::Hash,
    decide::Obstacle,
    id::{ActionId, JobId},
};
use engine::{
    action::{ActionError, Refusal},
    job::correct::Hindrance,
};
use futures::future::join_all;
use sqlx::{AssertSqlSafe, PgPool};

use crate::bench::{Desk, failed, succeeded, usd};

/// What there is before anything.
const BEFORE: &str = "available 140\nfunding -200\nrevenue 60\n";

/// A kind of action, with something to be about.
struct Scene {
    kind: Kind,
    desk: Desk,
    job: JobId,
    request: Request,
    before: String,
}

impl Scene {
    /// One for each kind.
    async fn all(pool: PgPool) -> Vec<Self> {
        let first = Desk::open(pool).await;
        let mut scenes = Vec::new();
        for kind in Kind::ALL {
            let desk = Desk {
                bench: first.bench.neighbour().await,
                ..first
            };
            scenes.push(Self::of(*kind, desk).await);
        }
        scenes
    }

    async fn of(kind: Kind, desk: Desk) -> Self {
        desk.bench.grant("200", None).await;
        let charged = desk.bench.submit(90).await;
        let event = succeeded(&desk.bench.engine.mint().to_string(), charged, 60, 1);
        desk.bench.hear(&event).await;
        desk.bench.settle().await;
        assert_eq!(net(&desk).await, BEFORE);
        let (job, request) = match kind {
            Kind::Goodwill => (charged, desk.request(kind, "80")),
            Kind::Freeze => (charged, desk.request(kind, "")),
            Kind::Unfreeze => {
                desk.freeze().await;
                (charged, desk.request(kind, ""))
            }
            Kind::Charge | Kind::Credit => (charged, desk.request_of(kind, "55", charged)),
            Kind::Reverse => (charged, desk.request_of(kind, "", charged)),
            Kind::Undo => {
                let credit = desk.request_of(Kind::Credit, "55", charged);
                let credit = carried_out(&desk, desk.drafted(&credit).await)
                    .await
                    .unwrap();
                (charged, desk.undo_of(charged, desk.posted(credit).await))
            }
            Kind::Release => {
                let silent = desk.bench.submit(4).await;
                (silent, desk.request_of(kind, "", silent))
            }
        };
        let before = net(&desk).await;
        Self {
            kind,
            desk,
            job,
            request,
            before,
        }
    }

    /// The net once it was done, and once only.
    fn after(&self) -> &'static str {
        match self.kind {
            Kind::Goodwill => "available 220\nfunding -200\ngoodwill -80\nrevenue 60\n",
            Kind::Freeze => "available 140\nfunding -200\nrevenue 60\nfrozen\n",
            Kind::Unfreeze | Kind::Undo | Kind::Release => BEFORE,
            Kind::Charge => "available 85\nfunding -200\nrevenue 115\n",
            Kind::Credit => "available 195\nfunding -200\nrevenue 5\n",
            Kind::Reverse => "available 200\nfunding -200\n",
        }
    }

    /// A draft whose dry run was looked at.
    async fn draft(&self) -> (ActionId, Hash) {
        self.desk.drafted(&self.request).await
    }

    /// Changes what the dry run rested on.
    async fn disturb(&self) {
        let desk = &self.desk;
        match self.kind {
            Kind::Goodwill | Kind::Freeze => desk.freeze().await,
            Kind::Unfreeze => {
                carried_out(desk, self.draft().await).await.unwrap();
            }
            Kind::Charge | Kind::Credit | Kind::Reverse | Kind::Undo => {
                let small = desk.request_of(Kind::Credit, "1", self.job);
                let small = desk.drafted(&small).await;
                assert_eq!(desk.commit(small).await.unwrap(), State::Done);
            }
            Kind::Release => {
                let key = desk.bench.engine.mint().to_string();
                desk.bench.hear(&failed(&key, self.job, 2)).await;
                desk.bench.settle().await;
            }
        }
        assert_ne!(net(desk).await, self.before, "{}", self.kind);
    }

    async fn settlements(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM settlements WHERE tenant_id = $1")
            .bind(self.desk.bench.tenant.0)
            .fetch_one(&self.desk.bench.owner)
            .await
            .unwrap()
    }

    /// The net is this, and the books add up.
    async fn check(&self, net_now: &str, what: &str) {
        assert_eq!(net(&self.desk).await, net_now, "{} {what}", self.kind);
        self.desk.in_order().await;
    }
}

/// The tenant's balances that are not zero, and whether its wallet is frozen.
async fn net(desk: &Desk) -> String {
    let lines: Vec<String> = sqlx::query_scalar(
        "SELECT a.kind || ' ' || trim_scale(sum(b.balance)) FROM balances b JOIN accounts a USING (tenant_id, account_id)
         WHERE tenant_id = $1 GROUP BY a.kind HAVING sum(b.balance) <> 0
         UNION ALL SELECT 'frozen' FROM wallets WHERE tenant_id = $1 AND frozen_at IS NOT NULL",
    )
    .bind(desk.bench.tenant.0)
    .fetch_all(&desk.bench.owner)
    .await
    .unwrap();
    let (frozen, mut lines): (Vec<_>, Vec<_>) =
        lines.into_iter().partition(|line| line == "frozen");
    lines.sort();
    lines
        .into_iter()
        .chain(frozen)
        .map(|line| line + "\n")
        .collect()
}

/// Commits, and has the other person approve where that is asked for.
async fn carried_out(desk: &Desk, draft: (ActionId, Hash)) -> Result<ActionId, ActionError> {
    let mut state = desk.commit(draft).await?;
    if state == State::Waiting {
        state = desk.approve(draft.0, desk.checker).await?;
    }
    assert_eq!(state, State::Done);
    Ok(draft.0)
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn however_often_it_is_sent_it_is_done_once(pool: PgPool) {
    for scene in Scene::all(pool).await {
        let (desk, kind) = (&scene.desk, scene.kind);
        let settlements = scene.settlements().await;
        let draft = scene.draft().await;
        for _ in 0..2 {
            desk.propose(draft.0, &scene.request).await.unwrap();
        }
        let waits = kind != Kind::Freeze;
        let expected = if waits { State::Waiting } else { State::Done };
        for sent in join_all((0..5).map(|_| desk.commit(draft))).await {
            assert_eq!(sent.unwrap(), expected, "{kind}");
        }
        if waits {
            scene.check(&scene.before, "waits").await;
            let approvals = (0..5).map(|_| desk.approve(draft.0, desk.checker));
            for sent in join_all(approvals).await {
                assert_eq!(sent.unwrap(), State::Done, "{kind}");
            }
        }
        let again = desk.commit(draft).await.unwrap();
        assert_eq!(again, State::Done, "{kind}");
        scene.check(scene.after(), "done").await;
        let posts = !matches!(kind, Kind::Freeze | Kind::Unfreeze);
        let new = scene.settlements().await - settlements;
        assert_eq!(new, i64::from(posts), "{kind}");
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_changed_meanwhile_is_not_committed(pool: PgPool) {
    for scene in Scene::all(pool).await {
        let draft = scene.draft().await;
        scene.disturb().await;
        let disturbed = net(&scene.desk).await;
        let late = scene.desk.commit(draft).await;
        assert!(
            matches!(late, Err(ActionError::Stale)),
            "{} {late:?}",
            scene.kind
        );
        scene.check(&disturbed, "committed late").await;
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_changed_meanwhile_is_not_approved(pool: PgPool) {
    let scenes = Scene::all(pool).await;
    // A freeze waits for nobody.
    for scene in scenes.iter().filter(|scene| scene.kind != Kind::Freeze) {
        let draft = scene.draft().await;
        let sent = scene.desk.commit(draft).await.unwrap();
        assert_eq!(sent, State::Waiting, "{}", scene.kind);
        scene.disturb().await;
        let disturbed = net(&scene.desk).await;
        let late = scene.desk.approve(draft.0, scene.desk.checker).await;
        assert!(
            matches!(late, Err(ActionError::Stale)),
            "{} {late:?}",
            scene.kind
        );
        scene.check(&disturbed, "approved late").await;
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn two_who_want_the_same_at_once_get_it_once(pool: PgPool) {
    for scene in Scene::all(pool).await {
        let (desk, kind) = (&scene.desk, scene.kind);
        let (one, other) = (scene.draft().await, scene.draft().await);
        let ends = join_all([carried_out(desk, one), carried_out(desk, other)]).await;
        let done = ends.iter().filter(|end| end.is_ok()).count();
        if kind == Kind::Goodwill {
            // Two gifts are two gifts: nothing of the one changes what the other rests on.
            assert_eq!(done, 2, "{ends:?}");
            let twice = "available 300\nfunding -200\ngoodwill -160\nrevenue 60\n";
            scene.check(twice, "twice").await;
            continue;
        }
        assert_eq!(done, 1, "{kind} {ends:?}");
        let late = ends.iter().find_map(|end| end.as_ref().err()).unwrap();
        assert!(matches!(late, ActionError::Stale), "{kind} {late:?}");
        scene.check(scene.after(), "at once").await;
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn who_made_it_does_not_decide_it_and_who_did_not_does_not_send_it(pool: PgPool) {
    for scene in Scene::all(pool).await {
        let (desk, kind) = (&scene.desk, scene.kind);
        let draft = scene.draft().await;
        let theirs = Desk {
            bench: desk.bench.neighbour().await,
            maker: desk.checker,
            checker: desk.maker,
        };
        let sent = theirs.commit(draft).await;
        let not_own = matches!(sent, Err(ActionError::NotYours(NotYours::NotOwn)));
        assert!(not_own, "{kind} {sent:?}");
        let early = desk.approve(draft.0, desk.checker).await;
        let is_draft = matches!(early, Err(ActionError::Ended(State::Draft)));
        assert!(is_draft, "{kind} {early:?}");
        if kind != Kind::Freeze {
            desk.commit(draft).await.unwrap();
            for own in [
                desk.approve(draft.0, desk.maker).await,
                desk.refuse(draft.0, desk.maker).await,
            ] {
                let is_own = matches!(own, Err(ActionError::NotYours(NotYours::Own)));
                assert!(is_own, "{kind} {own:?}");
            }
        }
        scene.check(&scene.before, "by the wrong one").await;
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_database_knows_who_decides(pool: PgPool) {
    for scene in Scene::all(pool).await {
        let (desk, kind) = (&scene.desk, scene.kind);
        let draft = scene.draft().await;
        for (how, by) in [
            (
                "needs_approval = true, approved_by = requested_by, decided_by = requested_by",
                "actions_maker_is_not_checker",
            ),
            (
                "needs_approval = true, decided_by = requested_by",
                "actions_done_with_approval",
            ),
        ] {
            let statement = format!(
                "UPDATE actions SET state = 'done', decided_at = now(), basis_hash = request_hash, {how}
                 WHERE action_id = '{}'",
                draft.0.0
            );
            let done = sqlx::query(AssertSqlSafe(statement));
            let error = done.execute(desk.bench.engine.pool()).await.unwrap_err();
            let error = error.into_database_error().unwrap();
            assert_eq!(error.constraint(), Some(by), "{kind} {how}");
        }
        scene.check(&scene.before, "below the application").await;
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_frozen_wallet_is_given_to_and_not_taken_from(pool: PgPool) {
    for scene in Scene::all(pool).await {
        let (desk, kind) = (&scene.desk, scene.kind);
        if kind != Kind::Unfreeze {
            desk.freeze().await;
        }
        let frozen = net(desk).await;
        let end = carried_out(desk, scene.draft().await).await;
        match kind {
            Kind::Freeze => {
                let refused = matches!(end, Err(ActionError::Refused(Refusal::Frozen)));
                assert!(refused, "{end:?}");
                scene.check(&frozen, "frozen").await;
            }
            Kind::Charge | Kind::Undo => {
                let short = Refusal::Job(Hindrance::Obstacle(Obstacle::Short(usd("0"))));
                let refused =
                    matches!(&end, Err(ActionError::Refused(refusal)) if *refusal == short);
                assert!(refused, "{kind} {end:?}");
                scene.check(&frozen, "frozen").await;
            }
            Kind::Unfreeze => scene.check(scene.after(), "lifted").await,
            Kind::Goodwill | Kind::Credit | Kind::Reverse | Kind::Release => {
                end.unwrap();
                let given = format!("{}frozen\n", scene.after());
                scene.check(&given, "frozen").await;
            }
        }
    }
}
