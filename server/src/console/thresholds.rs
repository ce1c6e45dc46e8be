//! The form of thresholds: from which amount on an action takes two people.

use axum::{
    Form,
    extract::{Extension, State},
    response::Response,
};
use domain::{
    action::Kind as ActionKind,
    money::{Amount, Currency},
};
use engine::{action, audit, error::StoreError, operator::Role};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::json;
use tower_sessions::Session;

use super::{Console, CurrentOperator, frame, return_path};
use crate::http::{problem::Problem, request::RequestId};

#[derive(Deserialize)]
pub(super) struct ThresholdForm {
    #[serde(default)]
    action: String,
    #[serde(default)]
    currency: String,
    #[serde(default)]
    above: String,
}

impl ThresholdForm {
    /// What was asked for, or what is wrong with it.
    fn read(&self) -> Result<(ActionKind, Amount), &'static str> {
        let kind: ActionKind = self
            .action
            .parse()
            .ok()
            .filter(|kind: &ActionKind| kind.has_threshold())
            .ok_or("choose an action")?;
        let currency: Currency = self.currency.parse().map_err(|_| "choose a currency")?;
        let above = Decimal::from_str_exact(self.above.trim())
            .ok()
            .filter(|above| *above >= Decimal::ZERO)
            .and_then(|above| Amount::exact(above, currency).ok())
            .ok_or("type an amount such as 50.00, or 0")?;
        Ok((kind, above))
    }
}

/// Sets a threshold, with its line in the audit log.
pub(super) async fn set(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Form(form): Form<ThresholdForm>,
) -> Result<Response, Problem> {
    who.must_be(Role::Admin)?;
    let (good, said) = match form.read() {
        Err(wrong) => (false, format!("Nothing was changed: {wrong}")),
        Ok((kind, above)) => match store(&console, &who, kind, above).await? {
            Some(version) => (true, format!("Set: version {version} is in force")),
            None => (true, "It is that already".to_owned()),
        },
    };
    frame::tell(&session, good, &said, None).await;
    Ok(return_path::see_other("/thresholds"))
}

async fn store(
    console: &Console,
    who: &CurrentOperator,
    kind: ActionKind,
    above: Amount,
) -> Result<Option<i32>, StoreError> {
    let engine = &console.engine;
    let mut tx = engine.pool().begin().await?;
    let version = action::set_threshold(&mut tx, engine, kind, above, &who.0.email).await?;
    if let Some(version) = version {
        let object = format!("{kind} {} v{version}", above.currency().code());
        let request_id = RequestId::current();
        let detail = json!({ "above": above.to_string() });
        let by = who.by(request_id.as_ref());
        let line = by.did("threshold.set", &object, detail, None);
        audit::record(&mut tx, engine, &line).await?;
    }
    tx.commit().await?;
    Ok(version)
}
