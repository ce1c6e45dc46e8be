//! CSV as RFC 4180 has it. The first line names the columns, in any order.

use std::{
    io::{self, Read},
    str,
};

use csv::{ByteRecord, ErrorKind, ReaderBuilder, Terminator};
use domain::statement::{Field, Line, Wrong};

use super::{Desk, Leash, Numbered, TOO_LONG, whole};

/// Reads records until the end, or until there is no sense in going on.
pub(super) fn records<H: FnMut(Vec<Numbered>) -> bool>(
    input: impl Read,
    leash: &Leash,
    desk: &mut Desk<H>,
) -> io::Result<()> {
    // How many cells a record has is checked here, so that one that differs does not end the reading. With
    // `\n` alone as the end of a record, lines are counted as editors count them.
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(input);
    let mut record = ByteRecord::new();
    let mut columns = None;
    loop {
        leash.renew();
        let line = i64::try_from(reader.position().line()).unwrap_or(i64::MAX);
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(_) if leash.is_at_its_end() => {
                desk.complain(line, None, TOO_LONG);
                return Ok(());
            }
            Err(error) => {
                return match error.into_kind() {
                    ErrorKind::Io(error) => Err(error),
                    _ => Err(io::ErrorKind::InvalidData.into()),
                };
            }
        }
        let line = begin(line, reader.position().line(), &record);
        if record.len() == 1 && record[0].trim_ascii().is_empty() {
            continue;
        }
        let Some(columns) = &columns else {
            match header(&record) {
                Ok(found) => columns = Some(found),
                Err(problem) => {
                    desk.complain(line, None, problem);
                    return Ok(());
                }
            }
            continue;
        };
        if !desk.take(line, read(columns, &record)) {
            return Ok(());
        }
    }
}

/// The line on which a record begins that was read from `before` to `after`.
fn begin(before: i64, after: u64, record: &ByteRecord) -> i64 {
    let breaks = record.iter().flatten().filter(|byte| **byte == b'\n');
    let breaks = i64::try_from(breaks.count()).unwrap_or(i64::MAX);
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    if after == before + breaks {
        // The last line, without an end.
        before
    } else {
        after - 1 - breaks
    }
}

/// The columns that the first line names.
fn header(record: &ByteRecord) -> Result<Vec<Field>, String> {
    let known: Vec<_> = Field::ALL.iter().map(|field| field.as_str()).collect();
    let known = format!("the first line names the columns: {}", known.join(", "));
    let mut columns = Vec::new();
    let mut unknown = Vec::new();
    for cell in record {
        let name = String::from_utf8_lossy(cell);
        let name = name.trim();
        match name.parse::<Field>() {
            Ok(field) if columns.contains(&field) => {
                return Err(format!("the column {field} is there twice"));
            }
            Ok(field) => columns.push(field),
            Err(_) => unknown.push(format!("{:?}", name.chars().take(64).collect::<String>())),
        }
    }
    unknown.truncate(20);
    let has = |field| columns.contains(&field);
    if !unknown.is_empty() {
        Err(format!("unknown columns {}; {known}", unknown.join(", ")))
    } else if !has(Field::Meter) || !has(Field::Quantity) {
        Err(format!(
            "the columns meter and quantity must be there; {known}"
        ))
    } else if !has(Field::Reference) && !has(Field::Job) {
        Err(format!(
            "the column reference or job must be there; {known}"
        ))
    } else {
        Ok(columns)
    }
}

fn read(columns: &[Field], record: &ByteRecord) -> Result<Line, Vec<Wrong>> {
    if record.len() != columns.len() {
        let (cells, named) = (record.len(), columns.len());
        return Err(whole(format!(
            "{cells} cells under {named} columns; a cell with a comma or a quote must be quoted"
        )));
    }
    let mut texts = [None; Field::ALL.len()];
    let mut wrong = Vec::new();
    for (field, cell) in columns.iter().zip(record) {
        match str::from_utf8(cell) {
            Ok(text) => texts[*field as usize] = Some(text.trim_matches([' ', '\r'])),
            Err(_) => wrong.push(Wrong {
                field: Some(*field),
                problem: "it is not UTF-8: save the file as UTF-8".to_owned(),
            }),
        }
    }
    if wrong.is_empty() {
        Line::read(|field| texts[field as usize])
    } else {
        Err(wrong)
    }
}
