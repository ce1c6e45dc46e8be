//! JSON: an array of objects, or an object a line. A number is read by its digits.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    io::{self, BufRead, BufReader, Read},
};

use domain::statement::{Field, Line, Wrong};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Desk, LONGEST_LINE, Leash, Numbered, TOO_LONG, whole};

/// Reads an object a line.
pub(super) fn lines<H: FnMut(Vec<Numbered>) -> bool>(
    input: impl Read,
    desk: &mut Desk<H>,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut text = Vec::new();
    let mut number = 0;
    loop {
        number += 1;
        text.clear();
        let most = LONGEST_LINE as u64;
        if input.by_ref().take(most).read_until(b'\n', &mut text)? == 0 {
            return Ok(());
        }
        let read = if text.len() == LONGEST_LINE && text.last() != Some(&b'\n') {
            skip_line(&mut input)?;
            Err(whole(TOO_LONG))
        } else if text.trim_ascii().is_empty() {
            continue;
        } else {
            match std::str::from_utf8(&text) {
                Ok(text) => object(text),
                Err(_) => Err(whole("it is not UTF-8: save the file as UTF-8")),
            }
        };
        if !desk.take(number, read) {
            return Ok(());
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (count, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(count);
        if ended {
            return Ok(());
        }
    }
}

/// Reads an array of objects, one after the other.
pub(super) fn array<H: FnMut(Vec<Numbered>) -> bool>(
    input: impl Read,
    leash: &Leash,
    desk: &mut Desk<H>,
) -> io::Result<()> {
    leash.renew();
    let mut place = 1;
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(8192, input));
    let each = Each {
        leash,
        desk: &mut *desk,
        place: &mut place,
    };
    match json.deserialize_seq(each).and_then(|()| json.end()) {
        Ok(()) => Ok(()),
        Err(_) if desk.is_left => Ok(()),
        Err(_) if leash.is_at_its_end() => {
            desk.complain(place, None, TOO_LONG);
            Ok(())
        }
        Err(error) if error.is_io() => Err(error.into()),
        Err(error) => {
            desk.complain(
                place,
                None,
                format!("the JSON cannot be read here: {error}"),
            );
            Ok(())
        }
    }
}

/// Hands each element on as soon as it is read.
struct Each<'a, H> {
    leash: &'a Leash,
    desk: &'a mut Desk<H>,
    place: &'a mut i64,
}

impl<'de, H: FnMut(Vec<Numbered>) -> bool> Visitor<'de> for Each<'_, H> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<Box<RawValue>>()? {
            if !self.desk.take(*self.place, object(element.get())) {
                // What follows is not looked at, so it cannot be read to its end.
                return Err(A::Error::custom("nobody wants more"));
            }
            *self.place += 1;
            self.leash.renew();
        }
        Ok(())
    }
}

/// Reads one object.
fn object(text: &str) -> Result<Line, Vec<Wrong>> {
    let fields: Fields<'_> = serde_json::from_str(text)
        .map_err(|error| whole(format!("it is no object of fields: {error}")))?;
    let mut texts: [Option<Cow<'_, str>>; Field::ALL.len()] = Default::default();
    let mut wrong = Vec::new();
    let mut unknown = Vec::new();
    for (name, raw) in &fields.0 {
        let Ok(field) = name.parse::<Field>() else {
            unknown.push(format!("{:?}", name.chars().take(64).collect::<String>()));
            continue;
        };
        match text_of(raw) {
            Ok(text) => texts[field as usize] = text,
            Err(problem) => wrong.push(Wrong {
                field: Some(field),
                problem: problem.to_owned(),
            }),
        }
    }
    if !unknown.is_empty() {
        unknown.truncate(20);
        let known: Vec<_> = Field::ALL.iter().map(|field| field.as_str()).collect();
        let (unknown, known) = (unknown.join(", "), known.join(", "));
        wrong.extend(whole(format!(
            "unknown fields {unknown}; there are {known}"
        )));
    }
    if wrong.is_empty() {
        Line::read(|field| texts[field as usize].as_deref())
    } else {
        Err(wrong)
    }
}

/// The text of a value: of a string what it says, of a number its digits.
fn text_of(raw: &RawValue) -> Result<Option<Cow<'_, str>>, &'static str> {
    #[derive(serde::Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') => match serde_json::from_str::<Text<'_>>(text) {
            Ok(text) => Ok(Some(text.0)),
            Err(_) => Err("the text cannot be read"),
        },
        Some(b'-' | b'0'..=b'9') => Ok(Some(Cow::Borrowed(text))),
        Some(b'n') => Ok(None),
        _ => Err("write a text or a number"),
    }
}

/// Named raw values in which no name is repeated: one of the two would win silently.
struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Named;
        impl<'de> Visitor<'de> for Named {
            type Value = BTreeMap<String, &'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    let value = map.next_value::<&RawValue>()?;
                    if fields.contains_key(&name) {
                        return Err(A::Error::custom("a field is there twice"));
                    }
                    fields.insert(name, value);
                }
                Ok(fields)
            }
        }
        from.deserialize_map(Named).map(Fields)
    }
}
