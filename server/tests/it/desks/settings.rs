//! The form of thresholds.

use engine::operator::Role;
use sqlx::PgPool;

use super::everything;
use crate::{desk::Desk, house::House};

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_threshold_is_set_once_and_only_to_an_amount(owner: PgPool) {
    let house = House::new(owner).await;
    let admin = Desk::of(&house, Role::Admin).await;
    let before = everything(&house).await;
    for (form, said) in [
        ("action=unfreeze&currency=USD&above=5", "choose an action"),
        ("action=&currency=USD&above=5", "choose an action"),
        ("action=goodwill&currency=XXX&above=5", "choose a currency"),
        ("action=goodwill&currency=USD&above=-1", "type an amount"),
        ("action=goodwill&currency=USD&above=much", "type an amount"),
        ("action=goodwill&currency=USD&above=1e3", "type an amount"),
        ("", "choose an action"),
    ] {
        let (place, page) = admin.send("/thresholds", form).await;
        assert_eq!(place, "/thresholds");
        assert!(
            page.contains(&format!("Nothing was changed: {said}")),
            "{form}: {page}"
        );
    }
    assert_eq!(everything(&house).await, before);
    let form = "action=goodwill&currency=USD&above=5";
    let (_, page) = admin.send("/thresholds", form).await;
    assert!(page.contains("Set: version 1 is in force"), "{page}");
    let set = everything(&house).await;
    let (_, page) = admin.send("/thresholds", form).await;
    assert!(page.contains("It is that already"), "{page}");
    assert_eq!(everything(&house).await, set);
}
