//! What stands beside the proof: the job's own facts, and what it is related to.

use domain::action::Kind;
use domain::job::SettlementState;
use domain::settlement::Phase;
use engine::settlement::views::JobProof;
use leptos::prelude::*;

use crate::actions::form_title;
use crate::context::may_act;
use crate::ui::{Id, KeyValue, Pair, Related, RelatedLink, Time, TimeStyle};
use crate::words::count;

#[component]
pub(super) fn Side(proof: JobProof) -> AnyView {
    let job = &proof.job;
    let jobs_of = |key: &str, value: String| format!("/jobs?{key}={value}");
    let provider = match (&job.source_slug, &job.provider_reference) {
        (_, Some(reference)) => {
            view! { <Id value=reference.clone() what="provider reference"/> }.into_any()
        }
        (Some(_), None) | (None, None) => {
            view! { <span class="muted">"not attached yet"</span> }.into_any()
        }
    };
    let output = match (&job.output_reference, job.output_required) {
        (Some(reference), _) => {
            view! { <Id value=reference.clone() what="output reference"/> }.into_any()
        }
        (None, true) => view! { <span class="muted">"required, not stored yet"</span> }.into_any(),
        (None, false) => view! { <span class="muted">"not required"</span> }.into_any(),
    };
    let model = format!("/prices#{}", crate::prices::anchor(&job.model));
    let model = view! { <a href=model>{job.model.clone()}</a> };
    let tenant = jobs_of("tenant", job.tenant.to_string());
    let tenant = view! { <a href=tenant>{job.tenant_name.clone()}</a> };
    let (id, user, version) = (job.job.to_string(), job.user_id.clone(), job.price_version);
    let (accepted, since) = (job.submitted_at, job.state_at);
    let acts = may_act().then(|| acts(&proof));
    let related = related(&proof);
    let print = format!("/jobs/{}/print", job.job);
    view! {
        <aside class="side" aria-label="About this job">
            <section>
                <h2>"Job"</h2>
                <KeyValue>
                    <Pair label="Id"><Id value=id what="job id"/></Pair>
                    <Pair label="Tenant">{tenant}</Pair>
                    <Pair label="User">{user}</Pair>
                    <Pair label="Model">{model}</Pair>
                    <Pair label="Price">"version "{version}", frozen"</Pair>
                    <Pair label="Provider ref">{provider}</Pair>
                    <Pair label="Output">{output}</Pair>
                    <Pair label="Accepted"><Time at=accepted style=TimeStyle::Stamp/></Pair>
                    <Pair label="State since"><Time at=since style=TimeStyle::Stamp/></Pair>
                </KeyValue>
            </section>
            {acts}
            {related}
            <p class="print"><a href=print>"Print the proof"</a></p>
        </aside>
    }
    .into_any()
}

/// What may be done with the job's money. A charge that people corrected is undone from the correction.
fn acts(proof: &JobProof) -> AnyView {
    let job = &proof.job;
    let is_charged = job.captured.is_positive();
    let was_charged = proof
        .settlements
        .iter()
        .any(|settlement| settlement.line.key.phase == Phase::Capture);
    let offered = [
        (Kind::Release, job.state.in_flight()),
        (Kind::Credit, is_charged),
        (
            Kind::Charge,
            was_charged && job.settlement_state != SettlementState::Reversed,
        ),
        (Kind::Reverse, is_charged),
    ];
    let links: Vec<_> = offered
        .into_iter()
        .filter(|(_, is_offered)| *is_offered)
        .map(|(kind, _)| {
            let href = format!("/jobs/{}/{kind}", job.job);
            view! { <RelatedLink href>{form_title(kind)}</RelatedLink> }
        })
        .collect();
    if links.is_empty() {
        return ().into_any();
    }
    view! { <div class="acts"><Related title="Act">{links}</Related></div> }.into_any()
}

/// Everything the job leads to, each way with a count.
fn related(proof: &JobProof) -> AnyView {
    let job = &proof.job;
    let wallet = format!("/wallets/{}", job.wallet);
    let (wallet_name, tenant) = (
        format!("Wallet {}", job.wallet_name),
        job.tenant_name.clone(),
    );
    let (events, heard) = (
        format!("/events?job={}", job.job),
        proof.events.len().to_string(),
    );
    let source = job.source_slug.clone().map(|slug| {
        let name = format!("Source {slug}");
        view! { <RelatedLink href=format!("/sources#{slug}")>{name}</RelatedLink> }
    });
    let settlements = proof.settlements.iter().map(|settlement| {
        let key = settlement.line.key;
        let moved = count(i64::try_from(settlement.transfers.len()).unwrap_or(0), "transfer", "transfers");
        let name = format!("{}/{}", key.phase, key.version);
        view! {
            <RelatedLink href=format!("/settlements/{}", settlement.line.id) note=moved>{name}</RelatedLink>
        }
    });
    let settlements = settlements.collect_view();
    view! {
        <Related title="Related">
            <RelatedLink href=wallet note=tenant>{wallet_name}</RelatedLink>
            <RelatedLink href=events note=heard>"Events"</RelatedLink>
            {source}
            {settlements}
        </Related>
    }
    .into_any()
}
