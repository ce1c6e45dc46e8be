//! Loads the cast into an empty database, through the same verbs the command line uses.

use std::{net::SocketAddr, path::Path};

use chrono::TimeDelta;
use domain::{
    action::{Category, Kind, Request, Subject, Typed},
    adapter::Adapter,
    id::{TenantId, WalletId},
    money::{Amount, Currency},
};
use engine::{
    Engine, action, api_key,
    audit::By,
    clock::Clock,
    operator::{self, NewOperator},
    price,
    source::{AnswerApi, DEFAULT_BODY_LIMIT_BYTES, MasterKey, NewSource},
    tenant::{self, NewTenant},
    wallet,
};
use sqlx::PgConnection;

use super::{
    cast::{self, Sender},
    history,
    keepsake::Keepsake,
    provider::scheme,
    stopped,
    wire::{Mailbox, Purse},
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Jobs a demo tenant may have in flight: the burst is meant to be one.
const IN_FLIGHT: i32 = 50_000;
/// Who did it, in the audit log.
const ACTOR: &str = "demo";

/// The database is not the demo's.
#[derive(Debug, thiserror::Error)]
#[error("the database holds sources that this demo did not set up, so it may be in real use: give the demo an empty database, or, if it is an old demo's, remove {} and start again", .0.display())]
struct NotOurs(std::path::PathBuf);

/// The secrets of the demo in this database, loading it first where the database is empty.
///
/// # Errors
/// When the database is someone else's, or fails.
pub(super) async fn ensure(
    engine: &Engine,
    master: &MasterKey,
    dir: &Path,
) -> Result<Keepsake, Failure> {
    let sources = engine.sources().await?;
    if sources.is_empty() {
        let began = engine.clock().now() - history::AGO;
        let past = Engine::new(engine.pool().clone(), Clock::manual(began));
        let keepsake = load(engine, &past, master).await?;
        keepsake.write(dir)?;
        history::play(engine, &past, &keepsake.purses).await?;
        return Ok(keepsake);
    }
    let mut connection = engine.pool().acquire().await?;
    if let Some(keepsake) = Keepsake::read(dir)?
        && let Some(first) = keepsake.tenants.first()
        && tenant::views::name(&mut connection, first.parse()?)
            .await?
            .is_some()
    {
        return Ok(keepsake);
    }
    Err(NotOurs(dir.to_owned()).into())
}

/// `past` has a clock that stands where the demo's history begins.
async fn load(engine: &Engine, past: &Engine, master: &MasterKey) -> Result<Keepsake, Failure> {
    let mailboxes = open_mailboxes(past, master).await?;
    let password = format!("demo-{}", random::<4>()?);
    let mut tx = engine.pool().begin().await?;
    let tenants = add_tenants(&mut tx, past).await?;
    let mut purses = Vec::new();
    for cast in cast::WALLETS {
        purses.push(open_wallet(&mut tx, (engine, past), cast, tenants[cast.tenant]).await?);
    }
    let effective_from = engine.clock().now() - TimeDelta::days(30);
    for model in cast::MODELS {
        for currency in cast::CURRENCIES {
            let priced = model.price(currency)?;
            price::add(
                &mut tx,
                past,
                (model.name, priced.currency),
                &priced.terms,
                effective_from,
                ACTOR,
            )
            .await?;
        }
    }
    for (email, name, role) in cast::OPERATORS {
        let new = NewOperator {
            email,
            name,
            role: role.parse()?,
            password: &password,
        };
        let operator = operator::add(&mut tx, engine, &new).await?;
        if email == cast::MAKER {
            let by = By {
                operator,
                email,
                request_id: None,
            };
            ask_for_approval(&mut tx, engine, by, purses[0].wallet.parse()?).await?;
            stopped::add(&mut tx, engine, by).await?;
        }
    }
    tx.commit().await?;
    Ok(Keepsake {
        tenants: tenants.iter().map(TenantId::to_string).collect(),
        password,
        purses,
        mailboxes,
    })
}

async fn open_mailboxes(engine: &Engine, master: &MasterKey) -> Result<Vec<Mailbox>, Failure> {
    let mut mailboxes = Vec::new();
    for sender in Sender::ALL {
        let adapter = if sender == Sender::Replicate {
            Adapter::Replicate
        } else {
            Adapter::Generic
        };
        let new = NewSource {
            name: sender.name().to_owned(),
            livemode: sender != Sender::AcmeTest,
            body_limit_bytes: DEFAULT_BODY_LIMIT_BYTES,
            ..NewSource::new(sender.slug(), adapter, scheme(sender))
        };
        engine.add_source(&new, ACTOR).await?;
        let secret = webhook_secret()?;
        engine
            .add_source_secret(master, sender.slug(), &secret, ACTOR)
            .await?;
        mailboxes.push(Mailbox {
            slug: sender.slug().to_owned(),
            secret,
        });
    }
    Ok(mailboxes)
}

/// Says where the provider of this run answers about jobs: below a path for each source.
pub(super) async fn set_answer_apis(
    engine: &Engine,
    master: &MasterKey,
    address: SocketAddr,
    token: &str,
) -> Result<(), Failure> {
    for sender in Sender::ALL {
        let api = AnswerApi {
            base: format!("http://{address}/{}", sender.slug()).parse()?,
            token: token.to_owned(),
        };
        engine
            .set_answer_api(master, sender.slug(), &api, ACTOR)
            .await?;
    }
    Ok(())
}

async fn add_tenants(conn: &mut PgConnection, engine: &Engine) -> Result<Vec<TenantId>, Failure> {
    let mut tenants = Vec::new();
    for cast in cast::TENANTS {
        let new = NewTenant {
            name: cast.name.to_owned(),
            in_flight_limit: IN_FLIGHT,
            max_quote: cast.max_quote.map(str::parse).transpose()?,
            refund_on_failure: cast.refund_on_failure,
            policy: cast.policy,
        };
        tenants.push(tenant::add(conn, engine, &new).await?);
    }
    Ok(tenants)
}

/// A request that waits for a second person, for whoever looks at the console.
async fn ask_for_approval(
    conn: &mut PgConnection,
    engine: &Engine,
    by: By<'_>,
    wallet: WalletId,
) -> Result<(), Failure> {
    for (currency, above) in cast::THRESHOLDS {
        let above = Amount::exact(above.parse()?, currency.parse()?)?;
        for kind in Kind::ALL.iter().filter(|kind| kind.has_threshold()) {
            action::set_threshold(conn, engine, *kind, above, ACTOR).await?;
        }
    }
    let typed = Typed {
        amount: "120".to_owned(),
        expires: (engine.clock().now() + TimeDelta::days(90))
            .format("%Y-%m-%d")
            .to_string(),
        category: Category::Incident.to_string(),
        reason:
            "The render nodes were down for two hours on Friday; agreed with the account manager."
                .to_owned(),
    };
    let now = engine.clock().now();
    let request = Request::read(
        Kind::Goodwill,
        Subject::wallet(wallet, "USD".parse()?),
        &typed,
        now,
    )
    .map_err(|wrong| format!("the demo's own request is wrong: {wrong:?}"))?;
    stopped::send(conn, engine, &request, by).await?;
    Ok(())
}

async fn open_wallet(
    conn: &mut PgConnection,
    (engine, past): (&Engine, &Engine),
    cast: &cast::Wallet,
    tenant: TenantId,
) -> Result<Purse, Failure> {
    let currency: Currency = cast.currency.parse()?;
    let id: WalletId = wallet::open(conn, past, tenant, cast.name, currency, cast.livemode).await?;
    for grant in cast.grants {
        let credit = wallet::Grant {
            tenant,
            wallet: id,
            key: format!("{id}: {} {}", grant.note, grant.amount),
            amount: Amount::exact(grant.amount.parse()?, currency)?,
            expires_at: grant
                .days
                .map(|days| engine.clock().now() + TimeDelta::days(days.into())),
            note: grant.note.to_owned(),
            action: None,
        };
        wallet::grant(conn, past, &credit).await?;
    }
    let name = format!("{} backend", cast.name);
    let api_key = api_key::mint(conn, engine, tenant, &name, cast.livemode)
        .await?
        .to_string();
    Ok(Purse {
        wallet: id.to_string(),
        api_key,
    })
}

fn webhook_secret() -> Result<String, Failure> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(format!("whsec_{}", STANDARD.encode(bytes)))
}

/// So many random bytes, in hexadecimal.
pub(super) fn random<const N: usize>() -> Result<String, Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes))
}
