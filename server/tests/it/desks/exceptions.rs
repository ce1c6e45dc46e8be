//! Forms of exceptions, of runs and of tasks.

use engine::operator::Role;
use sqlx::PgPool;

use super::{Room, everything, reconciled, uuid};
use crate::desk::Desk;

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_form_about_an_exception_is_one_note_and_its_key_means_one_thing(owner: PgPool) {
    let room = Room::new(owner).await;
    let house = &room.house;
    let desk = Desk::named(house, "ann", Role::Finance).await;
    let other = Desk::named(house, "bob", Role::Finance).await;
    for (word, fields, another, said) in [
        ("take", "", "", "Taken"),
        (
            "snooze",
            "&until=2027-01-01",
            "&until=2027-01-02",
            "Put off",
        ),
        (
            "note",
            "&note=Seen+after+the+restore",
            "&note=Seen+before+it",
            "Noted",
        ),
        (
            "repair",
            "&text=The+restore+was+old",
            "&text=It+looked+wrong",
            "Put right",
        ),
    ] {
        let path = room.about(&format!("/exceptions/exc_{{exception}}/{word}"));
        let form = format!("key={}{fields}", uuid(house));
        let (place, page) = desk.send(&path, &form).await;
        assert_eq!(place, room.about("/exceptions/exc_{exception}"));
        assert!(page.contains(said), "{word}: {page}");
        let once = everything(house).await;
        let (_, page) = desk.send(&path, &form).await;
        assert!(page.contains(said), "{word}: {page}");
        let conflict = "Nothing was done: this form was sent before with other content";
        let (_, page) = other.send(&path, &form).await;
        assert!(page.contains(conflict), "{word}: {page}");
        if fields != another {
            let (_, page) = desk.send(&path, &form.replace(fields, another)).await;
            assert!(page.contains(conflict), "{word}: {page}");
        }
        assert_eq!(everything(house).await, once, "{word}");
    }
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_is_wrong_or_too_late_does_nothing_and_is_told(owner: PgPool) {
    let room = Room::new(owner).await;
    let house = &room.house;
    let desk = Desk::of(house, Role::Finance).await;
    let before = everything(house).await;
    let step = |word: &str| room.about(&format!("/exceptions/exc_{{exception}}/{word}"));
    let long = format!("&note={}", "x".repeat(501));
    for (word, fields, said) in [
        ("note", "&note=++", "say it in 1 to 500 characters"),
        ("note", long.as_str(), "say it in 1 to 500 characters"),
        ("repair", "&text=", "say it in 1 to 500 characters"),
        ("snooze", "&until=2020-01-01", "choose a day after today"),
        ("snooze", "&until=tomorrow", "choose a day after today"),
        ("accept", "&why=So+be+it", "our own books have to add up"),
    ] {
        let form = format!("key={}{fields}", uuid(house));
        let (_, page) = desk.send(&step(word), &form).await;
        assert!(page.contains("Nothing was done: "), "{word}: {page}");
        assert!(page.contains(said), "{word} {fields}: {page}");
    }
    let (place, page) = desk
        .send("/exceptions/act", &format!("step=take&key={}", uuid(house)))
        .await;
    assert_eq!(place, "/exceptions");
    assert!(page.contains("Nothing was chosen"), "{page}");
    assert_eq!(everything(house).await, before);

    let mend = format!("key={}&text=The+restore+was+old", uuid(house));
    desk.send(&step("repair"), &mend).await;
    reconciled(house).await;
    let closed = everything(house).await;
    for (word, fields) in [
        ("take", ""),
        ("repair", "&text=Once+more"),
        ("snooze", "&until=2027-01-01"),
    ] {
        let form = format!("key={}{fields}", uuid(house));
        let (_, page) = desk.send(&step(word), &form).await;
        assert!(
            page.contains("it is closed: the last run found it right"),
            "{word}: {page}"
        );
    }
    assert_eq!(everything(house).await, closed);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_task_is_made_started_and_stopped_once(owner: PgPool) {
    let room = Room::new(owner).await;
    let house = &room.house;
    let desk = Desk::of(house, Role::Finance).await;
    let key = uuid(house);
    let form = format!("step=repair&id={}&key={key}", room.exception);
    let (place, _) = desk.send("/exceptions/act", &form).await;
    let once = everything(house).await;
    assert_eq!(desk.send("/exceptions/act", &form).await.0, place);
    let (led, page) = desk
        .send("/tasks", &format!("kind=replay&filter=&key={key}"))
        .await;
    assert_eq!(led, place);
    assert!(
        page.contains("Nothing was done: this form was sent before with other content"),
        "{page}"
    );
    let none = format!("kind=replay&filter=state%3Dfailed&key={}", uuid(house));
    let (led, page) = desk.send("/tasks", &none).await;
    assert_eq!(led, "/events");
    assert!(
        page.contains("Nothing was done: nothing was chosen"),
        "{page}"
    );
    let start = format!("{place}/start");
    let (_, page) = desk.send(&start, "reason=short").await;
    assert!(page.contains("a task needs a reason"), "{page}");
    assert_eq!(everything(house).await, once);

    let (_, page) = desk.send(&start, "reason=The+restore+was+old").await;
    assert!(page.contains("It goes on by itself"), "{page}");
    let started = everything(house).await;
    let (_, page) = desk.send(&start, "reason=The+restore+was+old").await;
    assert!(
        page.contains("Nothing was done: the task is running already"),
        "{page}"
    );
    assert_eq!(everything(house).await, started);
    assert!(house.engine.work_on_tasks().await.unwrap());
    assert!(!house.engine.work_on_tasks().await.unwrap());
    let done = everything(house).await;
    let (_, page) = desk.send(&format!("{place}/cancel"), "").await;
    assert!(
        page.contains("Nothing was done: the task is done already"),
        "{page}"
    );
    assert_eq!(everything(house).await, done);
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_run_that_is_asked_for_twice_at_once_is_one_run(owner: PgPool) {
    let room = Room::new(owner).await;
    let house = &room.house;
    let desk = Desk::of(house, Role::Finance).await;
    let runs = "SELECT count(*) FROM reconciliation_runs";
    let (runs_before, exceptions) = (house.count(runs).await, "SELECT count(*) FROM exceptions");
    let found = house.count(exceptions).await;
    // A run that goes on holds this lock.
    let mut goes_on = house.owner.begin().await.unwrap();
    let lock = "SELECT pg_advisory_xact_lock(x'517569747265636F'::bigint)";
    sqlx::query(lock).execute(&mut *goes_on).await.unwrap();
    let (place, page) = desk.send("/reconciliation/run", "").await;
    assert_eq!(place, "/reconciliation");
    assert!(page.contains("a reconciliation run is going on"), "{page}");
    assert_eq!(house.count(runs).await, runs_before);
    goes_on.commit().await.unwrap();
    for _ in 0..2 {
        let (_, page) = desk.send("/reconciliation/run", "").await;
        assert!(
            page.contains(&format!("{found} found, 0 of them new")),
            "{page}"
        );
    }
    assert_eq!(house.count(exceptions).await, found);
    assert_eq!(house.count(runs).await, runs_before + 2);
}
