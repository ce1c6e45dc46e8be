//! When a reconciliation run freezes a tenant by itself.

use clap::{Args, Subcommand};
use engine::freeze;
use serde_json::json;

use super::{
    Outcome,
    admin::{change, look},
};
use crate::config::DataArgs;

/// Work on the freeze rule.
#[derive(Subcommand)]
pub(super) enum FreezeRuleCommand {
    /// Freeze a tenant when a run finds more exceptions about money of it than this; prints the version.
    Set(FreezeRuleSet),
    /// Freeze nobody by a rule, as in an installation that never set one.
    Clear(DataArgs),
    /// Print the rule in force.
    Show(DataArgs),
}

#[derive(Args)]
pub(super) struct FreezeRuleSet {
    /// So many a tenant may have and go on; 0 freezes at the first.
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    above: i32,
    #[command(flatten)]
    data: DataArgs,
}

impl FreezeRuleCommand {
    pub(super) async fn run(self) -> Outcome {
        match self {
            Self::Set(set) => store(&set.data, Some(set.above)).await,
            Self::Clear(data) => store(&data, None).await,
            Self::Show(data) => {
                look(&data, async |conn, _| {
                    Ok(vec![match freeze::views::rule(conn).await? {
                        Some(rule) => {
                            format!("version {}: more than {}", rule.version, rule.above)
                        }
                        None => "no rule is set: no run freezes anyone".to_owned(),
                    }])
                })
                .await
            }
        }
    }
}

async fn store(data: &DataArgs, above: Option<i32>) -> Outcome {
    change(data, "freeze_rule.set", async |conn, engine| {
        let version = freeze::set_rule(conn, engine, above, "command line").await?;
        let object = match version {
            Some(version) => format!("freeze rule v{version}"),
            None => "freeze rule as it was".to_owned(),
        };
        Ok((object, json!({ "above": above })))
    })
    .await
}
