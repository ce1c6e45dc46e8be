//! What differs inside two long texts, word by word.
//!
//! Cost is bounded whatever a sender writes: words both have in front and at the end are taken off first, and
//! when what remains is still long it counts as changed as a whole.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Texts up to this many bytes are read as they are.
const SHORT_BYTES: usize = 80;
/// Words of a side that are compared with each other.
const MOST_WORDS: usize = 1000;
/// Characters shown on either side of what changed.
const AROUND: usize = 60;
/// Characters shown of what changed.
const MOST_CHANGED: usize = 2000;
/// Words longer than this are compared inside, at both ends.
const LONG_WORD: usize = 16;

/// A piece of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    /// The other text has it too.
    Same(String),
    /// The other text has something else here, or nothing.
    Changed(String),
    /// So many characters that are not shown.
    Left(usize),
}

/// Both texts in pieces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Inside {
    /// The first text.
    pub(crate) before: Vec<Piece>,
    /// The other one.
    pub(crate) after: Vec<Piece>,
    /// Places where they differ.
    pub(crate) places: usize,
}

/// Compares two texts inside, if one of them is long and they have something in common.
pub(crate) fn inside(before: &str, after: &str) -> Option<Inside> {
    if before.len().max(after.len()) <= SHORT_BYTES {
        return None;
    }
    let (left, right) = (words(before), words(after));
    let front = common(left.iter().zip(&right));
    let end = common(left[front..].iter().rev().zip(right[front..].iter().rev()));
    let (mid_left, mid_right) = (
        &left[front..left.len() - end],
        &right[front..right.len() - end],
    );
    let mut told = Told::default();
    told.same(&left[..front]);
    if mid_left.len().max(mid_right.len()) > MOST_WORDS {
        told.differ(mid_left, mid_right);
    } else {
        for op in capture_diff_slices(Algorithm::Myers, mid_left, mid_right) {
            match op {
                DiffOp::Equal { .. } => told.same(&mid_left[op.old_range()]),
                DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                    told.differ(&mid_left[op.old_range()], &mid_right[op.new_range()]);
                }
            }
        }
    }
    told.same(&left[left.len() - end..]);
    told.something_in_common.then(|| Inside {
        before: shown(told.before),
        after: shown(told.after),
        places: told.places,
    })
}

/// The pieces so far, whole.
#[derive(Default)]
struct Told {
    before: Vec<(bool, String)>,
    after: Vec<(bool, String)>,
    places: usize,
    something_in_common: bool,
}

impl Told {
    fn same(&mut self, words: &[&str]) {
        self.same_text(&words.concat());
    }

    fn same_text(&mut self, text: &str) {
        self.something_in_common |= text.chars().any(char::is_alphanumeric);
        push(&mut self.before, false, text);
        push(&mut self.after, false, text);
    }

    fn differ(&mut self, left: &[&str], right: &[&str]) {
        let (left, right) = (left.concat(), right.concat());
        let joins = |pieces: &[(bool, String)]| pieces.last().is_some_and(|(changed, _)| *changed);
        if !(joins(&self.before) || joins(&self.after)) {
            self.places += 1;
        }
        let (front, end) = match left.len().min(right.len()) > LONG_WORD {
            true => ends(&left, &right),
            false => (0, 0),
        };
        self.same_text(&left[..front]);
        push(&mut self.before, true, &left[front..left.len() - end]);
        push(&mut self.after, true, &right[front..right.len() - end]);
        self.same_text(&left[left.len() - end..]);
    }
}

/// Adds a piece; neighbours of one kind are one.
fn push(pieces: &mut Vec<(bool, String)>, changed: bool, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some((known, joined)) if *known == changed => joined.push_str(text),
        _ => pieces.push((changed, text.to_owned())),
    }
}

/// Bytes that both have in front and, beyond those, at the end.
fn ends(left: &str, right: &str) -> (usize, usize) {
    let bytes = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs
            .take_while(|(left, right)| left == right)
            .map(|(left, _)| left.len_utf8())
            .sum()
    };
    let front = bytes(&mut left.chars().zip(right.chars()));
    let (left, right) = (&left[front..], &right[front..]);
    let end = bytes(&mut left.chars().rev().zip(right.chars().rev()));
    (front, end)
}

fn common<'w>(pairs: impl Iterator<Item = (&'w &'w str, &'w &'w str)>) -> usize {
    pairs.take_while(|(left, right)| left == right).count()
}

/// Runs of letters and digits, and everything else one by one.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first.is_alphanumeric() {
            true => rest
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after;
    }
    words
}

