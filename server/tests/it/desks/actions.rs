//! Forms of actions: once, on what was shown, by two where it takes two, and back to the form when it is wrong.

use axum::http::Method;
use engine::operator::Role;
use serde_json::json;
use sqlx::PgPool;

use super::{committed, everything, proposed, typed};
use crate::{
    desk::{Desk, between},
    house::House,
};

const WHY: &str = "category=incident&reason=Render+nodes+were+down";

/// Below this much, one person is enough.
async fn threshold(house: &House, action: &str) {
    let admin = Desk::named(house, "head", Role::Admin).await;
    let form = format!("action={action}&currency=USD&above=50");
    admin.send("/thresholds", &form).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_form_that_is_sent_again_shows_what_came_of_it_and_another_what_stands(owner: PgPool) {
    let house = House::new(owner).await;
    threshold(&house, "goodwill").await;
    let desk = Desk::of(&house, Role::Finance).await;
    let place = format!("/wallets/{}", house.wallet);
    let form = format!("action=goodwill&amount=5&{WHY}");
    let action = proposed(&desk, &place, "goodwill", &form).await;
    let once = everything(&house).await;
    let post = format!("{place}/actions");
    let again = format!("key={action}&{form}");
    assert_eq!(
        desk.send(&post, &again).await.0,
        format!("/actions/{action}")
    );
    let other = again.replace("amount=5", "amount=500");
    let (led, said) = desk.send(&post, &other).await;
    assert_eq!(led, format!("/actions/{action}"));
    assert!(
        said.contains("This form was sent before with other content"),
        "{said}"
    );
    assert!(!said.contains("500.00"), "{said}");
    // Nor is it somebody else's.
    let colleague = Desk::named(&house, "colleague", Role::Finance).await;
    let staffed = everything(&house).await;
    let (_, said) = colleague.send(&post, &again).await;
    assert!(
        said.contains("This form was sent before with other content"),
        "{said}"
    );
    assert_eq!(everything(&house).await, staffed);
    assert_ne!(once, staffed, "a colleague was hired, so a change is seen");

    let basis = {
        let page = desk.get(&format!("/actions/{action}")).await.text;
        between(&page, "name=\"basis\" value=\"", "\"").to_owned()
    };
    for _ in 0..2 {
        let commit = format!("/actions/{action}/commit");
        let (_, said) = desk.send(&commit, &format!("basis={basis}")).await;
        assert!(said.contains("Done"), "{said}");
    }
    assert_eq!(
        house.ledger().await,
        "grant/1 goodwill goodwill→available 5 (-, 5)\n"
    );
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_changed_since_it_was_shown_is_shown_again(owner: PgPool) {
    let house = House::new(owner).await;
    threshold(&house, "goodwill").await;
    let desk = Desk::of(&house, Role::Finance).await;
    let place = format!("/wallets/{}", house.wallet);
    let form = format!("action=goodwill&amount=5&{WHY}");
    let action = proposed(&desk, &place, "goodwill", &form).await;
    let page = desk.get(&format!("/actions/{action}")).await.text;
    let basis = between(&page, "name=\"basis\" value=\"", "\"").to_owned();
    let stop = proposed(&desk, &place, "freeze", &format!("action=freeze&{WHY}")).await;
    assert!(committed(&desk, &stop).await.contains("Done"));

    let commit = format!("/actions/{action}/commit");
    for old in [basis.as_str(), "", "no+hash"] {
        let (_, said) = desk.send(&commit, &format!("basis={old}")).await;
        assert!(
            said.contains("Not done: this changed since it was shown"),
            "{said}"
        );
        assert_eq!(house.ledger().await, "");
    }
    assert!(committed(&desk, &action).await.contains("Done"));
    assert_eq!(
        house.ledger().await,
        "grant/1 goodwill goodwill→available 5 (-, 5)\n"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_approval_is_somebody_elses_once(owner: PgPool) {
    let house = House::new(owner).await;
    let maker = Desk::named(&house, "maker", Role::Admin).await;
    let checker = Desk::named(&house, "checker", Role::Finance).await;
    let place = format!("/wallets/{}", house.wallet);
    let form = format!("action=goodwill&amount=80&{WHY}");
    let action = proposed(&maker, &place, "goodwill", &form).await;
    assert!(
        committed(&maker, &action)
            .await
            .contains("Sent: someone else decides now")
    );
    let step = |step: &str| format!("/actions/{action}/{step}");
    let waiting = everything(&house).await;
    for (desk, word, form) in [
        (&maker, "approve", &*typed(&action)),
        (&maker, "refuse", "reason=No+incident+that+day"),
        (&checker, "withdraw", ""),
        (&checker, "refuse", "reason=No"),
        (&checker, "refuse", ""),
    ] {
        let (_, said) = desk.send(&step(word), form).await;
        assert!(said.contains("Not done: "), "{word} {form}: {said}");
    }
    assert_eq!(everything(&house).await, waiting);
    for _ in 0..2 {
        let (_, said) = checker.send(&step("approve"), &typed(&action)).await;
        assert!(said.contains("Done"), "{said}");
    }
    for (desk, word, form) in [
        (&checker, "refuse", "reason=No+incident+that+day"),
        (&maker, "withdraw", ""),
    ] {
        let (_, said) = desk.send(&step(word), form).await;
        assert!(
            said.contains("Not done: the action is done"),
            "{word}: {said}"
        );
    }
    assert_eq!(
        house.ledger().await,
        "grant/1 goodwill goodwill→available 80 (-, 80)\n"
    );
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_is_wrong_is_told_at_its_field_and_nothing_typed_is_lost(owner: PgPool) {
    let house = House::new(owner).await;
    let desk = Desk::of(&house, Role::Finance).await;
    let place = format!("/wallets/{}/actions", house.wallet);
    let before = everything(&house).await;
    for (field, typed, kept) in [
        ("amount", "twelve", "value=\"twelve\""),
        ("amount", "-5", "value=\"-5\""),
        ("amount", "0", "value=\"0\""),
        ("amount", "", "name=\"amount\""),
        ("amount", "%3Cscript%3E1", "value=\"&lt;script&gt;1\""),
        ("expires", "2020-01-01", "value=\"2020-01-01\""),
        ("category", "mood", "name=\"category\""),
        ("reason", "short", "short</textarea>"),
    ] {
        let fields = [
            ("amount", "12.50"),
            ("expires", ""),
            ("category", "incident"),
            ("reason", "Render+nodes+were+down"),
        ];
        let fields = fields.map(|(name, usual)| {
            let text = if name == field { typed } else { usual };
            format!("{name}={text}")
        });
        let key = domain::id::ActionId(house.engine.mint());
        let form = format!("key={key}&action=goodwill&{}", fields.join("&"));
        let (back, page) = desk.send(&place, &form).await;
        assert!(
            back.starts_with(&format!("/wallets/{}/goodwill?", house.wallet)),
            "{back}"
        );
        assert!(
            page.contains(&format!("id=\"wrong-{field}\"")),
            "{field} {typed}: {page}"
        );
        assert!(page.contains(kept), "{field} {typed}: {page}");
        assert!(
            page.contains(&format!("name=\"key\" value=\"{key}\"")),
            "{page}"
        );
        if field != "amount" {
            assert!(page.contains("value=\"12.50\""), "{field}: {page}");
        }
        if field != "reason" {
            assert!(
                page.contains("Render nodes were down</textarea>"),
                "{field}: {page}"
            );
        }
    }
    assert_eq!(everything(&house).await, before);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_hold_of_an_uncertain_job_is_given_up_once_and_by_two(owner: PgPool) {
    let house = House::new(owner).await;
    house.source("gateway").await;
    house.grant("100", None).await;
    let job = house.submitted("r1", "4").await;
    let reference = json!({ "source": "gateway", "provider_reference": "abc" });
    let path = format!("/v1/jobs/{job}/provider-reference");
    assert_eq!(
        house.call(Method::PUT, &path, Some(reference)).await.status,
        200
    );
    house.engine.clock().advance(chrono::TimeDelta::days(2));
    let maker = Desk::named(&house, "maker", Role::Finance).await;
    let checker = Desk::named(&house, "checker", Role::Finance).await;
    let list = maker.get("/uncertain").await.text;
    assert!(list.contains(&job), "{list}");

    let (place, form) = (
        format!("/jobs/{job}"),
        format!("action=release&job={job}&{WHY}"),
    );
    let action = proposed(&maker, &place, "release", &form).await;
    let post = format!("/wallets/{}/actions", house.wallet);
    let again = format!("key={action}&{form}");
    assert_eq!(
        maker.send(&post, &again).await.0,
        format!("/actions/{action}")
    );
    for _ in 0..2 {
        let said = match house
            .count("SELECT count(*) FROM actions WHERE state = 'waiting'")
            .await
        {
            0 => committed(&maker, &action).await,
            _ => {
                maker
                    .send(&format!("/actions/{action}/approve"), &typed(&action))
                    .await
                    .1
            }
        };
        assert!(
            said.contains("Sent: someone else") || said.contains("Not done: "),
            "{said}"
        );
    }
    assert_eq!(
        house
            .count("SELECT count(*) FROM settlements WHERE phase = 'release'")
            .await,
        0
    );
    for _ in 0..2 {
        let (_, said) = checker
            .send(&format!("/actions/{action}/approve"), &typed(&action))
            .await;
        assert!(said.contains("Done"), "{said}");
    }
    assert!(house.ledger().await.ends_with(
        "reserve/1 hold available→held 0.16 (99.84, 0.16)\nrelease/1 release held→available 0.16 (0, 100)\n"
    ));
    assert!(!maker.get("/uncertain").await.text.contains(&job));
    house.books_are_in_order().await;
}
