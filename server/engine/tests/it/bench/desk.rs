//! The desk: a maker, a checker, and what they do with actions.

use domain::{
    action::{Kind, Request, State, Subject, Typed},
    canonical::Hash,
    id::{ActionId, JobId, OperatorId, SettlementId},
};
use engine::{
    action::{self, ActionError, views},
    books,
};
use sqlx::PgPool;

use super::{Bench, by, currency, usd};

/// A bench with a maker, a checker, and approval above 50.
pub struct Desk {
    pub bench: Bench,
    pub maker: OperatorId,
    pub checker: OperatorId,
}

impl Desk {
    pub async fn open(pool: PgPool) -> Self {
        let bench = Bench::new(pool).await;
        let (maker, checker) = (
            bench.operator("maker").await,
            bench.operator("checker").await,
        );
        let mut conn = bench.engine.pool().acquire().await.unwrap();
        for kind in Kind::ALL.iter().filter(|kind| kind.has_threshold()) {
            action::set_threshold(&mut conn, &bench.engine, *kind, usd("50"), "test")
                .await
                .unwrap();
        }
        drop(conn);
        Self {
            bench,
            maker,
            checker,
        }
    }

    pub fn id(&self) -> ActionId {
        ActionId(self.bench.engine.mint())
    }

    /// A request about the wallet.
    pub fn request(&self, kind: Kind, amount: &str) -> Request {
        self.request_about(kind, amount, Subject::wallet(self.bench.wallet, currency()))
    }

    /// A request about a job of the wallet.
    pub fn request_of(&self, kind: Kind, amount: &str, job: JobId) -> Request {
        let subject = Subject {
            job: Some(job),
            ..Subject::wallet(self.bench.wallet, currency())
        };
        self.request_about(kind, amount, subject)
    }

    /// A request to take a correction back.
    pub fn undo_of(&self, job: JobId, undoes: SettlementId) -> Request {
        let subject = Subject {
            job: Some(job),
            undoes: Some(undoes),
            ..Subject::wallet(self.bench.wallet, currency())
        };
        self.request_about(Kind::Undo, "", subject)
    }

    pub fn request_about(&self, kind: Kind, amount: &str, subject: Subject) -> Request {
        let typed = Typed {
            amount: amount.into(),
            expires: String::new(),
            category: "incident".into(),
            reason: "render nodes were down".into(),
        };
        Request::read(kind, subject, &typed, self.bench.now()).unwrap()
    }

    pub async fn propose(&self, id: ActionId, request: &Request) -> Result<(), ActionError> {
        let by = by(self.maker);
        self.bench
            .engine
            .act(async |conn, engine| action::propose(conn, engine, id, request, by).await)
            .await
    }

    /// A proposed action and the basis of its dry run.
    pub async fn proposed(&self, kind: Kind, amount: &str) -> (ActionId, Hash) {
        self.drafted(&self.request(kind, amount)).await
    }

    /// A proposed request and the basis of its dry run.
    pub async fn drafted(&self, request: &Request) -> (ActionId, Hash) {
        let id = self.id();
        self.propose(id, request).await.unwrap();
        (id, self.basis(id).await)
    }

    /// What a done action posted.
    pub async fn posted(&self, id: ActionId) -> SettlementId {
        let mut conn = self.bench.engine.pool().acquire().await.unwrap();
        let action = views::find(&mut conn, id).await.unwrap().unwrap();
        action.settlement.unwrap()
    }

    pub async fn basis(&self, id: ActionId) -> Hash {
        let mut conn = self.bench.engine.pool().acquire().await.unwrap();
        let action = views::find(&mut conn, id).await.unwrap().unwrap();
        action::dry_run(&mut conn, &action, self.bench.now())
            .await
            .unwrap()
            .basis
    }

    pub async fn commit(&self, (id, basis): (ActionId, Hash)) -> Result<State, ActionError> {
        let by = by(self.maker);
        self.bench.engine.commit_action(id, basis, by).await
    }

    pub async fn approve(&self, id: ActionId, who: OperatorId) -> Result<State, ActionError> {
        self.bench.engine.approve_action(id, by(who)).await
    }

    pub async fn refuse(&self, id: ActionId, who: OperatorId) -> Result<State, ActionError> {
        let (reason, by) = ("no incident that day", by(who));
        self.bench
            .engine
            .act(async |conn, engine| action::refuse(conn, engine, id, reason, by).await)
            .await
    }

    pub async fn withdraw(&self, id: ActionId, who: OperatorId) -> Result<State, ActionError> {
        let by = by(who);
        self.bench
            .engine
            .act(async |conn, engine| action::withdraw(conn, engine, id, by).await)
            .await
    }

    /// A frozen wallet, stopped by the maker.
    pub async fn freeze(&self) {
        let freeze = self.proposed(Kind::Freeze, "").await;
        assert_eq!(self.commit(freeze).await.unwrap(), State::Done);
    }

    pub async fn frozen(&self) -> bool {
        sqlx::query_scalar("SELECT frozen_at IS NOT NULL FROM wallets")
            .fetch_one(&self.bench.owner)
            .await
            .unwrap()
    }

    pub async fn in_order(&self) {
        let report = books::verify(self.bench.engine.pool()).await.unwrap();
        assert_eq!(report.breaks, []);
    }
}
