//! An exception of a provider's statement: where the statement is, and the form that corrects the charge.

use domain::action::{Category, Kind};
use domain::exception::State;
use engine::exception::views::Exception;
use engine::statement::views::GroupLine;
use leptos::prelude::*;
use leptos_router::params::ParamsMap;

use crate::actions::form_title;
use crate::context::may_act;
use crate::ui::LinkButton;

/// What can be done from here about a group that disagrees.
pub(super) fn ways(one: &Exception, group: &GroupLine) -> AnyView {
    let statement = format!("/statements/{}", group.statement);
    let correct = (one.state == State::Open && may_act())
        .then(|| correction(one, group))
        .flatten();
    view! {
        <p><a href=statement>"The statement that says so"</a></p>
        {correct}
    }
    .into_any()
}

/// The form that corrects the charge of the job, with its reason filled in. How much is for a person to
/// say: what the provider counted wrong is not what the tenant pays for.
fn correction(one: &Exception, group: &GroupLine) -> Option<AnyView> {
    let (_, job) = group.job?;
    let (ours, theirs) = (
        group.ours.unwrap_or_default(),
        group.theirs.unwrap_or_default(),
    );
    let kind = if theirs > ours {
        Kind::Charge
    } else {
        Kind::Credit
    };
    let mut typed = ParamsMap::new();
    let reason = format!("exc_{}: {}", one.id, one.detail);
    typed.insert("category", Category::Other.as_str().to_owned());
    typed.insert("reason", reason.chars().take(500).collect::<String>());
    let href = format!("/jobs/{job}/{kind}{}", typed.to_query_string());
    let label = format!("{} for this job", form_title(kind));
    Some(view! { <p><LinkButton href>{label}</LinkButton></p> }.into_any())
}
