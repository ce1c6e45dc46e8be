//! Statements: taken in whole or not at all, once, and held against our usage by every run.

mod accepted;
mod guards;
mod long;
mod matching;

use std::io::Cursor;

use chrono::TimeDelta;
use domain::{
    exception::{Cause, Class, State},
    id::{JobId, StatementId},
    statement::{Outcome, Tolerance},
};
use engine::{
    exception::views::{self as exceptions, Exception, Filter},
    page::Cursor as Place,
    reconcile::Tally,
    statement::{
        ImportError, Imported, NewStatement,
        views::{self, Statement},
    },
};
use sqlx::PgPool;

use crate::bench::{Bench, Order, by, corrected, failed, succeeded};

const HEAD: &str = "reference,meter,quantity,occurred_at\n";

/// A statement of November, in which every story plays.
fn november(bench: &Bench) -> NewStatement {
    NewStatement {
        key: StatementId(bench.engine.mint()),
        source: "acme".into(),
        livemode: true,
        period: "2026-11-01/2026-12-01".parse().unwrap(),
        tolerance: Tolerance::default(),
        file_name: "acme.csv".into(),
    }
}

async fn try_import(
    bench: &Bench,
    new: &NewStatement,
    file: &str,
) -> Result<Imported, ImportError> {
    let file = Cursor::new(file.to_owned());
    bench.engine.import_statement(new, file, None).await
}

async fn import(bench: &Bench, file: &str) -> Statement {
    let imported = try_import(bench, &november(bench), file).await.unwrap();
    imported.statement
}

/// `reference meter outcome ours theirs`, one a line, of what does not match.
async fn groups(bench: &Bench, statement: &Statement) -> String {
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let page = views::groups(&mut conn, statement.id, None, Place::Newest);
    let text = |value: Option<rust_decimal::Decimal>| {
        value.map_or_else(|| "-".into(), |value| value.to_string())
    };
    let rows = page.await.unwrap().rows.into_iter();
    rows.map(|row| {
        let (ours, theirs) = (text(row.ours), text(row.theirs));
        let (reference, meter, outcome) = (row.reference, row.meter, row.outcome);
        format!("{reference} {meter} {outcome} {ours} {theirs}\n")
    })
    .collect()
}

async fn counts(bench: &Bench, statement: &Statement) -> Vec<(Outcome, i64)> {
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let statement = views::find(&mut conn, statement.id).await.unwrap().unwrap();
    let (_, tally) = statement.check.unwrap();
    let all = Outcome::ALL
        .iter()
        .map(|outcome| (*outcome, tally.of(*outcome)));
    all.filter(|(_, groups)| *groups > 0).collect()
}

async fn run(bench: &Bench) -> Tally {
    let run = bench.engine.reconcile(Cause::Scheduled, None, None).await;
    run.unwrap()
}

async fn open(bench: &Bench) -> Vec<Exception> {
    let filter = Filter {
        state: Some(State::Open),
        class: Some(Class::StatedUsage),
        ..Filter::default()
    };
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let page = exceptions::list(&mut conn, &filter, Place::Newest).await;
    let mut rows = page.unwrap().rows;
    rows.sort_by(|a, b| a.subject.cmp(&b.subject));
    rows
}

async fn job(bench: &Bench, reference: &'static str) -> JobId {
    let order = Order {
        reference: Some(reference),
        ..Order::default()
    };
    bench.order(10, order).await
}

/// A job of this reference that used so many images in November.
async fn used(bench: &Bench, reference: &'static str, images: u32) -> JobId {
    let job = job(bench, reference).await;
    bench.hear(&succeeded(reference, job, images, 1)).await;
    bench.settle().await;
    job
}

