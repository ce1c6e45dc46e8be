//! A frozen source: whoever sends to it notices nothing, and nothing of it is lost.

use domain::action::{Kind, Request, Subject, Target, Typed};
use domain::id::ActionId;
use engine::{
    action,
    audit::By,
    freeze,
    operator::{self, NewOperator, Role},
};
use sqlx::PgPool;

use super::{Mailroom, good_body, letter};
use crate::house::PASSWORD;

async fn freeze(room: &Mailroom) {
    let engine = &room.engine;
    let mut conn = engine.pool().acquire().await.unwrap();
    let new = NewOperator {
        email: "anna@example.org",
        name: "Anna Keller",
        role: Role::Finance,
        password: PASSWORD,
    };
    let by = By {
        operator: operator::add(&mut conn, engine, &new).await.unwrap(),
        email: new.email,
        request_id: None,
    };
    let source = freeze::views::source(&mut conn, "signed").await.unwrap();
    let subject = Subject::whole(Target::Source(source.unwrap()));
    let typed = Typed {
        category: "suspicion".into(),
        reason: "its key was seen in a log".into(),
        ..Typed::default()
    };
    let now = engine.clock().now();
    let request = Request::read(Kind::Freeze, subject, &typed, now).unwrap();
    let id = ActionId(engine.mint());
    action::propose(&mut conn, engine, id, &request, by)
        .await
        .unwrap();
    let draft = action::views::find(&mut conn, id).await.unwrap().unwrap();
    let basis = action::dry_run(&mut conn, &draft, now).await.unwrap().basis;
    drop(conn);
    engine.commit_action(id, basis, by).await.unwrap();
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_sender_of_a_frozen_source_notices_nothing(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    let before = room.post(letter("msg_1", good_body())).await;
    freeze(&room).await;
    let after = room.post(letter("msg_2", good_body())).await;
    let again = room.post(letter("msg_2", good_body())).await;
    assert_eq!(before.0, after.0);
    assert_eq!(before.1["status"], after.1["status"]);
    assert_eq!(again.1["status"], "duplicate");
    assert_eq!(room.count("events").await, 2);
}
