//! `quittance signature check` as people and scripts use it.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

const VECTORS: &str = include_str!("../../domain/tests/vectors/signatures.json");

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    id: String,
    scheme: String,
    secret: Option<String>,
    #[serde(default)]
    secrets: Vec<String>,
    jwks: Option<Value>,
    headers: Vec<(String, String)>,
    body_base64: String,
    now_unix: i64,
    expect: String,
    reason: Option<String>,
}

impl Vector {
    /// The flags that ask about this request; the body goes through standard input.
    fn flags(&self) -> Vec<String> {
        let mut flags = vec!["--scheme".into(), self.scheme.clone()];
        flags.extend([
            "--at".into(),
            self.now_unix.to_string(),
            "--body".into(),
            "-".into(),
        ]);
        for secret in self.secret.iter().chain(&self.secrets) {
            flags.extend(["--secret".into(), secret.clone()]);
        }
        for (name, value) in &self.headers {
            flags.extend(["--header".into(), format!("{name}: {value}")]);
        }
        if let Some(jwks) = &self.jwks {
            let path = scratch(
                &format!("{}.jwks.json", self.id),
                jwks.to_string().as_bytes(),
            );
            flags.extend(["--jwks".into(), path.display().to_string()]);
        }
        flags
    }

    fn body(&self) -> Vec<u8> {
        STANDARD.decode(&self.body_base64).unwrap()
    }
}

