//! The proof on paper: whose copy it is, of which moment, and a page without the console around it.
//!
//! A browser prints only when a person asks it to, so the page says how and needs no script.

use engine::settlement::views::JobProof;
use leptos::prelude::*;
use leptos_meta::Title;

use crate::shell::FrameData;

/// What a sheet needs to stand on its own: who printed it, when, and what it is about. Seen on paper only.
#[component]
pub(super) fn Printed(
    /// The job with everything that was settled for it.
    proof: JobProof,
) -> AnyView {
    let frame = FrameData::current();
    let who = frame
        .operator
        .map(|operator| format!("{} ({})", operator.name, operator.email));
    let at = frame.now.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    let job = &proof.job;
    let mode = if job.livemode { "live" } else { "test" };
    let about = format!(
        "{} of {} ({}), {mode} money",
        job.job, job.tenant_name, job.tenant
    );
    view! {
        <div class="printed">
            <p><strong>"Quittance: proof of a job"</strong></p>
            <p>{about}</p>
            <p>"Read from the books "{at}", printed by "{who}</p>
        </div>
    }
    .into_any()
}

/// A page as it goes on paper: black on white, without rail and bar.
#[component]
pub(super) fn Paper(
    /// The document's title.
    title: String,
    /// The page on the screen.
    back: String,
    /// What is printed.
    children: Children,
) -> AnyView {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    view! {
        <Title text=format!("{title}, proof · Quittance")/>
        <a class="skip" href="#main">"Skip to content"</a>
        <div class="paper">
            <header class="how">
                <a href=back>"Back to the job"</a>
                " This is how it prints: press Ctrl+P, or ⌘P, or choose Print in the browser’s menu."
            </header>
            <main id="main" tabindex="-1">{children()}</main>
        </div>
    }
    .into_any()
}
