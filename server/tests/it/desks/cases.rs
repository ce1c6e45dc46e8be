//! The form of a case: decided once and with a reason; whoever comes later reads what was decided.

use engine::operator::Role;
use sqlx::PgPool;

use super::{Room, everything};
use crate::desk::Desk;

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_case_is_decided_once_and_the_first_decision_is_shown(owner: PgPool) {
    let room = Room::new(owner).await;
    let desk = Desk::named(&room.house, "first", Role::Finance).await;
    let late = Desk::named(&room.house, "late", Role::Finance).await;
    let path = room.about("/events/{event}/decide");
    let before = everything(&room.house).await;
    for reason in ["", "No", &"x".repeat(501)] {
        let form = format!("decision=dismiss&reason={reason}");
        let (place, said) = desk.send(&path, &form).await;
        assert_eq!(place, room.about("/events/{event}"));
        assert!(
            said.contains("Nothing was changed: a decision needs a reason"),
            "{said}"
        );
    }
    assert_eq!(everything(&room.house).await, before);

    let form = "decision=dismiss&reason=A+job+of+another+system";
    let (_, said) = desk.send(&path, form).await;
    assert!(said.contains("The event changes nothing"), "{said}");
    let decided = everything(&room.house).await;
    assert_ne!(decided, before);
    let replay = "decision=replay&reason=It+is+ours+after+all";
    for (who, form) in [(&desk, form), (&late, form), (&late, replay)] {
        let (_, said) = who.send(&path, form).await;
        assert!(said.contains("Nothing was changed: "), "{said}");
        assert!(said.contains("A job of another system"), "{said}");
    }
    assert_eq!(everything(&room.house).await, decided);
}
