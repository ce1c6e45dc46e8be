//! What was typed into a form that was sent after its session had ended.
//!
//! It travels inside the sign-in page and back, so nothing is stored for whoever is not signed in; once
//! they are, their session keeps it until the form's page shows it again. Nothing is ever sent by itself.

use app::shell::Kept;
use axum::{
    Form,
    extract::{FromRequest as _, Request},
};
use domain::{action::Kind as ActionKind, id::JobId, saved_view::List};

use super::return_path;

/// Key of the session under which it waits for its page.
pub(super) const KEPT: &str = "kept";
/// Most fields of a form that is kept.
const MOST_FIELDS: usize = 40;
/// Most bytes of a form that is kept.
const MOST_BYTES: usize = 16 * 1024;
/// Never kept, whichever form has them.
const SECRETS: [&str; 3] = ["password", "secret", "token"];

/// Reads the form out of a request that is turned away, and says where it stands if it cannot be kept.
pub(super) async fn take(request: Request) -> Result<Kept, String> {
    let form = request.uri().path().to_owned();
    let bare = Kept {
        form: form.clone(),
        fields: Vec::new(),
    };
    let stands_on = page(&bare).unwrap_or_else(|| match form.as_str() {
        "/exceptions/act" => "/exceptions".to_owned(),
        "/statements" => form.clone(),
        _ => "/".to_owned(),
    });
    let fields = Form::from_request(request, &()).await.ok();
    fields
        .and_then(|Form(fields)| checked(Kept { form, fields }))
        .ok_or(stands_on)
}

/// Reads it out of the sign-in form. A browser sent it, so it is checked like the first time.
pub(super) fn read(text: &str) -> Option<Kept> {
    checked(serde_json::from_str(text).ok()?)
}

fn checked(mut kept: Kept) -> Option<Kept> {
    kept.fields
        .retain(|(name, _)| !SECRETS.iter().any(|secret| name.contains(secret)));
    let text = kept.fields.iter();
    let bytes: usize = text.map(|(name, value)| name.len() + value.len()).sum();
    let fits = kept.fields.len() <= MOST_FIELDS && bytes <= MOST_BYTES;
    let (fits, known) = (fits && !kept.fields.is_empty(), page(&kept).is_some());
    (fits && known).then_some(kept)
}

/// The page the form stands on; forms without anything typed have none.
pub(super) fn page(kept: &Kept) -> Option<String> {
    let parts: Vec<&str> = kept.form.strip_prefix('/')?.split('/').collect();
    let action = || kept.text("action").parse::<ActionKind>().ok();
    let page = match (parts.as_slice(), kept.text("job")) {
        (["wallets", _, "actions"], job) if !job.is_empty() => {
            let named = |name: &str| match kept.text(name) {
                value if value.is_empty() => None,
                value => Some(format!("{name}={}", return_path::encode(&value))),
            };
            let query: Vec<_> = ["undoes", "conflict"]
                .into_iter()
                .filter_map(named)
                .collect();
            let (job, action) = (job.parse::<JobId>().ok()?, action()?);
            let mark = if query.is_empty() { "" } else { "?" };
            format!("/jobs/{job}/{action}{mark}{}", query.join("&"))
        }
        ([noun @ ("wallets" | "tenants" | "sources"), id, "actions"], _) => {
            format!("/{noun}/{id}/{}", action()?)
        }
        (["events", id, "decide"], _) => format!("/events/{id}"),
        ([noun @ ("actions" | "exceptions" | "tasks"), id, _], _) => format!("/{noun}/{id}"),
        (["thresholds"], _) => "/thresholds".to_owned(),
        (["views"], _) => {
            let list = kept.text("list").parse::<List>().ok()?;
            format!("/{list}?{}", kept.text("filters"))
        }
        _ => return None,
    };
    (return_path::safe(&page) == page).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(form: &str, fields: &[(&str, &str)]) -> Kept {
        let fields = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Kept {
            form: form.to_owned(),
            fields: fields.collect(),
        }
    }

    fn check(form: &str, fields: &[(&str, &str)], expected: Option<&str>) {
        assert_eq!(page(&kept(form, fields)).as_deref(), expected, "{form}");
    }

    #[test]
    fn a_form_leads_to_the_page_it_stands_on() {
        let job = "job_00000000000000000000000000000007";
        check(
            "/wallets/w/actions",
            &[("action", "goodwill")],
            Some("/wallets/w/goodwill"),
        );
        check(
            "/wallets/w/actions",
            &[("action", "undo"), ("job", job), ("undoes", "stl_1&x")],
            Some(&format!("/jobs/{job}/undo?undoes=stl_1%26x")),
        );
        check(
            "/sources/acme/actions",
            &[("action", "freeze")],
            Some("/sources/acme/freeze"),
        );
        check("/events/evt_1/decide", &[], Some("/events/evt_1"));
        check("/exceptions/exc_1/note", &[], Some("/exceptions/exc_1"));
        check("/actions/act_1/refuse", &[], Some("/actions/act_1"));
        check("/thresholds", &[], Some("/thresholds"));
    }

    #[test]
    fn what_is_no_form_of_ours_has_no_page() {
        check("/wallets/w/actions", &[("action", "../../x")], None);
        check(
            "/wallets/w/actions",
            &[("action", "undo"), ("job", "//evil")],
            None,
        );
        check("//evil.example/decide", &[], None);
        check("/events/a\\b/decide", &[], None);
        check("/exceptions/act", &[], None);
        check("/statements", &[], None);
    }

    #[test]
    fn what_is_kept_is_bounded_and_holds_no_secret() {
        let whole = kept("/thresholds", &[("above", "1"), ("new_password", "x")]);
        assert_eq!(checked(whole).unwrap().fields.len(), 1);
        let (long, wide) = ("x".repeat(MOST_BYTES), vec![("a", "b"); MOST_FIELDS + 1]);
        assert_eq!(checked(kept("/thresholds", &[("above", &long)])), None);
        assert_eq!(checked(kept("/thresholds", &wide)), None);
        assert_eq!(
            read("{\"form\":\"/theme\",\"fields\":[[\"a\",\"b\"]]}"),
            None
        );
        assert_eq!(read("nonsense"), None);
    }
}
