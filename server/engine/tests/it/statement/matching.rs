//! What people match by hand: decided as one, by every later check, until it is taken back.

use std::collections::BTreeSet;

use domain::{
    id::{MatchId, OperatorId, StatementId},
    statement::{Outcome, Tolerance},
};
use engine::statement::{
    MatchError, NewMatch,
    views::{self, Match, Statement},
};
use sqlx::{AssertSqlSafe, PgPool};

use super::{bench, counts, groups, import, november, open, run, try_import, used};
use crate::bench::{Bench, by};

const WHY: &str = "they bill the batch under their own id";

/// A statement of 3 and 4 images, where we used 5 and 2 under other names, and its four exceptions.
async fn apart(pool: PgPool) -> (Bench, Statement, OperatorId) {
    let bench = bench(pool).await;
    used(&bench, "r-1", 5).await;
    used(&bench, "r-2", 2).await;
    let file = "reference,meter,quantity\nt-1,images,3\nt-2,images,4\n";
    let statement = import(&bench, file).await;
    run(&bench).await;
    assert_eq!(open(&bench).await.len(), 4);
    let ann = bench.operator("ann").await;
    (bench, statement, ann)
}

fn chosen(bench: &Bench, statement: &Statement, parts: &[&str]) -> NewMatch {
    NewMatch {
        key: MatchId(bench.engine.mint()),
        statement: statement.id,
        meter: "images".parse().unwrap(),
        parts: parts.iter().map(|part| (*part).to_owned()).collect(),
        reason: WHY.into(),
    }
}

async fn matched(
    bench: &Bench,
    statement: &Statement,
    parts: &[&str],
    who: OperatorId,
) -> Result<MatchId, MatchError> {
    let new = chosen(bench, statement, parts);
    bench.engine.match_groups(&new, by(who)).await?;
    Ok(new.key)
}

async fn matches(bench: &Bench, statement: StatementId) -> Vec<Match> {
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    views::matches(&mut conn, statement).await.unwrap()
}

