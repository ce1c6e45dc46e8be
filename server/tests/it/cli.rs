//! The command line says what to do, and leaves nothing behind where it refuses.

use std::process::{Command, Output};

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
