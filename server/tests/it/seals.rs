//! Seals from outside: noted, compared, shown, and proven without a database.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use axum::{
    body::Body,
    http::{Request, header},
};
use engine::seal::{MOST, Round, Sealer, views};
use sqlx::{ConnectOptions as _, PgPool};

use crate::house::{House, PASSWORD};

/// Runs the program, with a database or with none.
fn quittance(pool: Option<&PgPool>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quittance"));
    command.args(args).env_remove("DATABASE_URL");
    if let Some(pool) = pool {
        let url = pool.connect_options().to_url_lossy();
        command.env("DATABASE_URL", url.as_str());
    }
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(text).unwrap()
}

fn done(pool: Option<&PgPool>, args: &[&str]) -> String {
    let output = quittance(pool, args);
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    said(&output)
}

fn refused(pool: Option<&PgPool>, args: &[&str]) -> String {
    let output = quittance(pool, args);
    assert!(!output.status.success(), "{args:?}: {}", said(&output));
    said(&output)
}

/// Seals until nothing is left to seal.
async fn seal(house: &House) {
    let mut sealer = Sealer::new(house.engine.clone(), MOST);
    while sealer.round().await.unwrap() != (Round::Nothing { waiting: false }) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// A house with a job, all of it sealed; the newest seal's number and root, and the job's settlement.
async fn sealed(owner: PgPool) -> (House, String, String, String) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    house.submitted("r1", "3").await;
    seal(&house).await;
    let mut conn = house.engine.pool().acquire().await.unwrap();
    let newest = views::newest(&mut conn).await.unwrap().unwrap();
    let reserve = "SELECT 'stl_' || replace(settlement_id::text, '-', '') FROM settlements WHERE phase = 'reserve'";
    let settlement = sqlx::query_scalar(reserve).fetch_one(&mut *conn).await;
    let (number, root) = (newest.number.to_string(), newest.root.to_string());
    (house, number, root, settlement.unwrap())
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn verify_prints_the_newest_seal_and_takes_back_what_was_noted(owner: PgPool) {
    let (house, number, root, _) = sealed(owner).await;
    let pool = Some(&house.owner);
    let text = done(pool, &["verify"]);
    let line = format!("seals: {number}, the newest over 2 leaves with the root {root}");
    assert!(text.contains(&line), "{text}");
    assert!(text.contains("ok    seals_hold"), "{text}");
    let noted = ["verify", "--seal", &number, "--root", &root];
    let text = done(pool, &noted);
    assert!(text.contains("has the root that was noted"), "{text}");

    let text = refused(pool, &["verify", "--seal", "99", "--root", &root]);
    assert!(text.contains("no seal 99"), "{text}");
    let text = refused(pool, &["verify", "--seal", &number]);
    assert!(text.contains("--root"), "{text}");

    // Changed and sealed anew, only what was noted knows.
    sqlx::raw_sql(
        "SET session_replication_role = replica; DELETE FROM seals;
         UPDATE settlements SET settled_at = settled_at + interval '1 day';
         SET session_replication_role = DEFAULT",
    )
    .execute(&house.owner)
    .await
    .unwrap();
    seal(&house).await;
    done(pool, &["verify"]);
    let text = refused(pool, &noted);
    assert!(
        text.contains("history was changed") || text.contains("no seal"),
        "{text}"
    );
}

/// A file that is gone when the test is.
struct Paper(PathBuf);

impl Paper {
    fn with(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("quittance-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn check(&self) -> [&str; 3] {
        ["seal", "check", self.0.to_str().unwrap()]
    }
}

impl Drop for Paper {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_proof_is_checked_without_a_database(owner: PgPool) {
    let (house, number, root, settlement) = sealed(owner).await;
    let pool = Some(&house.owner);
    let proof = done(pool, &["seal", "proof", &settlement]);
    let under = ["seal", "proof", &settlement, "--seal", &number];
    assert!(done(pool, &under).contains(&root));
    let text = refused(pool, &["seal", "proof", &settlement, "--seal", "99"]);
    assert!(text.contains("which is not there"), "{text}");
    let text = done(None, &Paper::with("proof.json", &proof).check());
    assert!(text.contains(&settlement), "{text}");
    assert!(text.contains(&format!("seal {number}: ")), "{text}");
    assert!(text.contains(&root), "{text}");

    assert!(proof.contains(r#""amount": "0.12""#), "{proof}");
    let richer = proof.replace(r#""amount": "0.12""#, r#""amount": "0.02""#);
    let text = refused(None, &Paper::with("changed.json", &richer).check());
    assert!(text.contains("does not lead to the root"), "{text}");
    let text = refused(None, &Paper::with("none.json", "{}").check());
    assert!(
        text.contains("is not what `quittance seal proof` prints"),
        "{text}"
    );

    house.submitted("r2", "1").await;
    let newest = "SELECT 'stl_' || replace(max(settlement_id::text), '-', '') FROM settlements";
    let newest: String = sqlx::query_scalar(newest)
        .fetch_one(&house.owner)
        .await
        .unwrap();
    let text = refused(pool, &["seal", "proof", &newest]);
    assert!(text.contains("is not sealed yet"), "{text}");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_settlement_leads_to_its_seal(owner: PgPool) {
    let (house, number, root, settlement) = sealed(owner).await;
    house.operator().await;
    let form = format!(
        "email=anna%40example.org&password={}&back=/",
        PASSWORD.replace(' ', "+")
    );
    let request = Request::post("/sign-in")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(form))
        .unwrap();
    let answer = house.send(request).await;
    let cookie = answer
        .header("set-cookie")
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let page = async |path: String| {
        let request = Request::get(&path).header(header::COOKIE, &cookie);
        let answer = house.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 200, "{path}");
        answer.text
    };
    let settlement = page(format!("/settlements/{settlement}")).await;
    let below: i64 = number.parse::<i64>().unwrap() + 1;
    let href = format!("/seals?page=o{below:x}");
    assert!(settlement.contains(&href), "{settlement}");
    for path in [href, "/seals".to_owned()] {
        let seals = page(path).await;
        assert!(seals.contains(&format!("id=\"seal_{number}\"")), "{seals}");
        assert!(seals.contains(&root[60..]), "{seals}");
    }
}
