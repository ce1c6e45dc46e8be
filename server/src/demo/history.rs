//! What happened before the demo began: a few weeks of work that is settled, and the statement that the
//! provider has sent of it since. It is wrong about a few jobs, as statements are.
//!
//! The work goes through the product's own verbs, with a clock that stands where the work was.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::{
    adapter::{Adapter, Incoming},
    canonical::Hash,
    exception::{Cause, Reach},
    id::{JobId, SourceId, StatementId, TenantId, WalletId},
    statement::{Period, Tolerance},
    usage::{Estimated, Usage},
};
use engine::{
    Engine,
    inbox::{Delivery, InboxWriter, WriterSettings},
    job::submit::Request,
    statement::NewStatement,
    worker::{Settings, settle::Settler},
};
use rust_decimal::Decimal;
use serde_json::json;

use super::{
    Failure,
    cast::{MODELS, Model, Sender, WALLETS},
    wire::Purse,
};

/// How long ago it begins.
pub(super) const AGO: TimeDelta = TimeDelta::days(21);
/// Jobs, one every few hours.
const JOBS: u32 = 40;
/// Between one and the next.
const APART: TimeDelta = TimeDelta::hours(8);
/// Jobs that the statement tells otherwise: too much, too little, and not at all.
const MISSTATED: [u32; 3] = [7, 19, 31];

/// Under which name the provider bills the work that it does not state, and by how much less.
const BATCH: (&str, Decimal) = ("render-batch-31", Decimal::from_parts(5, 0, 0, false, 1));

/// Disagreements that the statement brings; the batch is one more.
const DISAGREEMENTS: usize = MISSTATED.len() + 1;

/// Plays it, and takes in the statement. `past` is an engine whose clock stands at the beginning.
pub(super) async fn play(engine: &Engine, past: &Engine, purses: &[Purse]) -> Result<(), Failure> {
    let slug = Sender::Acme.slug();
    let source = past.source(slug).await?.id;
    let (inbox, tasks) = InboxWriter::start(past.pool().clone(), WriterSettings::default(), |_| {});
    let settings = Settings {
        shards: 1,
        ..Settings::default()
    };
    let settler = Settler::new(past.clone(), settings, 0);
    let began = past.clock().now();
    let mut statement = "job,reference,meter,quantity,occurred_at\n".to_owned();
    for number in 0..JOBS {
        past.clock().advance(APART);
        let used = Decimal::new(i64::from(25 + number * 37 % 200), 1);
        let job = submit(past, number, purses).await?;
        past.clock().advance(TimeDelta::minutes(1));
        inbox
            .accept(completion(past, source, job, used)?)
            .await
            .map_err(|error| format!("the past could not be told: {error}"))?;
        while settler.work().await? > 0 {}
        let at = instant(past.clock().now());
        statement += &match stated(number, used) {
            Some(stated) => format!("{job},,video_seconds,{stated},{at}\n"),
            None => format!(",{},video_seconds,{},{at}\n", BATCH.0, used - BATCH.1),
        };
    }
    tasks.drain().await;
    let ended = past.clock().now();
    let period = Period::new(
        began.date_naive(),
        (ended + TimeDelta::days(1)).date_naive(),
    )?;
    let new = NewStatement {
        key: StatementId(engine.mint()),
        source: slug.to_owned(),
        livemode: true,
        period,
        tolerance: Tolerance::new(Decimal::ZERO, Decimal::ZERO)?,
        file_name: format!("{slug}-{}.csv", period.from()),
    };
    let file = std::io::Cursor::new(statement.into_bytes());
    engine.import_statement(&new, file, None).await?;
    let run = engine.reconcile(Cause::Scheduled, Some(Reach::Full), None);
    match run.await?.found {
        DISAGREEMENTS => Ok(()),
        found => Err(format!(
            "the statement disagrees about {DISAGREEMENTS} jobs, and {found} were found"
        )
        .into()),
    }
}

/// What the provider states it did, if it states anything.
fn stated(number: u32, used: Decimal) -> Option<Decimal> {
    let [more, less, nothing] = MISSTATED;
    match number {
        _ if number == more => Some(used + Decimal::new(24, 1)),
        _ if number == less => Some(used - Decimal::new(11, 1)),
        _ if number == nothing => None,
        _ => Some(used),
    }
}

/// Work of the first and the third wallet, in turns.
async fn submit(past: &Engine, number: u32, purses: &[Purse]) -> Result<JobId, Failure> {
    let at = if number.is_multiple_of(2) { 0 } else { 2 };
    let wallet: WalletId = purses[at].wallet.parse()?;
    let tenant: TenantId = tenant_of(past, wallet).await?;
    let request = Request {
        tenant,
        livemode: WALLETS[at].livemode,
        wallet,
        user: format!("user-{}", number % 7 + 1),
        client_request_id: format!("before-{number}"),
        model: video()?.name.to_owned(),
        estimate: Some(Usage::<Estimated>::parse([("video_seconds", "24")])?),
        source: Some(Sender::Acme.slug().to_owned()),
        output_required: false,
    };
    Ok(past.submit_job(&request).await?.job.id)
}

/// A model that makes videos.
pub(super) fn video() -> Result<&'static Model, Failure> {
    let video = |model: &&Model| model.meters[0].name == "video_seconds";
    let found = MODELS.iter().find(video);
    Ok(found.ok_or("the demo has no model that makes videos")?)
}

async fn tenant_of(past: &Engine, wallet: WalletId) -> Result<TenantId, Failure> {
    let mut conn = past.pool().acquire().await?;
    let wallet = engine::ledger::views::wallet(&mut conn, wallet).await?;
    Ok(wallet.ok_or("the demo's wallet is not there")?.line.tenant)
}

fn completion(
    past: &Engine,
    source: SourceId,
    job: JobId,
    used: Decimal,
) -> Result<Delivery, Failure> {
    let now = past.clock().now();
    let body = json!({
        "type": "job.succeeded", "occurred_at": instant(now),
        "data": { "job_id": job, "usage": { "video_seconds": used.to_string() } },
    })
    .to_string();
    let id = format!("before-{job}");
    let incoming = Incoming {
        delivery_id: Some(&id),
        job_parameter: None,
        body: &body,
    };
    let envelope = Adapter::Generic
        .envelope(&incoming)
        .map_err(|error| format!("the past cannot be read: {error:?}"))?;
    Ok(Delivery {
        source,
        source_slug: Sender::Acme.slug().to_owned(),
        livemode: true,
        envelope,
        raw_hash: Hash::of_bytes(body.as_bytes()),
        body: body.into(),
        headers: "[]".to_owned(),
        sender_id: None,
        remote_address: None,
        status: 202,
        received_at: now,
        asked: false,
    })
}

fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}
