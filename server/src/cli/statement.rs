//! `quittance statement`: what a provider says it did or billed, against our usage. Exit status 0 when
//! nothing disagrees, 1 when something does or the file was refused.

use std::path::PathBuf;

use chrono::NaiveDate;
use clap::{Args, Subcommand};
use domain::{
    id::StatementId,
    statement::{Outcome as Found, Period, Tolerance},
};
use engine::{
    Engine,
    statement::{
        Imported, NewStatement, Problem,
        views::{self, GroupLine},
    },
};
use rust_decimal::Decimal;

use super::Outcome;
use crate::{config::DataArgs, database::Database};

/// Work on statements of providers.
#[derive(Subcommand)]
pub(super) enum StatementCommand {
    /// Take in a provider's record of a period and hold our usage against it.
    Import(StatementImport),
}

#[derive(Args)]
pub(super) struct StatementImport {
    /// CSV with a line of column names, a JSON array of objects, or a JSON object a line. Fields:
    /// reference or job, meter, quantity; if known id, occurred_at, amount with currency.
    file: PathBuf,
    /// Slug of the source whose statement it is.
    #[arg(long)]
    source: String,
    /// First day it speaks of, UTC.
    #[arg(long, value_name = "DATE")]
    from: NaiveDate,
    /// The day after the last it speaks of, UTC.
    #[arg(long, value_name = "DATE")]
    to: NaiveDate,
    /// The source is a live one.
    #[arg(long)]
    live: bool,
    /// Units by which usage may differ.
    #[arg(
        long,
        value_name = "UNITS",
        default_value = "0",
        allow_negative_numbers = true
    )]
    absolute: Decimal,
    /// Share of the larger side by which usage may differ: 0.01 is one in a hundred.
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0",
        allow_negative_numbers = true
    )]
    relative: Decimal,
    #[command(flatten)]
    data: DataArgs,
}

/// The statement was not accepted; why was printed before.
#[derive(Debug, thiserror::Error)]
#[error("the statement is refused: nothing of it counts")]
struct Refused;

/// Something disagrees; what does was printed before.
#[derive(Debug, thiserror::Error)]
#[error("{0} of {1} groups disagree; the next reconciliation opens an exception for each")]
struct Disagree(i64, i64);

impl StatementCommand {
    pub(super) async fn run(self) -> Outcome {
        let Self::Import(import) = self;
        import.run().await
    }
}

impl StatementImport {
    async fn run(self) -> Outcome {
        let period = Period::new(self.from, self.to)?;
        let tolerance = Tolerance::new(self.absolute, self.relative)?;
        let file = std::fs::File::open(&self.file)
            .map_err(|error| format!("cannot read {}: {error}", self.file.display()))?;
        let name = self.file.file_name().unwrap_or_default();
        let file_name = name.to_string_lossy().into_owned();
        let database = Database::open_existing(&self.data).await?;
        database.migrate().await?;
        let engine = database.engine(4).await?;
        let new = NewStatement {
            key: StatementId(engine.mint()),
            source: self.source,
            livemode: self.live,
            period,
            tolerance,
            file_name,
        };
        let done = take_in(&engine, &new, file).await;
        engine.pool().close().await;
        database.close().await?;
        let (imported, lines) = done?;
        print!("{lines}");
        let statement = imported.statement;
        match statement.check {
            None => Err(Refused.into()),
            Some((_, tally)) if tally.alarms() > 0 => {
                Err(Disagree(tally.alarms(), tally.groups()).into())
            }
            Some(_) => Ok(()),
        }
    }
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

async fn take_in(
    engine: &Engine,
    new: &NewStatement,
    file: std::fs::File,
) -> Result<(Imported, String), Failed> {
    let imported = engine.import_statement(new, file, None).await?;
    let id = imported.statement.id;
    let mut conn = engine.pool().acquire().await?;
    let errors = views::errors(&mut conn, id).await?;
    let groups = views::groups(&mut conn, id, None, Default::default()).await?;
    let lines = lines(&imported, &errors, &groups.rows);
    Ok((imported, lines))
}

fn lines(imported: &Imported, errors: &[Problem], groups: &[GroupLine]) -> String {
    let statement = &imported.statement;
    let known = match imported.is_new {
        true => "",
        false => ", as it was before: the file is known",
    };
    let word = match statement.accepted {
        true => "accepted",
        false => "refused",
    };
    let mut text = format!(
        "{} {word}{known}, {} lines\n",
        statement.id, statement.lines
    );
    for error in errors {
        let field = error.field.map(|field| format!(" {field}"));
        let field = field.unwrap_or_default();
        text += &format!("      line {}{field}: {}\n", error.line, error.problem);
    }
    let more = statement.errors - i64::try_from(errors.len()).unwrap_or(i64::MAX);
    if more > 0 {
        text += &format!("      and {more} more errors\n");
    }
    let Some((_, tally)) = &statement.check else {
        return text;
    };
    for outcome in Found::ALL {
        text += &format!("{:>10} {outcome}\n", tally.of(*outcome));
    }
    for group in groups.iter().filter(|group| group.outcome.alarms()) {
        let number = |value: Option<Decimal>| {
            value.map_or_else(
                || "nothing".to_owned(),
                |value| value.normalize().to_string(),
            )
        };
        text += &format!(
            "      {} {}: stated {}, ours {} ({})\n",
            group.reference,
            group.meter,
            number(group.theirs),
            number(group.ours),
            group.outcome
        );
    }
    text
}
