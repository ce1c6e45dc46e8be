//! The bench: a fresh database with an engine that acts as the application's role, a clock that stands
//! still, and builders for what stories start from.

mod desk;
mod inbox;

use chrono::{DateTime, Utc};
use domain::{
    id::{LotId, OperatorId, SourceId, TenantId, WalletId},
    money::{Amount, Currency},
};
use engine::{
    Engine,
    audit::By,
    clock::Clock,
    ledger,
    seal::{Round, Sealer},
    wallet::Grant,
};
use sqlx::PgPool;

pub use desk::Desk;
pub use inbox::*;

/// One installation under test.
pub struct Bench {
    /// Acts as the owner of the schema: for setting up and for looking behind the curtain.
    pub owner: PgPool,
    /// The engine, acting as the application's role.
    pub engine: Engine,
    /// The tenant most stories need.
    pub tenant: TenantId,
    /// Its wallet, in USD and live.
    pub wallet: WalletId,
    /// A live source whose events the generic adapter reads.
    pub source: SourceId,
}

/// A person in a request.
pub fn by(operator: OperatorId) -> By<'static> {
    By {
        operator,
        email: "someone@example.com",
        request_id: Some("req_1"),
    }
}

/// An amount of US dollars.
pub fn usd(text: &str) -> Amount {
    Amount::exact(text.parse().unwrap(), currency()).unwrap()
}

/// US dollars.
pub fn currency() -> Currency {
    "USD".parse().unwrap()
}

/// When every story starts.
pub fn start() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

impl Bench {
    /// A tenant with an empty wallet.
    pub async fn new(owner: PgPool) -> Self {
        let pool = engine::database::connect(&owner.connect_options(), 8)
            .await
            .unwrap();
        let engine = Engine::new(pool, Clock::manual(start()));
        let source = SourceId(engine.mint());
        let bench = Self::with_tenant(owner, engine, source).await;
        bench.set_up_source_and_price().await;
        bench
    }

    /// Another tenant of the same installation, with an empty wallet.
    pub async fn neighbour(&self) -> Self {
        Self::with_tenant(self.owner.clone(), self.engine.clone(), self.source).await
    }

    async fn with_tenant(owner: PgPool, engine: Engine, source: SourceId) -> Self {
        let (tenant, wallet) = (TenantId(engine.mint()), WalletId(engine.mint()));
        sqlx::query("INSERT INTO tenants (tenant_id, name, created_at) VALUES ($1, 'Acme', $2)")
            .bind(tenant.0)
            .bind(start())
            .execute(engine.pool())
            .await
            .unwrap();
        let bench = Self {
            owner,
            engine,
            tenant,
            wallet,
            source,
        };
        bench.open_wallet(wallet, true).await;
        bench
    }

    /// Opens a wallet in USD.
    pub async fn open_wallet(&self, wallet: WalletId, livemode: bool) {
        let mut tx = self.engine.pool().begin().await.unwrap();
        sqlx::query(
            "INSERT INTO wallets (tenant_id, wallet_id, name, currency, livemode, created_at)
             VALUES ($1, $2, 'Main', 'USD', $3, $4)",
        )
        .bind(self.tenant.0)
        .bind(wallet.0)
        .bind(livemode)
        .bind(start())
        .execute(&mut *tx)
        .await
        .unwrap();
        ledger::open_accounts(
            &mut tx,
            &self.engine,
            (self.tenant, wallet),
            currency(),
            livemode,
        )
        .await
        .unwrap();
        tx.commit().await.unwrap();
    }

    /// A member of staff who may act on money.
    pub async fn operator(&self, name: &str) -> OperatorId {
        let id = OperatorId(self.engine.mint());
        sqlx::query(
            "INSERT INTO operators (operator_id, email, name, role, password_hash, created_at)
             VALUES ($1, $2 || '@example.com', $2, 'finance', '$argon2id$none', $3)",
        )
        .bind(id.0)
        .bind(name)
        .bind(start())
        .execute(&self.owner)
        .await
        .unwrap();
        id
    }

    /// Adds a lot of credit to the wallet.
    pub async fn grant(&self, amount: &str, expires_at: Option<DateTime<Utc>>) -> LotId {
        self.grant_to(self.wallet, amount, expires_at).await
    }

    /// Adds a lot of credit to a wallet.
    pub async fn grant_to(
        &self,
        wallet: WalletId,
        amount: &str,
        expires_at: Option<DateTime<Utc>>,
    ) -> LotId {
        let credit = Grant {
            tenant: self.tenant,
            wallet,
            key: self.engine.mint().to_string(),
            amount: usd(amount),
            expires_at,
            note: "test".to_owned(),
            action: None,
        };
        self.engine.grant(&credit).await.unwrap()
    }

    /// The bench's instant.
    pub fn now(&self) -> DateTime<Utc> {
        self.engine.clock().now()
    }

    /// Balances of all accounts that are not zero, one a line, platform accounts by their kind.
    pub async fn balances(&self) -> String {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT a.kind || CASE WHEN a.livemode THEN '' ELSE ' (test)' END, trim_scale(sum(b.balance))::text
             FROM balances b JOIN accounts a USING (tenant_id, account_id)
             GROUP BY a.kind, a.livemode HAVING sum(b.balance) <> 0 ORDER BY 1",
        )
        .fetch_all(&self.owner)
        .await
        .unwrap();
        rows.into_iter()
            .map(|(kind, balance)| format!("{kind} {balance}\n"))
            .collect()
    }

    /// What remains of a lot.
    pub async fn remaining(&self, lot: LotId) -> String {
        sqlx::query_scalar("SELECT trim_scale(remaining)::text FROM lots WHERE lot_id = $1")
            .bind(lot.0)
            .fetch_one(&self.owner)
            .await
            .unwrap()
    }

    /// One connection in a transaction of its own.
    pub async fn begin(&self) -> sqlx::Transaction<'static, sqlx::Postgres> {
        self.engine.pool().begin().await.unwrap()
    }
}

/// Seals until nothing is left to seal, so many postings a round. Other databases of the cluster may have
/// transactions that it must wait for.
pub async fn seal(bench: &Bench, most: i64) {
    let mut sealer = Sealer::new(bench.engine.clone(), most);
    for _ in 0..20_000 {
        match sealer.round().await.unwrap() {
            Round::Sealed { .. } => {}
            Round::Nothing { waiting: false } => return,
            Round::Nothing { waiting: true } | Round::Busy => {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        }
    }
    panic!("something never ends");
}

/// Waits until some connection of this database waits for a lock.
pub async fn until_blocked(pool: &PgPool) {
    let blocked = "SELECT EXISTS (SELECT FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock')";
    for _ in 0..2000 {
        let found = sqlx::query_scalar(blocked).fetch_one(pool).await;
        if found.unwrap() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("nobody waits for a lock");
}
