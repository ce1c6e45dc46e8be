//! The command line says what to do, and leaves nothing behind where it refuses.

use std::process::{Command, Output};

use sqlx::{ConnectOptions as _, PgPool};

use crate::house::House;

fn quittance(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quittance"))
        .args(args)
        .env_remove("DATABASE_URL")
        .output()
        .unwrap()
}

fn refused(args: &[&str]) -> String {
    let output = quittance(args);
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn verify_does_not_make_the_database_it_is_to_look_at() {
    let dir = std::env::temp_dir().join(format!("quittance-nowhere-{}", std::process::id()));
    let said = refused(&["verify", "--data-dir", dir.to_str().unwrap()]);
    assert!(said.contains("there is no database in"), "{said}");
    assert!(!dir.exists());
}

#[test]
fn names_and_reasons_are_not_empty() {
    let tenant = format!("tenant_{}", "0".repeat(32));
    let wallet = format!("wallet_{}", "0".repeat(32));
    for args in [
        vec!["tenant", "add", " "],
        vec![
            "wallet", "freeze", &wallet, "--tenant", &tenant, "--reason", "",
        ],
        vec!["api-key", "mint", "--tenant", &tenant, "--name", ""],
    ] {
        let said = refused(&args);
        assert!(said.contains("may not be empty"), "{args:?}: {said}");
    }
}

#[test]
fn amounts_below_zero_are_read_as_amounts() {
    let tenant = format!("tenant_{}", "0".repeat(32));
    let wallet = format!("wallet_{}", "0".repeat(32));
    let said = refused(&[
        "wallet", "grant", &wallet, "-5", "--key", "k", "--tenant", &tenant,
    ]);
    assert!(said.contains("above zero"), "{said}");
}

/// Imports a statement of November from a file; the exit code, and what was printed.
async fn import(address: &str, file: &str, more: &[&str]) -> (Option<i32>, String) {
    let dir = std::env::temp_dir().join(format!("quittance-statement-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("a.csv");
    std::fs::write(&path, file).unwrap();
    let mut args = vec!["statement", "import", path.to_str().unwrap()];
    args.extend(["--from", "2026-11-01", "--to", "2026-12-01"]);
    args.extend([
        "--data-dir",
        dir.to_str().unwrap(),
        "--database-url",
        address,
    ]);
    args.extend(more);
    let output = quittance(&args);
    std::fs::remove_dir_all(&dir).unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_statement_ends_with_whether_it_agrees(owner: PgPool) {
    let house = House::new(owner.clone()).await;
    house.source("acme").await;
    let address = owner.connect_options().to_url_lossy().to_string();
    let head = "reference,meter,quantity\n";
    let acme = ["--source", "acme"];
    let (code, said) = import(&address, &format!("{head}r-1,images,0\n"), &acme).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("accepted, 1 lines\n         1 matched\n"),
        "{said}"
    );
    let (code, said) = import(&address, &format!("{head}r-1,images,2\n"), &acme).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("r-1 images: stated 2, ours nothing (missing_with_us)"),
        "{said}"
    );
    assert!(said.contains("1 of 1 groups disagree"), "{said}");
    let (code, said) = import(&address, &format!("{head}r-1,images,-2\n"), &acme).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("line 2 quantity: quantity of images is negative"),
        "{said}"
    );
    assert!(said.contains("the statement is refused"), "{said}");
    let live = ["--source", "acme", "--live"];
    let (code, said) = import(&address, head, &live).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("there is no source \"acme\" of this mode"),
        "{said}"
    );
    let below = ["--source", "acme", "--absolute", "-1"];
    let (code, said) = import(&address, head, &below).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("a tolerance is not below zero"), "{said}");
    assert_eq!(house.count("SELECT count(*) FROM statements").await, 3);
}