async fn lines(bench: &Bench) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM audit_log WHERE action LIKE 'statement.%match'")
        .fetch_one(&bench.owner)
        .await
        .unwrap()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn several_of_theirs_match_several_of_ours_and_their_exceptions_close(pool: PgPool) {
    let (bench, statement, ann) = apart(pool).await;
    let all = ["r-1", "r-2", "t-1", "t-2"];
    let new = chosen(&bench, &statement, &all);
    for _ in 0..2 {
        bench.engine.match_groups(&new, by(ann)).await.unwrap();
    }
    assert_eq!(groups(&bench, &statement).await, "");
    assert_eq!(counts(&bench, &statement).await, [(Outcome::Matched, 1)]);
    let tally = run(&bench).await;
    assert_eq!((tally.found, tally.opened, tally.closed), (0, 0, 4));
    let [one] = &matches(&bench, statement.id).await[..] else {
        panic!("one match")
    };
    assert_eq!((one.by.as_str(), one.reason.as_str()), ("ann", WHY));
    let parts: Vec<_> = one.parts.iter().map(|part| &*part.reference).collect();
    assert_eq!(parts, ["t-1", "t-2", "r-1", "r-2"]);
    assert_eq!(lines(&bench).await, 1);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_remains_is_one_exception_until_the_match_is_taken_back(pool: PgPool) {
    let (bench, statement, ann) = apart(pool).await;
    let id = matched(&bench, &statement, &["r-1", "t-2"], ann)
        .await
        .unwrap();
    let rest = format!("{id} images differs 5 4\n");
    let left = "r-2 images missing_with_provider 2 -\nt-1 images missing_with_us - 3\n";
    assert_eq!(groups(&bench, &statement).await, format!("{left}{rest}"));
    let tally = run(&bench).await;
    assert_eq!((tally.found, tally.opened, tally.closed), (3, 1, 2));
    let remaining = open(&bench).await;
    let remaining = remaining
        .iter()
        .find(|one| one.subject.ends_with(&id.to_string()));
    let remaining = remaining.unwrap();
    assert_eq!(remaining.difference(), Some(1.into()));

    let why = "the batch was another one";
    for _ in 0..2 {
        bench.engine.undo_match(id, why, by(ann)).await.unwrap();
    }
    let bob = bench.operator("bob").await;
    let late = bench.engine.undo_match(id, why, by(bob)).await;
    assert!(matches!(late, Err(MatchError::Undone)), "{late:?}");
    let tally = run(&bench).await;
    assert_eq!((tally.found, tally.closed), (4, 1));
    let undone = matches(&bench, statement.id)
        .await
        .remove(0)
        .undone
        .unwrap();
    assert_eq!((undone.0.as_str(), undone.2.as_str()), ("ann", why));
    assert_eq!(lines(&bench).await, 2);
    // What was taken back may be matched again, otherwise.
    let all = ["r-1", "r-2", "t-1", "t-2"];
    matched(&bench, &statement, &all, bob).await.unwrap();
    assert_eq!(run(&bench).await.found, 0);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_match_is_decided_under_the_statements_tolerance(pool: PgPool) {
    let bench = bench(pool).await;
    let ann = bench.operator("ann").await;
    used(&bench, "r-1", 5).await;
    let one = Tolerance::new(1.into(), 0.into()).unwrap();
    let new = NewMatch {
        parts: BTreeSet::new(),
        ..chosen(
            &bench,
            &import(&bench, "reference,meter,quantity\nt-1,images,9\n").await,
            &[],
        )
    };
    let none = bench.engine.match_groups(&new, by(ann)).await;
    assert!(matches!(none, Err(MatchError::OneSided)), "{none:?}");
    let wide = engine::statement::NewStatement {
        tolerance: one,
        ..november(&bench)
    };
    let file = "reference,meter,quantity\nt-1,images,4\n";
    let statement = try_import(&bench, &wide, file).await.unwrap().statement;
    let id = matched(&bench, &statement, &["r-1", "t-1"], ann)
        .await
        .unwrap();
    let within = format!("{id} images within_tolerance 5 4\n");
    assert_eq!(groups(&bench, &statement).await, within);
    assert_eq!(run(&bench).await.found, 0);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_match_holds_for_the_statement_that_corrects_this_one_and_for_no_other_period(
    pool: PgPool,
) {
    let (bench, statement, ann) = apart(pool).await;
    let id = matched(&bench, &statement, &["r-1", "t-2"], ann)
        .await
        .unwrap();
    let file = "reference,meter,quantity\nr-2,images,2\nt-2,images,5\n";
    let corrected = import(&bench, file).await;
    assert_eq!(counts(&bench, &corrected).await, [(Outcome::Matched, 2)]);
    assert_eq!(run(&bench).await.found, 0);
    assert_eq!(matches(&bench, corrected.id).await[0].id, id);
    let late = matched(&bench, &statement, &["r-2", "t-1"], ann).await;
    assert!(matches!(late, Err(MatchError::Superseded)), "{late:?}");

    let october = engine::statement::NewStatement {
        period: "2026-10-01/2026-11-01".parse().unwrap(),
        ..november(&bench)
    };
    let other = try_import(&bench, &october, "reference,meter,quantity\nt-2,images,5\n").await;
    let other = other.unwrap().statement;
    assert_eq!(
        groups(&bench, &other).await,
        "t-2 images missing_with_us - 5\n"
    );
    assert!(matches(&bench, other.id).await.is_empty());
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_does_not_fit_is_not_matched(pool: PgPool) {
    let (bench, statement, ann) = apart(pool).await;
    let bob = bench.operator("bob").await;
    let try_with = async |new: &NewMatch, who| bench.engine.match_groups(new, by(who)).await;
    let first = chosen(&bench, &statement, &["r-1", "t-2"]);
    for (new, expected) in [
        (
            chosen(&bench, &statement, &["t-1", "t-2"]),
            "choose something of both sides",
        ),
        (
            chosen(&bench, &statement, &["r-1", "r-9"]),
            "not missing any more",
        ),
        (
            NewMatch {
                reason: "because".into(),
                ..first.clone()
            },
            "needs a reason",
        ),
        (
            NewMatch {
                meter: "seconds".parse().unwrap(),
                ..first.clone()
            },
            "not missing any more",
        ),
        (
            NewMatch {
                statement: StatementId(bench.engine.mint()),
                ..first.clone()
            },
            "there is no such statement",
        ),
        (
            NewMatch {
                parts: (0..201).map(|at| format!("t-{at}")).collect(),
                ..first.clone()
            },
            "at most 200 groups",
        ),
    ] {
        let refused = try_with(&new, ann).await.unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    assert!(matches(&bench, statement.id).await.is_empty());

    try_with(&first, ann).await.unwrap();
    let more = NewMatch {
        parts: ["r-2", "t-1"].map(Into::into).into(),
        ..first.clone()
    };
    let reworded = NewMatch {
        reason: "it is the same batch".into(),
        ..first.clone()
    };
    for (new, who) in [(&more, ann), (&reworded, ann), (&first, bob)] {
        let other = try_with(new, who).await;
        assert!(matches!(other, Err(MatchError::OtherForm)), "{other:?}");
    }
    let taken = matched(&bench, &statement, &["r-1", "t-1"], bob).await;
    assert!(matches!(taken, Err(MatchError::Changed)), "{taken:?}");
    assert_eq!(matches(&bench, statement.id).await.len(), 1);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn two_who_match_the_same_at_once_do_it_once(pool: PgPool) {
    let (bench, statement, ann) = apart(pool).await;
    let bob = bench.operator("bob").await;
    let (one, other) = tokio::join!(
        matched(&bench, &statement, &["r-1", "t-1"], ann),
        matched(&bench, &statement, &["r-1", "t-2"], bob)
    );
    let changed = |end: &Result<MatchId, _>| matches!(end, Err(MatchError::Changed));
    assert!(
        one.is_ok() && changed(&other) || other.is_ok() && changed(&one),
        "{one:?} {other:?}"
    );
    assert_eq!(matches(&bench, statement.id).await.len(), 1);
}

/// The constraint that refuses a statement of the application's role, at the latest when it commits.
async fn refused_by(bench: &Bench, sql: &str) -> String {
    let mut tx = bench.begin().await;
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&mut *tx)
        .await;
    let error = match done {
        Ok(_) => tx.commit().await.unwrap_err(),
        Err(error) => error,
    };
    let error = error.into_database_error().unwrap();
    error.constraint().unwrap_or_default().to_owned()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_database_holds_what_a_match_is(pool: PgPool) {
    let (bench, statement, ann) = apart(pool).await;
    let id = matched(&bench, &statement, &["r-1", "t-2"], ann)
        .await
        .unwrap();
    let copy = "INSERT INTO statement_matches SELECT '00000000-0000-0000-0000-000000000001', statement_id, source_id,
                    livemode, period_from, period_to, meter, reason, matched_by, matched_at FROM statement_matches";
    let part = |reference: &str, meter: &str, side: &str| {
        format!(
            "{copy}; INSERT INTO statement_match_parts
             VALUES ('00000000-0000-0000-0000-000000000001', '{meter}', '{reference}', '{side}')"
        )
    };
    for (sql, constraint) in [
        (
            part("t-1", "images", "theirs"),
            "statement_matches_both_sides",
        ),
        (copy.to_owned(), "statement_matches_both_sides"),
        (
            part("t-1", "seconds", "theirs"),
            "statement_match_parts_meter",
        ),
        (
            part("t-2", "images", "theirs"),
            "statement_match_parts_in_one",
        ),
        (
            "INSERT INTO statement_match_parts SELECT match_id, meter, 't-1', 'theirs' FROM statement_matches".to_owned(),
            "statement_match_parts_with_it",
        ),
        (
            copy.replace("period_to,", "period_to + 1,"),
            "statement_matches_statement",
        ),
        (
            copy.replace("'00000000-0000-0000-0000-000000000001'", "match_id"),
            "statement_matches_pkey",
        ),
    ] {
        assert_eq!(refused_by(&bench, &sql).await, constraint, "{sql}");
    }
    bench
        .engine
        .undo_match(id, "the batch was another one", by(ann))
        .await
        .unwrap();
    let again = "INSERT INTO statement_match_undos SELECT * FROM statement_match_undos";
    assert_eq!(
        refused_by(&bench, again).await,
        "statement_match_undos_pkey"
    );
}
