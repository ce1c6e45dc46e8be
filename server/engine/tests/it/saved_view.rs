//! Saved views: whose they are, who sees them, and what the database refuses.

use domain::{
    id::OperatorId,
    saved_view::{List, SavedView},
};
use engine::{
    operator::{self, NewOperator, Role},
    saved_view::{self, SaveError, views::offered},
};
use sqlx::{AssertSqlSafe, Executor, PgPool};

use crate::bench::Bench;

async fn operator(bench: &Bench, email: &str) -> OperatorId {
    let new = NewOperator {
        email,
        name: email,
        role: Role::Viewer,
        password: "correct horse battery",
    };
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    operator::add(&mut conn, &bench.engine, &new).await.unwrap();
    let id = sqlx::query_scalar("SELECT operator_id FROM operators WHERE email = $1")
        .bind(email)
        .fetch_one(&bench.owner)
        .await;
    OperatorId(id.unwrap())
}

fn view(list: List, name: &str) -> SavedView {
    SavedView::read(list, name, "state=failed").unwrap()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_view_is_its_owners_unless_it_is_shared(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let (anna, ben) = (
        operator(&bench, "anna@example.org").await,
        operator(&bench, "ben@example.org").await,
    );
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    for (name, owner, shared) in [
        ("mine", anna, false),
        ("ours", anna, true),
        ("mine", ben, false),
    ] {
        let view = view(List::Jobs, name);
        let saved = saved_view::save(&mut conn, &bench.engine, &view, (owner, shared)).await;
        saved.unwrap();
    }
    let elsewhere = view(List::Events, "mine");
    let saved = saved_view::save(&mut conn, &bench.engine, &elsewhere, (anna, false)).await;
    saved.unwrap();

    let seen = offered(&mut conn, List::Jobs, ben).await.unwrap();
    let told: Vec<_> = seen
        .iter()
        .map(|one| (one.view.name(), one.by.as_deref()))
        .collect();
    assert_eq!(told, [("mine", None), ("ours", Some("anna@example.org"))]);

    let again = view(List::Jobs, "mine");
    let refused = saved_view::save(&mut conn, &bench.engine, &again, (anna, true)).await;
    assert!(matches!(refused, Err(SaveError::NameTaken)), "{refused:?}");

    let ours = seen[1].id;
    assert!(!saved_view::drop(&mut conn, ours, ben).await.unwrap());
    assert!(saved_view::drop(&mut conn, ours, anna).await.unwrap());
    assert_eq!(offered(&mut conn, List::Jobs, ben).await.unwrap().len(), 1);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_database_refuses_what_the_domain_does(pool: PgPool) {
    let bench = Bench::new(pool).await;
    operator(&bench, "anna@example.org").await;
    for (list, name, filters, constraint) in [
        ("jobs", "", "a=b", "saved_views_name"),
        ("jobs", " x", "a=b", "saved_views_name"),
        ("jobs", "x", "", "saved_views_filters"),
        ("jobs", "x", "a=b#c", "saved_views_filters"),
        ("nothing", "x", "a=b", "saved_views_list_check"),
    ] {
        let statement = format!(
            "INSERT INTO saved_views SELECT gen_random_uuid(), operator_id, '{list}', '{name}', '{filters}', false, now()
             FROM operators"
        );
        let error = bench
            .owner
            .execute(AssertSqlSafe(statement))
            .await
            .unwrap_err();
        let error = error.into_database_error().unwrap();
        assert_eq!(
            error.constraint(),
            Some(constraint),
            "{list} {name} {filters}"
        );
    }
}