async fn bench(pool: PgPool) -> Bench {
    let bench = Bench::new(pool).await;
    bench.grant("1000", None).await;
    bench
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_both_sides_say_alike_matches_however_it_is_written(pool: PgPool) {
    let bench = bench(pool).await;
    used(&bench, "r-1", 4).await;
    let two = used(&bench, "r-2", 5).await;
    let sourceless = bench.submit(3).await;
    bench.hear(&succeeded("s", sourceless, 3, 1)).await;
    bench.settle().await;
    let file = format!(
        r#"[{{"reference": "r-1", "meter": "images", "quantity": 4.000, "amount": "0.10", "currency": "USD"}},
            {{"id": 1, "reference": "r-2", "meter": "images", "quantity": "2"}},
            {{"id": 2, "job": "{two}", "meter": "images", "quantity": 3e0}},
            {{"job": "{sourceless}", "meter": "images", "quantity": 3}}]"#
    );
    let statement = import(&bench, &file).await;
    assert_eq!((statement.accepted, statement.lines), (true, 4));
    assert_eq!(counts(&bench, &statement).await, [(Outcome::Matched, 3)]);
    assert_eq!(groups(&bench, &statement).await, "");
    assert_eq!(run(&bench).await.found, 0);
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let charged = views::charged(&mut conn, statement.id).await.unwrap();
    assert_eq!(charged, [("USD".to_owned(), "0.1".to_owned())]);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_disagreement_is_one_exception_that_ages_and_closes_itself(pool: PgPool) {
    let bench = bench(pool).await;
    let differs = used(&bench, "r-1", 4).await;
    used(&bench, "r-2", 5).await;
    used(&bench, "r-3", 1).await;
    job(&bench, "r-4").await;
    let nothing = job(&bench, "r-5").await;
    bench.hear(&failed("f", nothing, 2)).await;
    bench.settle().await;
    let lines = "r-1,images,7,\nr-3,images,1,\nr-4,images,2,\nr-5,images,6,\nr-9,images,3,\n";
    let first = import(&bench, &format!("{HEAD}{lines}")).await;
    let expected = "r-1 images differs 4 7
r-2 images missing_with_provider 5 -
r-4 images timing - 2
r-5 images missing_with_us - 6
r-9 images missing_with_us - 3
";
    assert_eq!(groups(&bench, &first).await, expected);

    assert_eq!(run(&bench).await.opened, 4);
    bench.engine.clock().advance(TimeDelta::minutes(5));
    let aged = run(&bench).await;
    assert_eq!((aged.found, aged.opened, aged.closed), (4, 0, 0));
    let found = open(&bench).await;
    let subjects: Vec<_> = found.iter().map(|one| one.subject.as_str()).collect();
    let at = |reference| format!("acme live 2026-11-01/2026-12-01 images {reference}");
    assert_eq!(subjects, ["r-1", "r-2", "r-5", "r-9"].map(at));
    assert_eq!(found[0].times_seen, 2);
    assert_eq!(found[0].tenant.as_ref().unwrap().0, bench.tenant);
    assert_eq!(found[0].difference(), Some((-3).into()));
    let said = "acme states 7 images for r-1, we have 4, from 2026-11-01 to 2026-12-01";
    assert_eq!(found[0].detail, said);

    // The provider's event of the right usage, and a corrected statement, close what they put right.
    bench
        .hear(&corrected("c", differs, 7, 2, 60 * 24 * 3))
        .await;
    bench.settle().await;
    assert_eq!(run(&bench).await.closed, 1);
    let lines = "r-1,images,7,\nr-2,images,5,\nr-3,images,1,\nr-4,images,2,\n";
    let second = import(&bench, &format!("{HEAD}{lines}")).await;
    let matched = [(Outcome::Matched, 3), (Outcome::Timing, 1)];
    assert_eq!(counts(&bench, &second).await, matched);
    let last = run(&bench).await;
    assert_eq!((last.found, last.closed), (0, 3));

    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let first = views::find(&mut conn, first.id).await.unwrap().unwrap();
    assert_eq!(first.superseded_by, Some(second.id));
    let key = found[0].subject.parse().unwrap();
    assert_eq!(views::group(&mut conn, &key).await.unwrap(), None);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_differs_by_no_more_than_was_allowed_does_not_alarm(pool: PgPool) {
    let bench = bench(pool).await;
    used(&bench, "r-1", 4).await;
    used(&bench, "r-2", 10).await;
    let file = format!("{HEAD}r-1,images,4.5,\nr-2,images,9,\n");
    let with = |absolute: &str, relative: &str| NewStatement {
        tolerance: Tolerance::new(absolute.parse().unwrap(), relative.parse().unwrap()).unwrap(),
        ..november(&bench)
    };
    for (absolute, relative, alarms) in [
        ("0", "0", 2),
        ("0.5", "0", 1),
        ("0", "0.1", 1),
        ("0.5", "0.1", 0),
    ] {
        let imported = try_import(&bench, &with(absolute, relative), &file)
            .await
            .unwrap();
        assert!(imported.is_new, "other terms are another statement");
        let (_, tally) = imported.statement.check.unwrap();
        assert_eq!(
            (tally.groups(), tally.alarms()),
            (2, alarms),
            "{absolute} {relative}"
        );
        assert_eq!(run(&bench).await.found, usize::try_from(alarms).unwrap());
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn work_at_the_edge_of_a_period_is_timing_until_all_is_told(pool: PgPool) {
    let bench = bench(pool).await;
    let december = 60 * 12;
    let late = job(&bench, "r-1").await;
    bench.hear(&succeeded("a", late, 7, december)).await;
    let moved = used(&bench, "r-2", 4).await;
    // What is corrected in December was done in November.
    bench.hear(&corrected("c", moved, 5, 2, december)).await;
    bench.settle().await;

    let first = import(&bench, &format!("{HEAD}r-1,images,3,\nr-2,images,5,\n")).await;
    assert_eq!(groups(&bench, &first).await, "r-1 images timing - 3\n");
    let in_december = NewStatement {
        period: "2026-12-01/2027-01-01".parse().unwrap(),
        ..november(&bench)
    };
    let file = format!("{HEAD}r-1,images,4,\n");
    let second = try_import(&bench, &in_december, &file).await.unwrap();
    assert_eq!(
        groups(&bench, &second.statement).await,
        "r-1 images timing 7 4\n"
    );
    assert_eq!(run(&bench).await.found, 0);
    // What the two say together is more than was done.
    let again = NewStatement {
        key: StatementId(bench.engine.mint()),
        ..in_december
    };
    let file = format!("{HEAD}r-1,images,6,\n");
    let third = try_import(&bench, &again, &file).await.unwrap();
    assert_eq!(
        groups(&bench, &third.statement).await,
        "r-1 images differs 7 6\n"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_statement_with_a_wrong_line_counts_for_nothing(pool: PgPool) {
    let bench = bench(pool).await;
    used(&bench, "r-1", 4).await;
    let good = import(&bench, &format!("{HEAD}r-1,images,4,\n")).await;
    let lines = "r-1,images,9,\nr-2,images,-1,\nr-1,images,2,\nr-3,images,0,yesterday\n";
    let bad = import(&bench, &format!("{HEAD}{lines}")).await;
    assert_eq!((bad.accepted, bad.lines, bad.errors), (false, 4, 3));
    assert_eq!((bad.check, bad.superseded_by), (None, None));
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let errors = views::errors(&mut conn, bad.id).await.unwrap();
    let errors: Vec<_> = errors
        .iter()
        .map(|error| (error.line, error.problem.as_str()))
        .collect();
    assert_eq!(
        errors,
        [
            (3, "quantity of images is negative"),
            (
                4,
                "it has the work, meter and time of line 2: leave one of them out, or give each its id"
            ),
            (5, "write the time like 2026-11-30T12:00:00Z"),
        ]
    );
    let lines = "SELECT count(*) FROM statement_lines";
    let lines: i64 = sqlx::query_scalar(lines)
        .fetch_one(&bench.owner)
        .await
        .unwrap();
    assert_eq!(lines, 1);
    assert_eq!(run(&bench).await.found, 0, "the one before still counts");
    assert_eq!(counts(&bench, &good).await, [(Outcome::Matched, 1)]);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_same_file_is_the_same_statement_however_often_it_is_sent(pool: PgPool) {
    let bench = bench(pool).await;
    let who = bench.operator("ann").await;
    let file = format!("{HEAD}r-1,images,4,\n");
    let new = november(&bench);
    let (one, two, three) = tokio::join!(
        try_import(&bench, &new, &file),
        try_import(&bench, &new, &file),
        async { try_import(&bench, &november(&bench), &file).await },
    );
    let all = [one.unwrap(), two.unwrap(), three.unwrap()];
    assert_eq!(all.iter().filter(|one| one.is_new).count(), 1);
    assert!(
        all.iter()
            .all(|one| one.statement.id == all[0].statement.id)
    );
    let refused = import(&bench, "nonsense").await;
    assert!(!refused.accepted);
    assert_eq!(import(&bench, "nonsense").await.id, refused.id);

    // Of two files under one key the first to be read is the statement.
    let (new, other) = (november(&bench), format!("{file}r-2,images,1,\n"));
    let file = format!("{file}r-3,images,1,\n");
    let (one, two) = tokio::join!(
        try_import(&bench, &new, &file),
        try_import(&bench, &new, &other),
    );
    let used = [&one, &two].map(|one| matches!(one, Err(ImportError::KeyUsed)));
    assert_ne!(used[0], used[1], "{one:?} {two:?}");
    let file = if used[0] { other } else { file };
    let again = (0..4).map(|_| try_import(&bench, &new, &file));
    for checked in futures::future::join_all(again).await {
        let (_, tally) = checked.unwrap().statement.check.unwrap();
        assert_eq!(
            tally.of(Outcome::MissingWithUs),
            2,
            "checks wait for one another"
        );
    }
    let by_person = november(&bench);
    let file = Cursor::new(format!("{HEAD}r-7,images,4,\n"));
    let imported = bench
        .engine
        .import_statement(&by_person, file, Some(by(who)));
    let by_name = imported.await.unwrap().statement.uploaded_by;
    assert_eq!(by_name.as_deref(), Some("ann"));
    let lines = "SELECT count(*) FROM audit_log WHERE action = 'statement.import'";
    let lines: i64 = sqlx::query_scalar(lines)
        .fetch_one(&bench.owner)
        .await
        .unwrap();
    let stored = "SELECT count(*) FROM statements";
    let stored: i64 = sqlx::query_scalar(stored)
        .fetch_one(&bench.owner)
        .await
        .unwrap();
    assert_eq!(lines, stored, "each is noted once");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn work_of_another_source_mode_or_tenant_is_told_apart(pool: PgPool) {
    let bench = bench(pool).await;
    let neighbour = bench.neighbour().await;
    neighbour.grant("1000", None).await;
    let theirs = used(&neighbour, "n-1", 2).await;
    let own = used(&bench, "r-1", 4).await;
    let other = domain::id::SourceId(bench.engine.mint());
    bench.open_source(other, "zeta", true).await;

    // One source serves many tenants, so its statement speaks of the work of all of them.
    let both = import(&bench, &format!("{HEAD}r-1,images,4,\nn-1,images,2,\n")).await;
    assert_eq!(counts(&bench, &both).await, [(Outcome::Matched, 2)]);

    // The reference of one source means nothing to another, and neither does its job.
    let file = format!("job,meter,quantity\n{own},images,4\n{theirs},images,2\n");
    let zeta = NewStatement {
        source: "zeta".into(),
        ..november(&bench)
    };
    let wrong = try_import(&bench, &zeta, &file).await.unwrap().statement;
    let missing = [(Outcome::MissingWithUs, 2)];
    assert_eq!(counts(&bench, &wrong).await, missing);
    for (source, livemode) in [("acme", false), ("nobody", true)] {
        let new = NewStatement {
            source: source.into(),
            livemode,
            ..november(&bench)
        };
        let refused = try_import(&bench, &new, &file).await;
        assert!(
            matches!(refused, Err(ImportError::UnknownSource(_))),
            "{source}"
        );
    }
}
