//! Files as they come, and as they should not.

use std::io::Cursor;

use super::*;

struct Told {
    lines: Vec<Numbered>,
    reading: Reading,
}

fn told(file: impl AsRef<[u8]>) -> Told {
    let mut lines = Vec::new();
    let file = Cursor::new(file.as_ref().to_vec());
    let reading = read(file, |batch| {
        lines.extend(batch);
        true
    });
    Told {
        lines,
        reading: reading.unwrap(),
    }
}

fn quantities(file: &str) -> Vec<(i64, String)> {
    let told = told(file);
    assert_eq!(told.reading.problems, Problems::default());
    assert_eq!(told.reading.hash, Hash::of_bytes(file.as_bytes()));
    let lines = told.lines.into_iter();
    lines
        .map(|(at, line)| (at, line.quantity.to_string()))
        .collect()
}

/// `line field: problem`, of each.
fn problems(file: impl AsRef<[u8]>) -> Vec<String> {
    let file = file.as_ref();
    let told = told(file);
    assert_eq!(told.reading.hash, Hash::of_bytes(file), "read to its end");
    let problems = told.reading.problems.first.into_iter();
    problems
        .map(|one| {
            let field = one.field.map(|field| format!(" {field}"));
            format!("{}{}: {}", one.line, field.unwrap_or_default(), one.problem)
        })
        .collect()
}

fn check(file: impl AsRef<[u8]>, expected: &[&str]) {
    let found = problems(file);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found} lacks {expected}");
    }
}

#[test]
fn csv_is_read_in_any_order_of_columns() {
    let file = "\u{feff}quantity,note\r\n";
    check(file, &["1: unknown columns \"note\"; the first line names"]);
    let file =
        "\u{feff}quantity,reference,meter\r\n1.50,\"a,\"\"b\"\"\nc\",images\r\n\r\n2,r-2,images";
    check(file, &["2 reference: use 1 to 256 characters"]);
    let file = "quantity,reference,meter\r\n1.50,\"a,\"\"b\"\"\",images\r\n\r\n2,r-2,images\n\n3,r-3,images\r\n4,r-4,images";
    assert_eq!(
        quantities(file),
        [(2, "1.5"), (4, "2"), (6, "3"), (7, "4")].map(|(at, text)| (at, text.to_owned()))
    );
}

#[test]
fn json_is_read_by_its_digits() {
    let digits = "12345678.123456789012345678";
    let one = format!(r#"{{"reference":"r","meter":"images","quantity":{digits},"amount":null}}"#);
    let two = r#"{"reference":"s","meter":"images","quantity":"1e2"}"#;
    let expected = |first, second| [(first, digits.to_owned()), (second, "100".to_owned())];
    assert_eq!(quantities(&format!(" [{one},\n{two}]\n")), expected(1, 2));
    assert_eq!(quantities(&format!("{one}\n\n{two}")), expected(1, 3));
}

#[test]
fn what_is_no_statement_says_what_to_do() {
    check("", &["1: the file is empty"]);
    check(" \n", &["1: the file is empty"]);
    check("[]", &["1: the file has no line"]);
    check("reference,meter,quantity\n", &["1: the file has no line"]);
    check(
        "r-1,images,1\nr-2,images,2\n",
        &["1: unknown columns \"r-1\", \"images\", \"1\""],
    );
    check(
        "meter,quantity\nimages,1\n",
        &["1: the column reference or job"],
    );
    check(
        "reference,meter\nr,images\n",
        &["1: the columns meter and quantity"],
    );
    check(
        "reference,meter,meter\n",
        &["1: the column meter is there twice"],
    );
    check("PK\u{3}\u{4}\u{0}\u{0}", &["1: unknown columns"]);
}

#[test]
fn a_wrong_line_does_not_hide_the_next() {
    let file = b"reference,meter,quantity\nr,images\nr,images,-1\n\xff,images,1\nr,images,1,2\nr,images,1\n";
    check(
        file,
        &[
            "2: 2 cells under 3 columns",
            "3 quantity",
            "4 reference: it is not UTF-8",
            "5: 4 cells",
        ],
    );
    let file = b"{\"reference\":\"r\",\"meter\":\"images\",\"quantity\":true}\n{\"a\":1,\"b\":2}\n{\n\xff\n[1]\n{\"meter\":\"m\",\"meter\":\"m\"}";
    check(
        file,
        &[
            "1 quantity: write a text or a number",
            "2: unknown fields \"a\", \"b\"; there are id, reference",
            "3: it is no object of fields",
            "4: it is not UTF-8",
            "5: it is no object of fields",
            "6: it is no object of fields: a field is there twice",
        ],
    );
    let good = r#"{"reference":"r","meter":"images","quantity":1}"#;
    check(
        format!("[{good},7,{good},{good}"),
        &["2: it is no object", "5: the JSON cannot be read here"],
    );
    check(
        format!("[{good}] x"),
        &["2: the JSON cannot be read here: trailing"],
    );
}

#[test]
fn a_line_without_an_end_is_let_go() {
    let long = "x".repeat(3 * LONGEST_LINE);
    check(
        format!("reference,meter,quantity\n\"{long}"),
        &["2: the line is longer"],
    );
    check(format!("[{{\"id\":\"{long}"), &["1: the line is longer"]);
    let good = r#"{"reference":"r","meter":"images","quantity":1}"#;
    check(
        format!("{good}\n{{\"{long}\n{{"),
        &["2: the line is longer", "3: it is no object"],
    );
}

#[test]
fn the_first_problems_are_kept_and_all_are_counted() {
    let file = format!("reference,meter,quantity\n{}", "r,images,-1\n".repeat(1500));
    let told = told(file);
    assert_eq!(told.reading.problems.first.len(), MOST_PROBLEMS);
    assert_eq!(told.reading.problems.count, 1500);
    assert_eq!((told.reading.lines, told.lines.len()), (1500, 0));
}

#[test]
fn lines_are_handed_on_in_batches_until_nobody_wants_more() {
    let file = format!("reference,meter,quantity\n{}", "r,images,1\n".repeat(2500));
    let mut sizes = Vec::new();
    let reading = read(Cursor::new(file.clone()), |batch| {
        sizes.push(batch.len());
        true
    });
    assert_eq!(
        (sizes, reading.unwrap().lines),
        (vec![1000, 1000, 500], 2500)
    );
    let reading = read(Cursor::new(file.clone()), |_| false).unwrap();
    assert_eq!(reading.lines, 1000);
    assert_eq!(reading.hash, Hash::of_bytes(file.as_bytes()));
}