/// What is shown: all that changed up to a bound, and what is around it.
fn shown(pieces: Vec<(bool, String)>) -> Vec<Piece> {
    let last = pieces.len().saturating_sub(1);
    let mut out = Vec::new();
    for (at, (changed, text)) in pieces.into_iter().enumerate() {
        let length = text.chars().count();
        let (head, tail) = match changed {
            true => (MOST_CHANGED, 0),
            false => (
                if at == 0 { 0 } else { AROUND },
                if at == last { 0 } else { AROUND },
            ),
        };
        // A gap that is hardly shorter than what it stands for helps nobody.
        let whole = length <= head + tail + AROUND;
        let piece = |text: &str| match changed {
            true => Piece::Changed(text.to_owned()),
            false => Piece::Same(text.to_owned()),
        };
        if whole {
            out.push(piece(&text));
            continue;
        }
        let cut = |count: usize| {
            let at = text.char_indices().nth(count);
            at.map_or(text.len(), |(at, _)| at)
        };
        let (begin, end) = (cut(head), cut(length - tail));
        if begin > 0 {
            out.push(piece(&text[..begin]));
        }
        out.push(Piece::Left(length - head - tail));
        if end < text.len() {
            out.push(piece(&text[end..]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[-removed-]`, `{+added+}`, `<n>` for what is not shown.
    fn told(pieces: &[Piece], marks: (&str, &str)) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Same(text) => text.clone(),
            Piece::Changed(text) => format!("{}{text}{}", marks.0, marks.1),
            Piece::Left(count) => format!("<{count}>"),
        };
        pieces.iter().map(piece).collect()
    }

    fn check(before: &str, after: &str, expected: Option<(&str, &str)>) {
        let found = inside(before, after);
        let found = found.map(|found| {
            (
                told(&found.before, ("[-", "-]")),
                told(&found.after, ("{+", "+}")),
            )
        });
        let expected = expected.map(|(left, right)| (left.to_owned(), right.to_owned()));
        assert_eq!(found, expected);
    }

    const TEXT: &str =
        "a red fox in the snow, seen from above, in the light of a winter morning, very sharp";

    #[test]
    fn the_words_that_changed_are_marked() {
        check(
            TEXT,
            &TEXT.replace("red", "grey").replace("winter ", ""),
            Some((
                "a [-red-] fox in the snow, seen from above, in the light of a[- winter-] morning, very sharp",
                "a {+grey+} fox in the snow, seen from above, in the light of a morning, very sharp",
            )),
        );
        check("short", "shirt", None);
        check(&"x".repeat(90), &"y".repeat(90), None);
    }

    #[test]
    fn a_long_word_is_compared_at_its_ends_and_letters_stay_whole() {
        let word = format!("{}{}", "k".repeat(50), "ü".repeat(50));
        let other = word.replacen("kü", "köü", 1);
        let found = inside(&word, &other).unwrap();
        assert!(
            found.after.contains(&Piece::Changed("ö".into())),
            "{found:?}"
        );
        assert_eq!(found.places, 1);
    }

    #[test]
    fn what_is_the_same_is_folded_to_what_is_around_the_change() {
        let long = "word ".repeat(1000);
        let found = inside(&format!("{long}a {long}"), &format!("{long}b {long}")).unwrap();
        assert_eq!(found.before.len(), 5, "{:?}", found.before);
        assert!(
            matches!(found.before[0], Piece::Left(4940)),
            "{:?}",
            found.before
        );
        assert_eq!(found.before[2], Piece::Changed("a".into()));
    }

    #[test]
    fn more_words_than_are_compared_count_as_changed_as_a_whole() {
        let every_other = |words: usize, word: &str| -> String {
            (0..words / 4).map(|n| format!("{n} {word} ")).collect()
        };
        let places = |words| {
            let (left, right) = (every_other(words, "red"), every_other(words, "blue"));
            inside(&left, &right).unwrap().places
        };
        assert_eq!(places(MOST_WORDS), MOST_WORDS / 4);
        assert_eq!(places(2 * MOST_WORDS), 1);
    }

    #[test]
    fn a_megabyte_that_differs_everywhere_is_shown_in_part() {
        let text = |seed: u32| -> String {
            let numbers = (0..200_000_u32).map(|n| n.wrapping_mul(seed) % 977);
            numbers.map(|n| format!("{n} ")).collect()
        };
        let (left, right) = (text(7), text(11));
        assert!(left.len() > 700_000);
        let found = inside(&format!("same {left}"), &format!("same {right}")).unwrap();
        let shown: usize = found
            .before
            .iter()
            .chain(&found.after)
            .map(|piece| match piece {
                Piece::Same(text) | Piece::Changed(text) => text.len(),
                Piece::Left(_) => 0,
            })
            .sum();
        assert!(shown < 6 * MOST_CHANGED, "{shown}");
    }
}
