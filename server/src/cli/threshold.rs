//! From which amount on an action of the console waits for a second person.

use clap::{Args, Subcommand};
use domain::{
    action::Kind,
    money::{Amount, Currency},
};
use engine::action;
use rust_decimal::Decimal;
use serde_json::json;

use super::{Outcome, admin::change};
use crate::config::DataArgs;

/// Work on approval thresholds.
#[derive(Subcommand)]
pub(super) enum ThresholdCommand {
    /// Let amounts up to this one go without a second person; prints the version in force.
    Set(ThresholdSet),
}

#[derive(Args)]
pub(super) struct ThresholdSet {
    /// Amount up to which no second person is asked; 0 asks for every amount.
    #[arg(value_parser = not_negative)]
    above: Decimal,
    /// Currency of the amount.
    #[arg(long)]
    currency: Currency,
    /// The action it is for: goodwill, charge, credit, reverse or undo; for all of them when left out.
    #[arg(long, value_parser = with_threshold)]
    action: Option<Kind>,
    #[command(flatten)]
    data: DataArgs,
}

impl ThresholdCommand {
    pub(super) async fn run(self) -> Outcome {
        let Self::Set(set) = self;
        change(&set.data, "threshold.set", async |conn, engine| {
            let above = Amount::exact(set.above, set.currency)?;
            let kinds: Vec<Kind> = match set.action {
                Some(kind) => vec![kind],
                None => kinds_with_threshold().collect(),
            };
            let mut set_now = Vec::new();
            for kind in kinds {
                let version =
                    action::set_threshold(conn, engine, kind, above, "command line").await?;
                set_now.push(match version {
                    Some(version) => format!("{kind} {} v{version}", set.currency.code()),
                    None => format!("{kind} {} as it was", set.currency.code()),
                });
            }
            let object = set_now.join(", ");
            Ok((object, json!({ "above": above.to_string() })))
        })
        .await
    }
}

fn kinds_with_threshold() -> impl Iterator<Item = Kind> {
    Kind::ALL
        .iter()
        .copied()
        .filter(|kind| kind.has_threshold())
}

fn with_threshold(text: &str) -> Result<Kind, String> {
    text.parse()
        .ok()
        .filter(|kind: &Kind| kind.has_threshold())
        .ok_or_else(|| {
            let kinds: Vec<_> = kinds_with_threshold().map(|kind| kind.as_str()).collect();
            format!("expected one of {}", kinds.join(", "))
        })
}

fn not_negative(text: &str) -> Result<Decimal, String> {
    Decimal::from_str_exact(text)
        .ok()
        .filter(|amount| *amount >= Decimal::ZERO)
        .ok_or_else(|| "expected an amount such as 50.00, or 0".to_owned())
}
