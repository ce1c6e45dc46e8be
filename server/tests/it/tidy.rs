//! The shape of the workspace and of the schema: what a reviewer would otherwise have to remember.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sqlx::PgPool;

const MAX_LINES: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file with this ending below the folders, with its path from the root.
fn files(folders: &[&str], ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<_> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .map(Result::unwrap)
        {
            let path = entry.path();
            if path.is_dir() {
                if entry.file_name() != "target" && entry.file_name() != "node_modules" {
                    open.push(path);
                }
            } else if path.to_string_lossy().ends_with(ending) {
                let text = fs::read_to_string(&path).unwrap();
                let name = path
                    .strip_prefix(root())
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                found.push((name, text));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

const SOURCES: [&str; 4] = ["app", "frontend", "server", ".ci/xtask"];

/// Fails with every file that breaks a rule, not only the first.
fn nobody(rule: &str, breaks: impl Iterator<Item = String>) {
    let breaks: Vec<_> = breaks.collect();
    assert!(breaks.is_empty(), "{rule}:\n  {}", breaks.join("\n  "));
}

/// The words of a text, as code sees them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

#[test]
fn files_stay_short_and_say_what_they_are_for() {
    let sources = files(&SOURCES, ".rs");
    let long = sources
        .iter()
        .filter(|(_, text)| text.lines().count() > MAX_LINES);
    nobody(
        "files have at most 400 lines; split by noun or by step",
        long.map(|(name, text)| format!("{name} has {}", text.lines().count())),
    );
    let silent = sources.iter().filter(|(_, text)| !text.starts_with("//!"));
    nobody(
        "a file starts with `//!`",
        silent.map(|(name, _)| name.clone()),
    );
    let nested = sources
        .iter()
        .filter(|(name, _)| name.ends_with("/mod.rs") && !name.contains("/tests/"));
    nobody(
        "`foo.rs` stands beside `foo/`",
        nested.map(|(name, _)| name.clone()),
    );
}

#[test]
fn the_arrows_between_crates_never_turn_back() {
    let depends = |manifest: &str, on: &[&str]| {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        let lines = text
            .lines()
            .filter_map(|line| line.split(['.', '=', ' ']).next());
        let names: Vec<_> = lines.map(str::to_owned).collect();
        on.iter()
            .filter(|name| names.iter().any(|line| line == *name))
            .map(|name| format!("{manifest} names {name}"))
            .collect::<Vec<_>>()
    };
    let wrong = [
        depends(
            "server/domain/Cargo.toml",
            &[
                "engine",
                "app",
                "server",
                "sqlx",
                "tokio",
                "axum",
                "leptos",
                "rand",
                "getrandom",
            ],
        ),
        depends(
            "server/engine/Cargo.toml",
            &["app", "server", "axum", "leptos", "reqwest"],
        ),
        depends("app/Cargo.toml", &["server", "axum", "sqlx", "reqwest"]),
        depends(
            "frontend/Cargo.toml",
            &["engine", "server", "domain", "sqlx", "uuid"],
        ),
        depends(
            "server/embedded/Cargo.toml",
            &["engine", "app", "server", "domain"],
        ),
    ];
    nobody("arrows never turn back", wrong.into_iter().flatten());
}

#[test]
fn sql_stands_in_stores_and_views_only() {
    let allowed = |name: &str| {
        let part = |part: &str| {
            let stem = part.strip_suffix(".rs").unwrap_or(part);
            stem == "store" || stem == "views"
        };
        // The pool is opened in one; the other writes the keyset clause that views share.
        let shared = ["server/engine/src/database.rs", "server/engine/src/page.rs"];
        shared.contains(&name) || name.split('/').any(part)
    };
    let sources = files(&["server/src", "server/engine/src", "app/src"], ".rs");
    let elsewhere = sources.iter().filter(|(name, text)| {
        !allowed(name)
            && ["sqlx::query", "QueryBuilder", ".execute(\""]
                .iter()
                .any(|sql| text.contains(sql))
    });
    nobody(
        "SQL stands in store.rs and views.rs",
        elsewhere.map(|(name, _)| name.clone()),
    );
}

#[test]
fn no_float_comes_near_money() {
    let sources = files(
        &[
            "server/domain/src",
            "server/engine/src",
            "server/src/http/api",
        ],
        ".rs",
    );
    // Reading JSON that is only checked for its form meets numbers, and keeps none of them.
    let floats = sources
        .iter()
        .filter(|(name, _)| !name.contains("/signature/"))
        .filter(|(_, text)| words(text).any(|word| word == "f32" || word == "f64"));
    nobody(
        "money and quantities are decimals",
        floats.map(|(name, _)| name.clone()),
    );
}

#[test]
fn what_is_known_to_be_unsafe_in_pages_is_not_used() {
    let this = "server/tests/it/tidy.rs";
    let sources = files(&SOURCES, ".rs");
    let uses = |needle: &'static str, but: &'static str| {
        let sources = sources
            .iter()
            .filter(move |(name, text)| name != but && name != this && text.contains(needle));
        sources
            .map(move |(name, _)| format!("{name} uses {needle}"))
            .collect::<Vec<_>>()
    };
    let found = [
        // Leptos 0.8 renders its children unescaped.
        uses("<textarea", "app/src/ui/form.rs"),
        // A GET that writes defeats SameSite=Lax.
        uses("GetUrl", ""),
        uses("GetCbor", ""),
        // The wrapper around the textarea encodes what it writes.
        uses("inner_html=", "app/src/ui/form.rs"),
        uses("#[allow(", ""),
    ];
    nobody("there is a safe way", found.into_iter().flatten());
}

/// Texts of one column, one a row.
async fn ask(owner: &PgPool, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(owner).await.unwrap()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn every_table_and_column_is_commented(owner: PgPool) {
    let silent = ask(
        &owner,
        "SELECT c.relname || coalesce('.' || a.attname, '')
         FROM pg_class c
         LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
           AND c.relname <> '_sqlx_migrations'
           AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL)",
    );
    nobody("tables and columns are commented", silent.await.into_iter());
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn keys_of_tenant_data_lead_with_the_tenant(owner: PgPool) {
    let others = ask(
        &owner,
        "SELECT c.relname || ': ' || k.relname
         FROM pg_index i
         JOIN pg_class c ON c.oid = i.indrelid
         JOIN pg_class k ON k.oid = i.indexrelid
         JOIN pg_attribute t ON t.attrelid = c.oid AND t.attname = 'tenant_id' AND t.attnotnull
         WHERE c.relnamespace = 'public'::regnamespace AND i.indisunique AND i.indkey[0] <> t.attnum",
    );
    nobody("unique keys lead with tenant_id", others.await.into_iter());
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_application_cannot_rewrite_history(owner: PgPool) {
    let guarded = ask(
        &owner,
        "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'append_only_rows'",
    )
    .await;
    for table in [
        "settlements",
        "transfers",
        "lot_draws",
        "job_transitions",
        "price_versions",
        "conflicts",
        "case_decisions",
        "provider_references",
        "job_corrections",
        "exception_notes",
        "exception_acceptances",
        "statements",
        "statement_lines",
        "statement_errors",
        "freeze_rules",
        "audit_log",
        "seals",
        "sealed_unmoved",
    ] {
        assert!(
            guarded.iter().any(|guarded| guarded == table),
            "{table} is append-only"
        );
    }
    let granted = ask(
        &owner,
        "SELECT t.tgrelid::regclass || ': ' || p.privilege
         FROM pg_trigger t
         CROSS JOIN (VALUES ('UPDATE'), ('DELETE'), ('TRUNCATE')) AS p (privilege)
         WHERE t.tgname = 'append_only_rows'
           AND (has_table_privilege('quittance_app', t.tgrelid, p.privilege)
                OR p.privilege = 'UPDATE' AND has_any_column_privilege('quittance_app', t.tgrelid, 'UPDATE'))",
    );
    nobody("history is not granted away", granted.await.into_iter());
    let owned = ask(
        &owner,
        "SELECT relname::text FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relowner = 'quittance_app'::regrole",
    );
    nobody("the application owns nothing", owned.await.into_iter());
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_currency_table_is_the_domains(owner: PgPool) {
    let stored: Vec<(String, i16, i16)> = sqlx::query_as(
        "SELECT currency, minor_exponent, ledger_exponent FROM currencies ORDER BY currency",
    )
    .fetch_all(&owner)
    .await
    .unwrap();
    let known: Vec<_> = domain::money::Currency::all()
        .map(|currency| {
            let digits = |exponent| i16::try_from(exponent).unwrap();
            (
                currency.code().to_owned(),
                digits(currency.minor_exponent()),
                digits(currency.ledger_exponent()),
            )
        })
        .collect();
    assert_eq!(stored, known);
}
