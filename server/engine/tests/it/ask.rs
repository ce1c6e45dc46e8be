//! Asking a provider: who asks takes turns, and where it is asked is kept like other secrets.

use chrono::TimeDelta;
use domain::{
    ask::{NotYet, Outcome},
    id::{JobId, OperatorId},
};
use engine::{
    ask::{Ask, AskError},
    source::{AnswerApi, MasterKey, SourceError},
};
use sqlx::{AssertSqlSafe, Executor, PgPool};

use crate::bench::{Bench, Order, by, until_blocked};

const TOKEN: &str = "r8_token";

fn master() -> MasterKey {
    MasterKey::from_hex(&"07".repeat(32)).unwrap()
}

fn api(base: &str) -> AnswerApi {
    AnswerApi {
        base: base.parse().unwrap(),
        token: TOKEN.to_owned(),
    }
}

/// A job that a provider has, whose source says where to ask.
async fn scene(pool: PgPool) -> (Bench, JobId, OperatorId) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let order = Order {
        reference: Some("task-1"),
        ..Order::default()
    };
    let job = bench.order(4, order).await;
    let someone = bench.operator("anna").await;
    let api = api("https://api.example.com/");
    bench
        .engine
        .set_answer_api(&master(), "acme", &api, "test")
        .await
        .unwrap();
    (bench, job, someone)
}

async fn ask(bench: &Bench, job: JobId, someone: OperatorId) -> Result<Ask, AskError> {
    bench.engine.begin_ask(&master(), job, by(someone)).await
}

