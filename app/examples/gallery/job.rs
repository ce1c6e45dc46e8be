//! The page of one job, with its whole proof.

use app::shell::{Crumb, Frame};
use app::ui::*;
use leptos::prelude::*;

use super::{at, usd};

pub(crate) const ID: &str = "job_019ad0c2a7f17e539d2b6c1f00aa7q2m";
const PAYLOAD: &str = r#"{"id":"gm3qorzdhgbfurvjtvhg6dckhu","status":"succeeded","metrics":{"image_count":1,"predict_time":4.910},"output":["https://example.net/out.png"],"error":null,"completed_at":"2026-11-30T13:13:03.412Z"}"#;

fn movement(entry: &str, from: &str, to: &str, amount: &str) -> Move {
    Move {
        entry: entry.into(),
        from: from.into(),
        to: to.into(),
        amount: usd(amount),
    }
}

fn proof() -> impl IntoView {
    view! {
        <ProofTimeline label="How this job was settled">
            <Step
                id="accepted"
                at=Some(at("2026-11-30T13:12:58.100Z"))
                title="accepted"
                note=Some("price flux-tiny v12, quoted for at most 1 image".to_owned())
                amount=Some(usd("0.05"))
            >
                <span class="muted">"client request "<Id value="b7c1c9c0-41a5-4a62-9d41-0c3a5f6ab1f2" what="client request id"/></span>
            </Step>
            <Step
                id="reserve-1"
                at=Some(at("2026-11-30T13:12:58.100Z"))
                title="reserve/1"
                note=Some("lot of 1 November, expires 1 May 2027".to_owned())
                moves=vec![movement("reserve", "available", "held", "0.05")]
                shifts=vec![BalanceShift { account: "available".into(), before: usd("142.008"), after: usd("141.958") }]
            />
            <Step
                id="delivery-1"
                at=Some(at("2026-11-30T13:13:03.300Z"))
                gap=Some("+5.2 s".to_owned())
                tone=Tone::Good
                title="event"
                note=Some("signature ok, delivered twice, one duplicate absorbed".to_owned())
            >
                <span class="muted">"event "<Id value="evt_019ad0c2bbd07e539d2b6c1f00aa31fa" href="/events/evt_1" what="event id"/></span>
                <a href="#payload">"payload"</a>
            </Step>
            <Step
                id="usage"
                at=Some(at("2026-11-30T13:13:03.700Z"))
                gap=Some("+0.4 s".to_owned())
                title="usage"
                note=Some("1 image at 0.0420, from metrics.image_count".to_owned())
                amount=Some(usd("0.042"))
            />
            <Step
                id="capture-1"
                at=Some(at("2026-11-30T13:13:03.700Z"))
                tone=Tone::Good
                title="capture/1"
                moves=vec![
                    movement("capture", "held", "revenue", "0.042"),
                    movement("remainder", "held", "available", "0.008"),
                ]
                shifts=vec![
                    BalanceShift { account: "held".into(), before: usd("0.05"), after: usd("0") },
                    BalanceShift { account: "available".into(), before: usd("141.958"), after: usd("141.966") },
                ]
            >
                <span class="muted">"key "<Id value="acme/job_019ad0c2a7f17e539d2b6c1f00aa7q2m/capture/1" what="settlement key"/></span>
            </Step>
            <Step
                id="late"
                at=Some(at("2026-11-30T13:14:20Z"))
                gap=Some("+1 min".to_owned())
                tone=Tone::Attention
                title="conflict"
                note=Some("the same event came again with image_count 2; the first stands".to_owned())
            >
                <a href="/events/evt_1#conflict">"Compare both payloads"</a>
            </Step>
        </ProofTimeline>
    }
}

fn side() -> impl IntoView {
    view! {
        <aside class="side" aria-label="About this job">
            <section>
                <h2>"Job"</h2>
                <KeyValue>
                    <Pair label="Id"><Id value=ID what="job id"/></Pair>
                    <Pair label="Tenant"><a href="/jobs?tenant=acme">"acme"</a></Pair>
                    <Pair label="Model">"flux-tiny"</Pair>
                    <Pair label="Provider ref"><Id value="gm3qorzdhgbfurvjtvhg6dckhu" what="provider reference"/></Pair>
                    <Pair label="Accepted"><Time at=at("2026-11-30T13:12:58Z") style=TimeStyle::Stamp/></Pair>
                </KeyValue>
            </section>
            <section>
                <h2>"Pricing snapshot"</h2>
                <KeyValue>
                    <Pair label="Version">"flux-tiny v12"</Pair>
                    <Pair label="Unit price" num=true><Amount value=usd("0.042") places=4/></Pair>
                    <Pair label="Quantity" num=true>"1 image"</Pair>
                    <Pair label="Rated" num=true><Amount value=usd("0.042") places=4/></Pair>
                    <Pair label="Rounding">"half even, 6 places"</Pair>
                </KeyValue>
            </section>
            <Related title="Related">
                <RelatedLink href="/wallets/w1" note="141.9660 USD">"Wallet of acme"</RelatedLink>
                <RelatedLink href="/settlements?job=1" note="2">"Settlements"</RelatedLink>
                <RelatedLink href="/events?job=1" note="1">"Events"</RelatedLink>
                <RelatedLink href="/deliveries?job=1" note="3">"Deliveries"</RelatedLink>
            </Related>
        </aside>
    }
}

pub(crate) fn page() -> AnyView {
    let headline = view! { "Captured "<Amount value=usd("0.042")/> }.into_any();
    let aside = view! { "held "<Amount value=usd("0")/>" · acme / flux-tiny" }.into_any();
    view! {
        <Frame title="Job 7q2m" crumbs=vec![Crumb::link("Jobs", "/jobs"), Crumb::here("job_019ad0…7q2m")]>
            <ObjectHead headline aside tone=Tone::Good state="Completed">
                <Fact><Time at=at("2026-11-30T13:13:03Z")/></Fact>
                <Fact>"settled 0.4 s later"</Fact>
                <NextStep>"Nothing is due"</NextStep>
            </ObjectHead>
            <div class="split">
                <div class="stack">
                    <Sentence>
                        "Reserved 0.0500, used 1 image at 0.0420, captured 0.0420, returned 0.0080."
                    </Sentence>
                    <Section title="Proof" id="proof" note=view! { "times in UTC+1" }.into_any()>{proof()}</Section>
                    <Section title="Evidence" id="evidence">
                        <div class="stack" data-gap="small" id="payload">
                            <JsonView title="Payload as received" raw=PAYLOAD open=true/>
                            <JsonView title="Pricing snapshot" raw=r#"{"version":12,"unit_price":"0.0420"}"#/>
                        </div>
                    </Section>
                </div>
                {side()}
            </div>
        </Frame>
    }
    .into_any()
}
