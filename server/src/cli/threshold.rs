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
    #[command(flatten)]
    data: DataArgs,
}

impl ThresholdCommand {
    pub(super) async fn run(self) -> Outcome {
        let Self::Set(set) = self;
        change(&set.data, "threshold.set", async |conn, engine| {
            let above = Amount::exact(set.above, set.currency)?;
            let version =
                action::set_threshold(conn, engine, Kind::Goodwill, above, "command line").await?;
            let object = format!("goodwill {} v{version}", set.currency.code());
            Ok((object, json!({ "above": above.to_string() })))
        })
        .await
    }
}

fn not_negative(text: &str) -> Result<Decimal, String> {
    Decimal::from_str_exact(text)
        .ok()
        .filter(|amount| *amount >= Decimal::ZERO)
        .ok_or_else(|| "expected an amount such as 50.00, or 0".to_owned())
}
