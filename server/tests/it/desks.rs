//! The forms of the console: who may send each, from where, and what comes of sending one twice, late or wrong.
//!
//! [`FORMS`] knows every form there is. Each is sent once as it should be and changes something, so that a
//! refusal that changes nothing is one of the form and not of what was typed.

mod actions;
mod cases;
mod exceptions;
mod matches;
mod room;
mod settings;

use std::{fs, path::Path};

use engine::operator::Role;
use sqlx::PgPool;

use self::room::{Room, committed, everything, proposed, reconciled, typed, uuid};
use crate::desk::{BOUNDARY, Desk, request};

/// Who may send a form.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Takes {
    /// Whoever comes by.
    Nobody,
    /// Whoever is signed in; nothing is decided by it.
    SignedIn,
    /// Whoever has this role or a higher one.
    Role(Role),
}

const FINANCE: Takes = Takes::Role(Role::Finance);

/// A form: its route, a path of it, its fields. `{…}` stands for what the room has.
type Form = (&'static str, &'static str, &'static str, Takes);

const FORMS: &[Form] = &[
    ("/sign-in", "/sign-in", "email=a&password=b", Takes::Nobody),
    ("/theme", "/theme", "theme=dark", Takes::Nobody),
    ("/shortcuts", "/shortcuts", "shortcuts=off", Takes::SignedIn),
    ("/audit/check", "/audit/check", "", Takes::SignedIn),
    (
        "/jobs/{job}/ask",
        "/jobs/{job}/ask",
        "back=%2Funcertain",
        Takes::Role(Role::Support),
    ),
    (
        "/wallets/{wallet}/actions",
        "/wallets/{wallet}/actions",
        "key={key}&action=goodwill&amount=5&category=incident&reason=Render+nodes+were+down",
        FINANCE,
    ),
    (
        "/tenants/{tenant}/actions",
        "/tenants/{tenant}/actions",
        "key={key}&action=freeze&category=suspicion&reason=Paid+with+a+stolen+card",
        FINANCE,
    ),
    (
        "/sources/{slug}/actions",
        "/sources/gateway/actions",
        "key={key}&action=freeze&category=suspicion&reason=Its+numbers+cannot+be+true",
        FINANCE,
    ),
    (
        "/actions/{id}/{step}",
        "/actions/{action}/refuse",
        "reason=No+incident+that+day",
        FINANCE,
    ),
    (
        "/events/{event}/decide",
        "/events/{event}/decide",
        "decision=dismiss&reason=A+job+of+another+system",
        FINANCE,
    ),
    (
        "/statements/{statement}/matches",
        "/statements/{told}/matches",
        "key={match}&meter=images&part=t-1&part=r-1&reason=They+bill+it+under+their+own+id",
        FINANCE,
    ),
    (
        "/statements/{statement}/matches/{id}/undo",
        "/statements/{told}/matches/{matched}/undo",
        "reason_{matched}=It+was+another+batch",
        FINANCE,
    ),
    // After the matches: another statement of the period counts from here on.
    ("/statements", "/statements", STATEMENT, FINANCE),
    (
        "/exceptions/act",
        "/exceptions/act",
        "step=take&id={exception}&key={uuid}",
        FINANCE,
    ),
    (
        "/exceptions/{id}/{step}",
        "/exceptions/exc_{exception}/note",
        "key={uuid}&note=Seen+after+the+restore",
        FINANCE,
    ),
    ("/reconciliation/run", "/reconciliation/run", "", FINANCE),
    (
        "/tasks",
        "/tasks",
        "kind=repair&filter=&key={uuid}",
        FINANCE,
    ),
    ("/tasks/{id}/{step}", "/tasks/{task}/cancel", "", FINANCE),
    (
        "/thresholds",
        "/thresholds",
        "action=goodwill&currency=USD&above=5",
        Takes::Role(Role::Admin),
    ),
    (
        "/views",
        "/views",
        "list=jobs&filters=state%3Dfailed&view_name=Failed&shared=false",
        Takes::SignedIn,
    ),
    (
        "/views/{id}/delete",
        "/views/{uuid}/delete",
        "back=%2Fjobs",
        Takes::SignedIn,
    ),
    // Last: it ends the session.
    ("/sign-out", "/sign-out", "", Takes::SignedIn),
];

const STATEMENT: &str = "--cut\r\ncontent-disposition: form-data; name=\"key\"\r\n\r\n{statement}\r\n\
    --cut\r\ncontent-disposition: form-data; name=\"statement_source\"\r\n\r\ngateway\r\n\
    --cut\r\ncontent-disposition: form-data; name=\"from\"\r\n\r\n2026-11-01\r\n\
    --cut\r\ncontent-disposition: form-data; name=\"to\"\r\n\r\n2026-12-01\r\n\
    --cut\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\
    content-type: text/csv\r\n\r\nreference,meter,quantity\nr-1,images,1\n\r\n--cut--\r\n";

/// Headers of a form that stands on another site.
const ELSEWHERE: &[(&str, &str)] = &[
    ("host", "books.example"),
    ("origin", "https://elsewhere.example"),
    ("sec-fetch-site", "cross-site"),
];

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_form_acts_for_whom_it_is_meant_and_from_this_site_only(owner: PgPool) {
    let mut room = Room::new(owner).await;
    let house = room.house.clone();
    let admin = Desk::of(&house, Role::Admin).await;
    room.fill(&admin).await;
    let desks = [
        (Role::Viewer, Desk::of(&house, Role::Viewer).await),
        (Role::Support, Desk::of(&house, Role::Support).await),
        (Role::Finance, Desk::of(&house, Role::Finance).await),
        (Role::Admin, admin),
    ];
    for (route, path, form, takes) in FORMS {
        let (path, form) = (room.about(path), room.about(form));
        let before = everything(&house).await;
        let nobody = house.send(request(&path, &[], &form)).await;
        let turned_away = nobody.header("location").starts_with("/sign-in?back=");
        assert_eq!(turned_away, *takes != Takes::Nobody, "{route}: {nobody:?}");
        let elsewhere = desks[3].1.post_from(ELSEWHERE, &path, &form).await;
        assert_eq!(elsewhere.outcome(), "403 forbidden", "{route}");
        let Takes::Role(least) = *takes else {
            let viewer = desks[0].1.post(&path, &form).await;
            assert_eq!(viewer.status, 303, "{route}: {}", viewer.text);
            continue;
        };
        for (role, desk) in desks.iter().filter(|(role, _)| *role < least) {
            let refused = desk.post(&path, &form).await;
            assert_eq!(refused.outcome(), "403 forbidden", "{route} {role}");
            let why = format!("This takes the role {least}; yours is {role}.");
            assert_eq!(refused.json["detail"], why, "{route}");
        }
        assert_eq!(
            everything(&house).await,
            before,
            "{route}: refused, and yet"
        );
        let (_, allowed) = desks.iter().find(|(role, _)| *role == least).unwrap();
        let done = allowed.post(&path, &form).await;
        assert_eq!(done.status, 303, "{route}: {}", done.text);
        assert_ne!(
            everything(&house).await,
            before,
            "{route}: nothing came of it"
        );
    }
}

/// Paths of the routes of a text that take a form.
fn posted(text: &str) -> Vec<&str> {
    let routes = text.split(".route(").skip(1);
    let posts = routes.filter(|route| {
        let end = route.find(".with_state(").unwrap_or(route.len());
        route[..end].contains("post(")
    });
    posts
        .map(|route| route.split('"').nth(1).unwrap())
        .collect()
}

#[test]
fn every_form_of_the_console_is_among_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console");
    let routes = fs::read_to_string(folder.with_extension("rs")).unwrap();
    let mut posted = posted(&routes);
    posted.sort_unstable();
    let mut known: Vec<_> = FORMS.iter().map(|(route, ..)| *route).collect();
    known.sort_unstable();
    assert_eq!(posted, known, "each form has a line in FORMS");
    for file in fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
    {
        if file.is_file() {
            let text = fs::read_to_string(&file).unwrap();
            let here = ["post(", "put(", "patch(", "delete("];
            let hidden = here
                .iter()
                .any(|verb| text.contains(&format!("routing::{verb}")));
            assert!(
                !hidden && !text.contains("use axum::routing"),
                "{file:?} has routes of its own"
            );
        }
    }
    assert!(STATEMENT.starts_with(&format!("--{BOUNDARY}")));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_does_not_exist_is_not_acted_on(owner: PgPool) {
    let room = Room::new(owner).await;
    let finance = Desk::of(&room.house, Role::Finance).await;
    let before = everything(&room.house).await;
    let goodwill = "key={key}&action=goodwill&amount=5&category=other&reason=Because+I+can+do+it";
    let freeze = "key={key}&action=freeze&category=suspicion&reason=Paid+with+a+stolen+card";
    let (stranger, wallet) = (
        "0190c5c2a3b47c1e8f00d2a1b3c4d5e6",
        "/wallets/{wallet}/actions",
    );
    for (path, form) in [
        (&*format!("/wallets/wallet_{stranger}/actions"), goodwill),
        ("/wallets/somewhere/actions", goodwill),
        (wallet, &goodwill.replace("goodwill", "confiscate")),
        (wallet, &goodwill.replace("{key}", "act_1")),
        (
            wallet,
            &format!(
                "{}&job=job_{stranger}",
                goodwill.replace("goodwill", "charge")
            ),
        ),
        (
            wallet,
            &format!("{}&job=job_1", goodwill.replace("goodwill", "charge")),
        ),
        (&format!("/tenants/tenant_{stranger}/actions"), freeze),
        ("/sources/nowhere/actions", freeze),
        (&format!("/actions/act_{stranger}/approve"), ""),
        (
            &format!("/actions/act_{stranger}/commit"),
            &format!("basis={}", "00".repeat(32)),
        ),
        ("/actions/act_1/approve", ""),
        (&format!("/actions/act_{stranger}/embezzle"), ""),
        (
            "/events/evt_999/decide",
            "decision=dismiss&reason=A+job+of+another+system",
        ),
        (
            "/events/{event}/decide",
            "decision=keep_first&conflict=7&reason=It+came+first",
        ),
        (
            "/events/{event}/decide",
            "decision=forget&reason=A+job+of+another+system",
        ),
        ("/exceptions/exc_999/take", "key={uuid}"),
        ("/exceptions/999/take", "key={uuid}"),
        ("/exceptions/exc_{exception}/hide", "key={uuid}"),
        ("/exceptions/exc_{exception}/take", "key=1"),
        ("/exceptions/act", "step=take&id=999&key={uuid}"),
        ("/exceptions/act", "step=take&id=all&key={uuid}"),
        ("/tasks", "kind=repair&filter=&key=1"),
        ("/tasks", "kind=erase&filter=&key={uuid}"),
        (
            &format!("/tasks/task_{stranger}/start"),
            "reason=The+restore+is+done",
        ),
        (&format!("/tasks/task_{stranger}/hurry"), ""),
        ("/tasks/1/cancel", ""),
        (
            &format!("/statements/stmt_{stranger}/matches"),
            "key={match}&meter=images&part=t-1&part=r-1&reason=They+are+the+same",
        ),
        (
            "/statements/{told}/matches",
            "key=1&meter=images&part=t-1&part=r-1&reason=They+are+the+same",
        ),
        (
            "/statements/{told}/matches",
            "key={match}&meter=&part=t-1&part=r-1&reason=They+are+the+same",
        ),
        (
            &format!("/statements/{{told}}/matches/match_{stranger}/undo"),
            &format!("reason_match_{stranger}=It+was+another+batch"),
        ),
    ] {
        let answer = finance.post(&room.about(path), &room.about(form)).await;
        assert_eq!(
            answer.outcome(),
            "404 not-found",
            "{path} {form}: {}",
            answer.text
        );
    }
    assert_eq!(everything(&room.house).await, before);
}
