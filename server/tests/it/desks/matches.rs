//! Forms of matches: what is chosen and how far apart it is, once, and back again.

use engine::operator::Role;
use sqlx::PgPool;

use super::{Room, everything};
use crate::desk::Desk;

const WHY: &str = "reason=They+bill+it+under+their+own+id";

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_difference_is_shown_before_it_is_matched_and_the_address_keeps_what_was_chosen(
    owner: PgPool,
) {
    let room = Room::new(owner).await;
    let finance = Desk::of(&room.house, Role::Finance).await;
    let page = room.about("/statements/{told}/match");
    let open = finance.get(&page).await.text;
    assert!(open.contains("Choose something of both sides."), "{open}");
    assert_eq!(open.matches("name=\"part\"").count(), 4, "{open}");
    let some = finance
        .get(&format!("{page}?meter=images&part=t-1&part=t-2&part=r-1"))
        .await
        .text;
    assert!(
        some.contains("They differ by more than is allowed"),
        "{some}"
    );
    assert_eq!(some.matches(" checked").count(), 3, "{some}");
    let equal = finance
        .get(&format!("{page}?meter=images&part=t-1&part=r-1&{WHY}"))
        .await
        .text;
    assert!(equal.contains("They are equal."), "{equal}");
    assert!(
        equal.contains("They bill it under their own id</textarea>"),
        "{equal}"
    );
    let viewer = Desk::of(&room.house, Role::Viewer).await;
    let read = viewer.get(&page).await.text;
    assert!(!read.contains("Match them"), "{read}");
    for nowhere in [
        "/statements/stmt_1/match",
        "/statements/stmt_0190c5c2a3b47c1e8f00d2a1b3c4d5e6/match",
    ] {
        assert_eq!(finance.get(nowhere).await.status, 404, "{nowhere}");
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_match_is_made_once_and_taken_back_once(owner: PgPool) {
    let room = Room::new(owner).await;
    let ann = Desk::named(&room.house, "ann", Role::Finance).await;
    let bob = Desk::named(&room.house, "bob", Role::Finance).await;
    let post = room.about("/statements/{told}/matches");
    let before = everything(&room.house).await;
    for (form, said) in [
        (
            format!("key={{match}}&meter=images&part=t-1&{WHY}"),
            "choose something of both sides",
        ),
        (
            "key={match}&meter=images&part=t-1&part=r-1&reason=No".to_owned(),
            "needs a reason",
        ),
        (
            format!("key={{match}}&meter=images&part=t-1&part=r-9&{WHY}"),
            "not missing any more",
        ),
    ] {
        let (place, page) = ann.send(&post, &room.about(&form)).await;
        assert!(
            place.starts_with(&room.about("/statements/{told}/match?")),
            "{place}"
        );
        assert!(
            page.contains("Nothing was done: ") && page.contains(said),
            "{form}: {page}"
        );
    }
    assert_eq!(everything(&room.house).await, before);

    let form = room.about(&format!(
        "key={{match}}&meter=images&part=t-1&part=r-1&{WHY}"
    ));
    for _ in 0..2 {
        let (_, page) = ann.send(&post, &form).await;
        assert!(page.contains("Matched, and checked anew"), "{page}");
        assert!(page.contains("In force"), "{page}");
    }
    let made = everything(&room.house).await;
    let conflict = "Nothing was done: this form was sent before with other content";
    for (who, form) in [(&bob, form.clone()), (&ann, form.replace("t-1", "t-2"))] {
        let (_, page) = who.send(&post, &form).await;
        assert!(page.contains(conflict), "{page}");
    }
    assert_eq!(everything(&room.house).await, made);

    let id = &form["key=".len()..form.find('&').unwrap()];
    let undo = format!("{post}/{id}/undo");
    let (_, page) = ann.send(&undo, &format!("reason_{id}=No")).await;
    assert!(page.contains("needs a reason"), "{page}");
    let why = format!("reason_{id}=It+was+another+batch");
    for _ in 0..2 {
        let (_, page) = ann.send(&undo, &why).await;
        assert!(page.contains("Taken back, and checked anew"), "{page}");
    }
    let (_, page) = bob.send(&undo, &why).await;
    assert!(
        page.contains("Nothing was done: it was taken back before"),
        "{page}"
    );
    assert!(page.contains("It was another batch"), "{page}");
    let statement = ann.get(&room.about("/statements/{told}")).await.text;
    assert!(statement.contains("/match\""), "{statement}");
}
