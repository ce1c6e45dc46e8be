//! A freeze from its form to the answer a product backend gets.

use axum::http::Method;
use engine::operator::Role;
use sqlx::PgPool;

use crate::{
    desk::{Desk, between},
    house::House,
};

/// Sends a form and commits what its dry run shows; a form that is sent twice is one action.
async fn act(desk: &Desk<'_>, place: &str, action: &str) -> String {
    let page = desk.get(&format!("{place}/{action}")).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let key = between(&page.text, "name=\"key\" value=\"", "\"");
    let form =
        format!("key={key}&action={action}&category=suspicion&reason=Paid+with+a+stolen+card");
    let (first, again) = (
        desk.post(&format!("{place}/actions"), &form).await,
        desk.post(&format!("{place}/actions"), &form).await,
    );
    let shown = first.header("location").to_owned();
    assert_eq!(
        (shown.as_str(), again.header("location")),
        (format!("/actions/{key}").as_str(), shown.as_str())
    );
    let dry_run = desk.get(&shown).await;
    assert!(
        dry_run.text.contains("What is held back"),
        "{}",
        dry_run.text
    );
    let basis = between(&dry_run.text, "name=\"basis\" value=\"", "\"");
    for _ in 0..2 {
        // A lift asks for the end of its key; other commits do not mind it.
        let confirm = &key[key.len() - 6..];
        let form = format!("basis={basis}&confirm={confirm}");
        desk.post(&format!("{shown}/commit"), &form).await;
    }
    shown
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_frozen_tenant_is_told_so_and_nobody_else(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    let known = house.submitted("r1", "1").await;
    let desk = Desk::of(&house, Role::Admin).await;
    let place = format!("/tenants/{}", house.tenant);
    let action = act(&desk, &place, "freeze").await;

    let answer = house.submit("r2", "1").await;
    assert_eq!(answer.outcome(), "403 wallet-frozen");
    assert_eq!(answer.json["tenant"], house.tenant.to_string());
    let detail = answer.json["detail"].as_str().unwrap();
    assert_eq!(
        detail,
        format!("{} is frozen: Paid with a stolen card", house.tenant)
    );
    assert_eq!(house.count("SELECT count(*) FROM jobs").await, 1);
    // What was submitted before answers as before.
    assert_eq!(
        house.submit("r1", "1").await.json["job"]["id"],
        known.as_str()
    );
    let (_, wallet, key) = House::tenant(&house.engine, "Other").await;
    let mut order = house.job("r1", "1");
    order["wallet"] = wallet.to_string().into();
    let order = Some(order.to_string());
    let other = house.call_with(&key, Method::POST, "/v1/jobs", order).await;
    assert_eq!(other.outcome(), "402 insufficient-funds");

    let page = desk.get("/freezes").await.text;
    for shown in [
        "Acme",
        "Paid with a stolen card",
        "Anna Keller",
        &action,
        "Lift the freeze",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(desk.get("/").await.text.contains("1 tenant frozen"));
    let wallet = desk.get(&format!("/wallets/{}", house.wallet)).await.text;
    assert!(wallet.contains("Tenant frozen"), "{wallet}");

    // A lift that is not confirmed stays a draft, whatever the browser let through.
    let page = desk.get(&format!("{place}/unfreeze")).await.text;
    let key = between(&page, "name=\"key\" value=\"", "\"");
    let form = format!("key={key}&action=unfreeze&category=resolved&reason=The+card+was+their+own");
    desk.post(&format!("{place}/actions"), &form).await;
    let basis = desk.get(&format!("/actions/{key}")).await.text;
    let basis = between(&basis, "name=\"basis\" value=\"", "\"");
    for typed in ["", "&confirm=yes"] {
        let form = format!("basis={basis}{typed}");
        let answer = desk.post(&format!("/actions/{key}/commit"), &form).await;
        assert!(answer.header("location").contains("unconfirmed=commit"));
    }
    let asked = desk
        .get(&format!("/actions/{key}?unconfirmed=commit"))
        .await;
    assert!(asked.text.contains("id=\"wrong-confirm\""));
    let waiting = "SELECT count(*) FROM actions WHERE state <> 'draft' AND action = 'unfreeze'";
    assert_eq!(house.count(waiting).await, 0);

    // A lift waits for someone else.
    let lift = act(&desk, &place, "unfreeze").await;
    desk.post(&format!("{lift}/approve"), "").await;
    assert_eq!(house.submit("r2", "1").await.outcome(), "403 wallet-frozen");
    assert!(
        desk.get("/approvals")
            .await
            .text
            .contains("Let billing go on")
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_source_is_frozen_where_it_is_listed_and_nothing_else_fits(owner: PgPool) {
    let house = House::new(owner).await;
    house.source("gateway").await;
    let desk = Desk::of(&house, Role::Admin).await;
    act(&desk, "/sources/gateway", "freeze").await;
    let page = desk.get("/sources").await.text;
    assert!(page.contains("Frozen: its events wait"), "{page}");
    assert!(page.contains("/sources/gateway/unfreeze"), "{page}");
    assert!(
        desk.get("/freezes")
            .await
            .text
            .contains("/webhooks/gateway")
    );

    for path in [
        "/sources/gateway/goodwill",
        "/sources/nowhere/freeze",
        "/tenants/tenant_1/freeze",
    ] {
        assert_eq!(desk.get(path).await.status, 404, "{path}");
    }
    let key = domain::id::ActionId(house.engine.mint());
    let form =
        format!("key={key}&action=goodwill&amount=5&category=other&reason=Because+I+can+do+it");
    for place in [
        format!("/tenants/{}", house.tenant),
        "/sources/gateway".to_owned(),
    ] {
        let answer = desk.post(&format!("{place}/actions"), &form).await;
        assert_eq!(answer.status, 404, "{place}");
    }
    // What is wrong with a form is told on the form, with what was typed.
    let short = format!("key={key}&action=unfreeze&category=&reason=short");
    let back = desk.post("/sources/gateway/actions", &short).await;
    let form = desk.get(back.header("location")).await.text;
    assert!(form.contains("Choose what kind of reason it is."), "{form}");
}