struct Answer {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs `quittance signature check` with `flags` and `body` on standard input.
fn ask<S: AsRef<std::ffi::OsStr>>(flags: impl IntoIterator<Item = S>, body: &[u8]) -> Answer {
    let mut child = Command::new(env!("CARGO_BIN_EXE_quittance"))
        .args(["signature", "check"])
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A question refused for its flags is answered without reading the body.
    let _unread = stdin.write_all(body);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    Answer {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn scratch(name: &str, content: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn vector(id: &str) -> Vector {
    let file: File = serde_json::from_str(VECTORS).unwrap();
    file.vectors
        .into_iter()
        .find(|vector| vector.id == id)
        .unwrap()
}

#[test]
fn every_vector_is_answered_with_its_verdict() {
    let file: File = serde_json::from_str(VECTORS).unwrap();
    assert!(!file.vectors.is_empty());
    for vector in file.vectors {
        let answer = ask(vector.flags(), &vector.body());
        let (status, first_line) = match &vector.reason {
            None => (0, "accept".to_owned()),
            Some(reason) => (1, format!("reject: {reason}")),
        };
        assert_eq!(status == 0, vector.expect == "accept", "{}", vector.id);
        assert_eq!(
            answer.stdout.lines().next(),
            Some(first_line.as_str()),
            "{}",
            vector.id
        );
        assert_eq!(answer.status, Some(status), "{}", vector.id);
        assert_eq!(answer.stderr, "", "{}", vector.id);
        // A refusal says what to look at; an acceptance needs no more words.
        assert_eq!(
            answer.stdout.lines().count() > 1,
            status == 1,
            "{}",
            vector.id
        );
    }
}

#[test]
fn the_body_is_read_from_a_file_byte_for_byte() {
    let vector = vector("sw-valid-crlf-trailing-newline");
    let file = scratch("crlf.json", &vector.body());
    let mut flags = vector.flags();
    let dash = flags.iter().position(|flag| flag == "-").unwrap();
    flags[dash] = file.display().to_string();
    assert_eq!(ask(flags, b"").stdout, "accept\n");
}

#[test]
fn secrets_are_read_from_a_file_too() {
    let vector = vector("sw-valid-compact");
    let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let secret = vector.secret.as_deref().unwrap();
    let file = scratch("secrets.txt", format!("{other}\r\n\n{secret}\n").as_bytes());
    let mut flags = vector.flags();
    let at = flags.iter().position(|flag| flag == "--secret").unwrap();
    flags[at] = "--secret-file".into();
    flags[at + 1] = file.display().to_string();
    assert_eq!(ask(flags, &vector.body()).stdout, "accept\n");
}

#[test]
fn senders_that_do_not_sign_are_answered_for() {
    let header = [
        "--scheme",
        "static-header",
        "--secret",
        "x-hook: Bearer 0123456789abcdef",
    ];
    let body = ["--body", "-"];
    let with = |value| [&header[..], &body, &["--header", value]].concat();
    assert_eq!(
        ask(with("X-Hook:  Bearer 0123456789abcdef "), b"{}").stdout,
        "accept\n"
    );
    let wrong = ask(with("X-Hook: Bearer 0"), b"{}");
    assert!(
        wrong.stdout.starts_with("reject: token_mismatch\n"),
        "{}",
        wrong.stdout
    );

    let token = [
        "--scheme",
        "url-token",
        "--secret",
        "-123456789abcdef",
        "--body",
        "-",
        "--token",
    ];
    assert_eq!(
        ask([&token[..], &["-123456789abcdef"]].concat(), b"{}").status,
        Some(0)
    );
    assert_eq!(
        ask([&token[..], &["-123456789abcdeF"]].concat(), b"{}").status,
        Some(1)
    );
    let none = ask(&token[..token.len() - 1], b"{}");
    assert!(
        none.stdout.starts_with("reject: missing_token\n"),
        "{}",
        none.stdout
    );
}

#[test]
fn tolerance_and_clock_can_be_given_or_left_out() {
    let vector = vector("sw-expired-301");
    let mut flags = vector.flags();
    flags.extend(["--tolerance".into(), "301".into()]);
    assert_eq!(ask(&flags, &vector.body()).stdout, "accept\n");

    // Left out, the clock is this machine's: then this request is either too old or too new.
    let at = flags.iter().position(|flag| flag == "--at").unwrap();
    flags.drain(at..at + 2);
    let answer = ask(&flags, &vector.body());
    assert!(
        answer.stdout.starts_with("reject: timestamp_too_"),
        "{}",
        answer.stdout
    );
}

/// Wrong usage is never reported as a verdict: nothing on standard output, status 2, and a message
/// that says what to do without repeating the secret.
fn assert_wrong_usage(flags: &[&str], message: &str) {
    let answer = ask(flags, b"{}");
    assert_eq!(answer.status, Some(2), "{flags:?}: {}", answer.stderr);
    assert_eq!(answer.stdout, "", "{flags:?}");
    assert!(
        answer.stderr.contains(message),
        "{flags:?}: {}",
        answer.stderr
    );
    assert!(
        !answer.stderr.contains("AAAAAAAAAAAA"),
        "{flags:?}: {}",
        answer.stderr
    );
}

const STANDARD_SCHEME: &str = "standard-webhooks-v1";
const GOOD: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

#[test]
fn an_unusable_secret_is_wrong_usage() {
    let with = |scheme, secrets: &[&str], message| {
        let mut flags = vec!["--scheme", scheme, "--body", "-"];
        secrets
            .iter()
            .for_each(|secret| flags.extend(["--secret", secret]));
        assert_wrong_usage(&flags, message);
    };
    with(STANDARD_SCHEME, &[], "no secret or key is given");
    with(
        STANDARD_SCHEME,
        &[""],
        "secret 1 cannot be used: the secret is empty",
    );
    with(
        STANDARD_SCHEME,
        &["whsec_"],
        "secret 1 cannot be used: the secret is empty",
    );
    with(
        STANDARD_SCHEME,
        &[GOOD, "whsec_c2hvcnQ="],
        "secret 2 cannot be used: the secret is only 5",
    );
    with(STANDARD_SCHEME, &["whsec_not base64"], "white space");
    with(STANDARD_SCHEME, &["whsec_!!"], "not standard base64");
    with(STANDARD_SCHEME, &["whpk_AAAA"], "standard-webhooks-v1a");
    with(
        "standard-webhooks-v1a",
        &[GOOD],
        "give the public key (whpk_…)",
    );
    with("fal-ed25519", &[GOOD], "JWKS");
    with("static-header", &[GOOD], "name: value");
    with("stripe", &["whsec_short"], "only 5 bytes");
    let file = scratch("binary.txt", b"\xff\xfe").display().to_string();
    let flags = [
        "--scheme",
        STANDARD_SCHEME,
        "--secret-file",
        &file,
        "--body",
        "-",
    ];
    assert_wrong_usage(&flags, "cannot be read");
}

#[test]
fn an_unusable_key_set_is_wrong_usage() {
    let with = |scheme, path: &str, message| {
        assert_wrong_usage(
            &["--scheme", scheme, "--jwks", path, "--body", "-"],
            message,
        );
    };
    let empty = scratch("empty.json", b"{\"keys\":[]}")
        .display()
        .to_string();
    let broken = scratch("broken.json", b"[").display().to_string();
    with("fal-ed25519", &empty, "no usable Ed25519 key");
    with("fal-ed25519", &broken, "not JSON");
    with(
        "fal-ed25519",
        "/nonexistent",
        "`/nonexistent` cannot be read",
    );
    with(STANDARD_SCHEME, &empty, "does not use a key set");
}

#[test]
fn a_malformed_flag_is_wrong_usage() {
    let good = ["--scheme", STANDARD_SCHEME, "--secret", GOOD, "--body", "-"];
    let with = |more: &[&str], message| assert_wrong_usage(&[&good[..], more].concat(), message);
    with(&["--header", "no colon"], "name: value");
    with(&["--header", ": value"], "name: value");
    with(&["--header", "a b: value"], "name: value");
    with(&["--at", "noon"], "--at");
    with(&["--tolerance", "0.5"], "--tolerance");
    with(&["--frob"], "--frob");
    assert_wrong_usage(&good[..4], "--body");
    assert_wrong_usage(&good[2..], "--scheme");
    assert_wrong_usage(
        &[&good[..4], &["--body", "/nonexistent"]].concat(),
        "`/nonexistent` cannot be read",
    );
    let unknown = ["--scheme", "standard", "--secret", GOOD, "--body", "-"];
    assert_wrong_usage(&unknown, "unknown scheme `standard`");
}
