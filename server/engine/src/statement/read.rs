//! Reading a statement's file: CSV, a JSON array, or a JSON object a line, told apart by how it begins.
//!
//! Memory is flat: one line at a time, and no line longer than [`LONGEST_LINE`]. Numbers are taken as they
//! are written and never become floats. What is wrong is collected, up to [`MOST_PROBLEMS`], and counted.

mod csv;
mod json;

use std::{
    cell::Cell,
    io::{self, Cursor, Read},
    rc::Rc,
};

use domain::{
    canonical::Hash,
    statement::{Field, Line, Wrong},
};
use sha2::{Digest, Sha256};

/// Longest line, in bytes.
const LONGEST_LINE: usize = 64 * 1024;
/// Problems that are kept; more are counted.
pub(super) const MOST_PROBLEMS: usize = 200;
/// Lines that are handed on at once.
const BATCH: usize = 1000;

/// A line, and where it stands.
pub(super) type Numbered = (i64, Line);

/// What is wrong with a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where: the line of the file, or the place in the array.
    pub line: i64,
    /// Which field, where it is about one.
    pub field: Option<Field>,
    /// What is wrong and what to do.
    pub problem: String,
}

/// Everything that is wrong: the first problems, and how many there are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Problems {
    pub(super) first: Vec<Problem>,
    pub(super) count: i64,
}

impl Problems {
    pub(super) fn push(&mut self, problem: Problem) {
        self.count += 1;
        if self.first.len() < MOST_PROBLEMS {
            self.first.push(problem);
        }
    }

    /// Both, in the order of the file.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort_by_key(|problem| problem.line);
        self.first.truncate(MOST_PROBLEMS);
        self
    }
}

/// What came of reading a file.
pub(super) struct Reading {
    pub(super) hash: Hash,
    pub(super) lines: i64,
    pub(super) problems: Problems,
}

/// Reads a file to its end; `hand_on` takes batches of good lines and says whether more are wanted.
pub(super) fn read(
    file: impl Read,
    hand_on: impl FnMut(Vec<Numbered>) -> bool,
) -> io::Result<Reading> {
    let mut file = File::new(file);
    let mut desk = Desk {
        hand_on,
        batch: Vec::new(),
        lines: 0,
        problems: Problems::default(),
        is_left: false,
    };
    parse(&mut file, &mut desk)?;
    desk.finish();
    let hash = file.drain()?;
    Ok(Reading {
        hash,
        lines: desk.lines,
        problems: desk.problems,
    })
}

/// The hash of a file that is not looked into.
pub(super) fn hash(file: impl Read) -> io::Result<Hash> {
    File::new(file).drain()
}

fn parse<R: Read, H: FnMut(Vec<Numbered>) -> bool>(
    file: &mut File<R>,
    desk: &mut Desk<H>,
) -> io::Result<()> {
    let leash = file.leash.clone();
    let head = file.head()?;
    let begins_with = head
        .iter()
        .find(|byte| !byte.is_ascii_whitespace())
        .copied();
    let input = Cursor::new(head).chain(file);
    match begins_with {
        None => desk.complain(1, None, "the file is empty"),
        Some(b'[') => json::array(input, &leash, desk)?,
        Some(b'{') => json::lines(input, desk)?,
        Some(_) => csv::records(input, &leash, desk)?,
    }
    if desk.lines == 0 && desk.problems.count == 0 {
        desk.complain(
            1,
            None,
            "the file has no line: a statement says at least one thing",
        );
    }
    Ok(())
}

/// What takes the lines as they are read.
struct Desk<H> {
    hand_on: H,
    batch: Vec<Numbered>,
    lines: i64,
    problems: Problems,
    /// Nobody takes any more.
    is_left: bool,
}

impl<H: FnMut(Vec<Numbered>) -> bool> Desk<H> {
    /// Takes a line; says whether more are wanted.
    fn take(&mut self, line: i64, read: Result<Line, Vec<Wrong>>) -> bool {
        self.lines += 1;
        match read {
            Ok(read) => self.batch.push((line, read)),
            Err(wrong) => {
                for wrong in wrong {
                    self.complain(line, wrong.field, wrong.problem);
                }
            }
        }
        if self.batch.len() == BATCH {
            self.is_left = !(self.hand_on)(std::mem::take(&mut self.batch));
        }
        !self.is_left
    }

    fn complain(&mut self, line: i64, field: Option<Field>, problem: impl Into<String>) {
        self.problems.push(Problem {
            line,
            field,
            problem: problem.into(),
        });
    }

    fn finish(&mut self) {
        if !self.batch.is_empty() && !self.is_left {
            (self.hand_on)(std::mem::take(&mut self.batch));
        }
    }
}

/// A problem of a line that is about no field.
fn whole(problem: impl Into<String>) -> Vec<Wrong> {
    vec![Wrong {
        field: None,
        problem: problem.into(),
    }]
}

const TOO_LONG: &str = "the line is longer than 64 KiB; a quote may have been left open";

/// How much may be read until the next line must have begun.
#[derive(Clone)]
struct Leash(Rc<Cell<Option<usize>>>);

impl Leash {
    /// A line begins.
    fn renew(&self) {
        self.0.set(Some(LONGEST_LINE));
    }

    /// Whether a line was longer than it may be.
    fn is_at_its_end(&self) -> bool {
        self.0.get() == Some(0)
    }
}

/// A file that is hashed as it is read.
struct File<R> {
    inner: R,
    hash: Sha256,
    leash: Leash,
}

impl<R: Read> File<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            leash: Leash(Rc::new(Cell::new(None))),
        }
    }

    /// How it begins, without a byte order mark.
    fn head(&mut self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.by_ref().take(1024).read_to_end(&mut head)?;
        Ok(match head.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) => rest.to_vec(),
            None => head,
        })
    }

    /// Reads what is left, and tells the hash of everything.
    fn drain(mut self) -> io::Result<Hash> {
        self.leash.0.set(None);
        io::copy(&mut self, &mut io::sink())?;
        Ok(Hash(self.hash.finalize().into()))
    }
}

impl<R: Read> Read for File<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = match self.leash.0.get() {
            Some(0) => return Err(io::Error::other(TOO_LONG)),
            Some(left) => buffer.len().min(left),
            None => buffer.len(),
        };
        let count = self.inner.read(&mut buffer[..most])?;
        self.hash.update(&buffer[..count]);
        let left = self.leash.0.get();
        self.leash.0.set(left.map(|left| left - count));
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
