//! The form that takes a provider's statement in. The file goes through a temporary one that has no name,
//! so that memory is flat and nothing is left behind.

use axum::{
    extract::{
        Extension, Multipart, State,
        multipart::{Field, MultipartError, MultipartRejection},
    },
    response::Response,
};
use chrono::NaiveDate;
use domain::{
    id::StatementId,
    statement::{Period, Tolerance},
};
use engine::{
    operator::Role,
    statement::{ImportError, Imported, NewStatement},
};
use rust_decimal::Decimal;
use tokio::{
    fs::File,
    io::{AsyncSeekExt, AsyncWriteExt},
};
use tower_sessions::Session;

use super::{Console, CurrentOperator, frame, return_path};
use crate::http::{
    problem::{Kind, Problem},
    request::RequestId,
};

/// Largest upload. What is larger does not arrive within the time of a request; the command line takes it.
pub(super) const UPLOAD_BYTES: usize = 16 * 1024 * 1024;
/// Longest text of a field.
const TEXT_BYTES: usize = 1024;

/// What was typed.
#[derive(Default)]
struct Typed {
    key: String,
    source: String,
    from: String,
    to: String,
    absolute: String,
    relative: String,
    file: Option<(String, std::fs::File)>,
}

/// Takes a statement in, and leads to it.
pub(super) async fn upload(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    form: Result<Multipart, MultipartRejection>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let _turn = console.uploads.try_acquire().map_err(|_| {
        let detail = "Other statements are being read; wait until one has finished.";
        Problem::new(Kind::Overloaded, detail)
    })?;
    let form = form.map_err(|_| invalid("The form cannot be read."))?;
    let mut typed = read(form).await?;
    let chosen = typed.file.take().ok_or_else(|| "choose a file".to_owned());
    let read = understood(&typed, console.live).and_then(|new| Ok((new, chosen?)));
    let (new, file) = match read {
        Ok((new, (file_name, file))) => (NewStatement { file_name, ..new }, file),
        Err(wrong) => {
            let said = format!("Nothing was stored: {wrong}");
            frame::tell(&session, false, &said, None).await;
            return Ok(return_path::see_other("/statements"));
        }
    };
    let request_id = RequestId::current();
    let by = who.by(request_id.as_ref());
    match console.engine.import_statement(&new, file, Some(by)).await {
        Ok(imported) => {
            let (good, said) = told(&imported);
            frame::tell(&session, good, &said, None).await;
            let place = format!("/statements/{}", imported.statement.id);
            Ok(return_path::see_other(&place))
        }
        Err(ImportError::Store(error)) => Err(error.into()),
        Err(ImportError::File(error)) => Err(lost(&error)),
        Err(error @ (ImportError::UnknownSource(_) | ImportError::KeyUsed)) => {
            let said = format!("Nothing was stored: {error}");
            frame::tell(&session, false, &said, None).await;
            Ok(return_path::see_other("/statements"))
        }
    }
}

/// What the page of the statement says first.
fn told(imported: &Imported) -> (bool, String) {
    let statement = &imported.statement;
    let known = match imported.is_new {
        true => "",
        false => "This file was uploaded before. ",
    };
    match &statement.check {
        None => (
            false,
            format!(
                "{known}Refused for {} errors: nothing of it counts",
                statement.errors
            ),
        ),
        Some((_, tally)) if tally.alarms() == 0 => {
            (true, format!("{known}Accepted: nothing disagrees"))
        }
        Some((_, tally)) => (
            false,
            format!(
                "{known}Accepted: {} of {} groups disagree, and the next run opens an exception for each",
                tally.alarms(),
                tally.groups()
            ),
        ),
    }
}

/// Reads the form, the file into a temporary one.
async fn read(mut form: Multipart) -> Result<Typed, Problem> {
    let mut typed = Typed::default();
    while let Some(field) = form.next_field().await.map_err(refused)? {
        let name = field.name().unwrap_or_default().to_owned();
        let text = match name.as_str() {
            "key" => &mut typed.key,
            "statement_source" => &mut typed.source,
            "from" => &mut typed.from,
            "to" => &mut typed.to,
            "absolute" => &mut typed.absolute,
            "relative" => &mut typed.relative,
            "file" => {
                typed.file = spool(field).await?;
                continue;
            }
            _ => return Err(invalid("The form has a field that is not known here.")),
        };
        *text = short(field).await?;
    }
    Ok(typed)
}

async fn short(mut field: Field<'_>) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(refused)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > TEXT_BYTES {
            return Err(invalid("A field of the form is too long."));
        }
    }
    let text = String::from_utf8(bytes).map_err(|_| invalid("A field is not UTF-8."))?;
    Ok(text.trim().to_owned())
}

/// The file and its name; nothing when none was chosen.
async fn spool(mut field: Field<'_>) -> Result<Option<(String, std::fs::File)>, Problem> {
    let name = field.file_name().unwrap_or_default().to_owned();
    let made = tokio::task::spawn_blocking(tempfile::tempfile).await;
    let made = made.map_err(std::io::Error::other).and_then(|made| made);
    let mut file = File::from_std(made.map_err(|error| lost(&error))?);
    let mut is_empty = true;
    while let Some(chunk) = field.chunk().await.map_err(refused)? {
        is_empty &= chunk.is_empty();
        file.write_all(&chunk).await.map_err(|error| lost(&error))?;
    }
    file.flush().await.map_err(|error| lost(&error))?;
    file.rewind().await.map_err(|error| lost(&error))?;
    let file = file.into_std().await;
    Ok((!name.is_empty() || !is_empty).then_some((name, file)))
}

fn understood(typed: &Typed, livemode: bool) -> Result<NewStatement, String> {
    let key: StatementId = typed
        .key
        .parse()
        .map_err(|_| "open the form again".to_owned())?;
    if typed.source.is_empty() {
        return Err("choose a source".to_owned());
    }
    let day = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let days = day(&typed.from).zip(day(&typed.to));
    let period = days.map(|(from, to)| Period::new(from, to));
    let period = match period {
        Some(Ok(period)) => period,
        Some(Err(error)) => return Err(error.to_string()),
        None => return Err("choose the first day and the day after the last".to_owned()),
    };
    let number = |text: &str| match text {
        "" => Some(Decimal::ZERO),
        text => Decimal::from_str_exact(text).ok(),
    };
    let numbers = number(&typed.absolute).zip(number(&typed.relative));
    let (absolute, relative) = numbers.ok_or("write a tolerance like 0.01")?;
    let tolerance = Tolerance::new(absolute, relative).map_err(|error| error.to_string())?;
    Ok(NewStatement {
        key,
        source: typed.source.clone(),
        livemode,
        period,
        tolerance,
        file_name: String::new(),
    })
}

fn refused(error: MultipartError) -> Problem {
    match error.status().as_u16() {
        413 => Problem::new(
            Kind::TooLarge,
            "The file is larger than 16 MiB: take it in with `quittance statement import`.",
        ),
        _ => invalid("The form cannot be read."),
    }
}

fn lost(error: &std::io::Error) -> Problem {
    tracing::error!(%error, "an uploaded file could not be kept");
    Problem::new(
        Kind::Unavailable,
        "The file could not be kept while it was read.",
    )
}

fn invalid(detail: &str) -> Problem {
    Problem::new(Kind::Invalid, detail)
}
