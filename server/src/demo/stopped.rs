//! A tenant that staff has stopped, for whoever opens the desk of freezes: it paid with a card that was
//! reported stolen, and a job of it was already on its way. Nobody has asked for the lift yet.
//!
//! No plan and no delivery is about it, so the proof of a run is the same with it and without.

use domain::{
    action::{Category, Kind, Request, State, Subject, Target, Typed},
    decide::{LateCancel, Overage, Partial, Policy},
    id::ActionId,
    money::Amount,
    usage::{Estimated, Usage},
};
use engine::{
    Engine, action,
    audit::By,
    job::submit,
    tenant::{self, NewTenant},
    wallet,
};
use sqlx::PgConnection;

use super::{Failure, cast::Sender, history};

const NAME: &str = "Hollow Pine Games";
const FUNDS: &str = "250";

/// Opens it, lets it ask for work, and stops it as one of the staff.
pub(super) async fn add(
    conn: &mut PgConnection,
    engine: &Engine,
    by: By<'_>,
) -> Result<(), Failure> {
    let new = NewTenant {
        name: NAME.to_owned(),
        in_flight_limit: 10,
        max_quote: Some(FUNDS.parse()?),
        refund_on_failure: true,
        policy: Policy {
            overage: Overage::Cap,
            late_cancel: LateCancel::Capture,
            partial: Partial::Bill,
        },
    };
    let tenant = tenant::add(conn, engine, &new).await?;
    let currency = "USD".parse()?;
    let wallet = wallet::open(conn, engine, tenant, "Trailers", currency, true).await?;
    let credit = wallet::Grant {
        tenant,
        wallet,
        key: format!("{wallet}: card"),
        amount: Amount::exact(FUNDS.parse()?, currency)?,
        expires_at: None,
        note: "Card payment 2026-1203".to_owned(),
        action: None,
    };
    wallet::grant(conn, engine, &credit).await?;
    let order = submit::Request {
        tenant,
        livemode: true,
        wallet,
        user: "user-1".to_owned(),
        client_request_id: "trailer-1".to_owned(),
        model: history::video()?.name.to_owned(),
        estimate: Some(Usage::<Estimated>::parse([("video_seconds", "90")])?),
        source: Some(Sender::Acme.slug().to_owned()),
        output_required: false,
    };
    submit::submit(conn, engine, &order).await?;
    let typed = Typed {
        amount: String::new(),
        expires: String::new(),
        category: Category::Suspicion.to_string(),
        reason: "The bank reports the card as stolen; the owner has not answered yet.".to_owned(),
    };
    let subject = Subject::whole(Target::Tenant(tenant));
    let request = Request::read(Kind::Freeze, subject, &typed, engine.clock().now())
        .map_err(|wrong| format!("the demo's own request is wrong: {wrong:?}"))?;
    match send(conn, engine, &request, by).await? {
        State::Done => Ok(()),
        other => Err(format!("the demo's freeze is {other}").into()),
    }
}

/// Proposes an action and commits it on its dry run.
pub(super) async fn send(
    conn: &mut PgConnection,
    engine: &Engine,
    request: &Request,
    by: By<'_>,
) -> Result<State, Failure> {
    let id = ActionId(engine.mint());
    action::propose(conn, engine, id, request, by).await?;
    let draft = action::views::find(conn, id)
        .await?
        .ok_or("the action that was proposed is not there")?;
    let basis = action::dry_run(conn, &draft, engine.clock().now())
        .await?
        .basis;
    Ok(action::commit(conn, engine, id, basis, by).await?)
}
