//! Operators from the command line: accounts of the console.

use std::io::{self, Read as _};

use clap::{Args, Subcommand};
use engine::operator::{self, NewOperator, Role};
use serde_json::json;

use super::{
    Outcome,
    admin::{change, look},
};
use crate::config::DataArgs;

/// Work on operators.
#[derive(Subcommand)]
pub(super) enum OperatorCommand {
    /// Make an account for the console. The password is read from standard input.
    Add(OperatorAdd),
    /// List the accounts.
    List(DataArgs),
    /// Let nobody sign in with an account; its open sessions end with their next request.
    Disable(OperatorNamed),
    /// Give an account another password, read from standard input.
    Password(OperatorNamed),
}

#[derive(Args)]
pub(super) struct OperatorAdd {
    /// Sign-in name.
    email: String,
    /// Name others read.
    #[arg(long)]
    name: String,
    /// viewer, support, finance or admin.
    #[arg(long, default_value = "viewer")]
    role: Role,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct OperatorNamed {
    /// Sign-in name.
    email: String,
    #[command(flatten)]
    data: DataArgs,
}

/// What a sign-in name that works nowhere is told.
const NOBODY: &str = "no account that works has this e-mail; see `quittance operator list`";

impl OperatorCommand {
    pub(super) async fn run(self) -> Outcome {
        match self {
            Self::Add(add) => add.run().await,
            Self::List(data) => {
                look(&data, async |conn, _| {
                    let all = operator::list(conn).await?;
                    Ok(all.iter().map(line).collect())
                })
                .await
            }
            Self::Disable(named) => {
                change(&named.data, "operator.disable", async |conn, engine| {
                    let id = operator::disable(conn, engine, &named.email).await?;
                    let id = id.ok_or(NOBODY)?;
                    Ok((id.to_string(), json!({ "email": named.email })))
                })
                .await
            }
            Self::Password(named) => {
                let password = read_password()?;
                change(&named.data, "operator.password", async |conn, _| {
                    let id = operator::set_password(conn, &named.email, &password).await?;
                    let id = id.ok_or(NOBODY)?;
                    Ok((id.to_string(), json!({ "email": named.email })))
                })
                .await
            }
        }
    }
}

impl OperatorAdd {
    async fn run(self) -> Outcome {
        let password = read_password()?;
        let new = NewOperator {
            email: &self.email,
            name: &self.name,
            role: self.role,
            password: &password,
        };
        change(&self.data, "operator.add", async |conn, engine| {
            let id = operator::add(conn, engine, &new).await?;
            Ok((
                id.to_string(),
                json!({ "email": new.email, "role": new.role.as_str() }),
            ))
        })
        .await
    }
}

fn line(one: &operator::Listed) -> String {
    let state = one
        .disabled_at
        .map(|at| format!(" disabled {at}"))
        .unwrap_or_default();
    format!("{} {} {}{state}", one.email, one.role, one.name)
}

/// From standard input, without the line end.
fn read_password() -> Result<String, io::Error> {
    eprintln!("password, at least 12 characters, then Enter and Ctrl-D:");
    let mut password = String::new();
    io::stdin()
        .lock()
        .take(4096)
        .read_to_string(&mut password)?;
    Ok(password.trim_end_matches(['\r', '\n']).to_owned())
}