async fn refused(pool: &PgPool, statement: &str) -> String {
    let error = pool.execute(AssertSqlSafe(statement)).await;
    let error = error.expect_err(statement).into_database_error().unwrap();
    error.constraint().unwrap_or_default().to_owned()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_question_knows_where_to_go(pool: PgPool) {
    let (bench, job, someone) = scene(pool).await;
    let asked = ask(&bench, job, someone).await.unwrap();
    assert_eq!(
        asked.api.base.at(&asked.path),
        "https://api.example.com/jobs/task-1"
    );
    assert_eq!((asked.api.token.as_str(), asked.number), (TOKEN, 1));
    assert!(!format!("{asked:?}").contains(TOKEN));
    let nobody = bench.submit(1).await;
    let none = ask(&bench, nobody, someone).await;
    assert!(matches!(none, Err(AskError::NotHandedOver)), "{none:?}");
    let unknown = ask(&bench, JobId(bench.engine.mint()), someone).await;
    assert!(matches!(unknown, Err(AskError::UnknownJob)), "{unknown:?}");
    let rows: Vec<String> =
        sqlx::query_scalar("SELECT encode(ciphertext, 'escape') || a::text FROM answer_apis a")
            .fetch_all(&bench.owner)
            .await
            .unwrap();
    assert!(!rows.iter().any(|row| row.contains(TOKEN)), "{rows:?}");
    let other = MasterKey::from_hex(&"08".repeat(32)).unwrap();
    bench.engine.clock().advance(TimeDelta::minutes(2));
    let locked = bench.engine.begin_ask(&other, job, by(someone)).await;
    assert!(
        matches!(locked, Err(AskError::Source(SourceError::Vault(_)))),
        "{locked:?}"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn questions_about_a_job_take_turns(pool: PgPool) {
    let (bench, job, someone) = scene(pool).await;
    let clock = bench.engine.clock();
    let first = ask(&bench, job, someone).await.unwrap();
    let busy = ask(&bench, job, someone).await;
    assert!(
        matches!(busy, Err(AskError::NotYet(NotYet::UnderWay))),
        "{busy:?}"
    );
    let came = (Outcome::Unreachable, None);
    bench.engine.end_ask(&first, came, None).await.unwrap();
    assert!(
        bench.engine.end_ask(&first, came, None).await.is_err(),
        "answered once"
    );
    let early = ask(&bench, job, someone).await;
    assert!(
        matches!(early, Err(AskError::NotYet(NotYet::TooSoon))),
        "{early:?}"
    );
    clock.advance(TimeDelta::seconds(5));
    assert_eq!(ask(&bench, job, someone).await.unwrap().number, 2);
    // Its process died: after a while somebody else may ask.
    clock.advance(TimeDelta::seconds(59));
    assert!(ask(&bench, job, someone).await.is_err());
    clock.advance(TimeDelta::seconds(1));
    assert_eq!(ask(&bench, job, someone).await.unwrap().number, 3);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn of_two_who_ask_at_once_one_asks(pool: PgPool) {
    let (bench, job, someone) = scene(pool).await;
    let mut other = bench.begin().await;
    sqlx::query(
        "INSERT INTO asks (tenant_id, job_id, number, source_id, asked_by, asked_at)
         SELECT tenant_id, job_id, 1, source_id, $2, $3 FROM jobs WHERE job_id = $1",
    )
    .bind(job.0)
    .bind(someone.0)
    .bind(bench.now())
    .execute(&mut *other)
    .await
    .unwrap();
    let (mine, ()) = tokio::join!(ask(&bench, job, someone), async {
        until_blocked(&bench.owner).await;
        other.commit().await.unwrap();
    });
    assert!(
        matches!(mine, Err(AskError::NotYet(NotYet::UnderWay))),
        "{mine:?}"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_database_refuses_what_the_rules_do(pool: PgPool) {
    let (bench, job, someone) = scene(pool).await;
    ask(&bench, job, someone).await.unwrap();
    let again = |number: i32, later: &str| {
        format!(
            "INSERT INTO asks (tenant_id, job_id, number, source_id, asked_by, asked_at)
             SELECT tenant_id, job_id, {number}, source_id, asked_by, asked_at + interval '{later}' FROM asks WHERE number = 1"
        )
    };
    let answer = |outcome: &str| {
        format!(
            "INSERT INTO ask_answers (tenant_id, job_id, number, outcome, livemode, answered_at)
             SELECT tenant_id, job_id, number, '{outcome}', true, asked_at FROM asks WHERE number = 1"
        )
    };
    for (statement, constraint) in [
        (again(1, "1 hour"), "asks_pkey"),
        (again(2, "59 seconds"), "asks_take_turns"),
        (again(3, "1 hour"), "asks_take_turns"),
        (answer("ended"), "ask_answers_kept"),
        (answer("fine"), "ask_answers_outcome_check"),
    ] {
        assert_eq!(
            refused(&bench.owner, &statement).await,
            constraint,
            "{statement}"
        );
    }
    bench
        .owner
        .execute(AssertSqlSafe(answer("failed")))
        .await
        .unwrap();
    assert_eq!(
        refused(&bench.owner, &again(2, "4 seconds")).await,
        "asks_take_turns"
    );
    bench
        .owner
        .execute(AssertSqlSafe(again(2, "5 seconds")))
        .await
        .unwrap();

    let set = |base: &str, removed: &str| {
        format!(
            "INSERT INTO answer_apis (secret_id, source_id, base_url, nonce, ciphertext, set_at, removed_at)
             SELECT gen_random_uuid(), source_id, '{base}', nonce, ciphertext, set_at, {removed} FROM answer_apis LIMIT 1"
        )
    };
    for (statement, constraint) in [
        (set("https://b.example", "NULL"), "answer_apis_one_in_use"),
        (set("http://api.example.com", "set_at"), "answer_apis_base"),
        (
            set("http://127.0.0.1.evil.example", "set_at"),
            "answer_apis_base",
        ),
        (set("https://a@b.example", "set_at"), "answer_apis_base"),
        (set("https://b.example/?a=", "set_at"), "answer_apis_base"),
        (
            "UPDATE answer_apis SET removed_at = set_at - interval '1 second'".into(),
            "answer_apis_removed_later",
        ),
    ] {
        assert_eq!(
            refused(&bench.owner, &statement).await,
            constraint,
            "{statement}"
        );
    }
    assert!(
        bench
            .engine
            .remove_answer_api("acme", "test")
            .await
            .unwrap()
    );
    let back = "UPDATE answer_apis SET removed_at = NULL";
    assert_eq!(
        refused(&bench.owner, back).await,
        "answer_apis_removed_once"
    );
    for statement in ["UPDATE asks SET number = 9", "DELETE FROM ask_answers"] {
        let error = bench.owner.execute(statement).await.unwrap_err();
        let code = error
            .as_database_error()
            .and_then(|error| error.code().map(|code| code.into_owned()));
        assert_eq!(code.as_deref(), Some("23001"), "{statement}");
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_token_that_cannot_be_sent_is_refused(pool: PgPool) {
    let bench = Bench::new(pool).await;
    for token in ["", "two words", "a\nb", "é", &"x".repeat(5000)] {
        let api = AnswerApi {
            token: token.to_owned(),
            ..api("https://api.example.com")
        };
        let set = bench
            .engine
            .set_answer_api(&master(), "acme", &api, "test")
            .await;
        assert!(matches!(set, Err(SourceError::Invalid(_))), "{token:?}");
    }
    let set = bench
        .engine
        .set_answer_api(&master(), "nobody", &api("https://api.example.com"), "test")
        .await;
    assert!(matches!(set, Err(SourceError::Unknown(_))), "{set:?}");
}
