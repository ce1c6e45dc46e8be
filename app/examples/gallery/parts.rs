//! Parts that no other page of the gallery shows: forms, buttons, badges, totals, empty lists.

use app::shell::Frame;
use app::ui::*;
use leptos::prelude::*;

use super::usd;

fn ledger() -> impl IntoView {
    let line = |entry: &'static str, amount: &str, balance: &str| {
        view! {
            <tr>
                <th scope="row">{entry}</th>
                <td class="num"><Amount value=usd(amount) side=Side::FromSign places=6/></td>
                <td class="num"><Amount value=usd(balance) places=6/></td>
            </tr>
        }
    };
    let foot = view! {
        <tr class="total" data-closed="">
            <th scope="row">"Closed"</th>
            <td class="num"><Amount value=usd("141.907904") side=Side::FromSign places=6/></td>
            <td class="num"><Amount value=usd("141.907904") places=6/></td>
        </tr>
    };
    let columns = vec![
        Column::text("Entry"),
        Column::num("Amount"),
        Column::num("Balance"),
    ];
    view! {
        <DataTable id="ledger" caption="Ledger, oldest first" columns foot=foot.into_any() plain=true>
            {line("grant", "200", "200")}
            {line("capture", "-58.0499", "141.9501")}
            {line("adjustment", "-0.042196", "141.907904")}
        </DataTable>
    }
}

fn form() -> impl IntoView {
    let wrong = "Enter an amount above zero, with a point: 12.40";
    let errors = vec![FieldError {
        field: "amount".into(),
        message: wrong.into(),
    }];
    view! {
        <Form action="/credit" errors>
            <Field name="amount" label="Amount" value="12,40-" inputmode="decimal" error=Some(wrong.to_owned())/>
            <SelectField
                name="reason"
                label="Category"
                choices=vec![Choice::new("goodwill", "Goodwill"), Choice::new("error", "Our error")]
                hint="Stands in the audit log."
            />
            <Textarea name="why" label="Reason" value="</textarea><b>Customer saw a wrong picture" hint="Up to 500 characters."/>
            <div class="submit">
                <Button kind=ButtonKind::Primary>"Post 12.40 EUR credit"</Button>
                <Button kind=ButtonKind::Danger>"Reverse 12.40 EUR"</Button>
                <Button>"Preview"</Button>
                <Button kind=ButtonKind::Quiet>"Cancel"</Button>
                <Button refused=Some("your role is viewer".to_owned())>"Approve"</Button>
            </div>
        </Form>
    }
}

pub(crate) fn page() -> AnyView {
    let tones = [
        (Tone::Neutral, "Ignored"),
        (Tone::Moving, "Running"),
        (Tone::Good, "Captured"),
        (Tone::Attention, "Conflict"),
        (Tone::Stop, "Blocked"),
    ];
    let badges = move |solid| {
        tones
            .map(|(tone, label)| view! { <StateBadge tone label solid=solid/> })
            .collect_view()
    };
    view! {
        <Frame title="Parts">
            <PageHead
                title="Parts"
                lead="What no other page shows."
                actions=view! { <LinkButton href="/prices/new" kind=ButtonKind::Primary>"New price version"</LinkButton> }.into_any()
            />
            <div class="stack">
                <Section title="States" id="states">
                    <p class="facts">{badges(false)}</p>
                    <p class="facts">{badges(true)}</p>
                </Section>
                <div class="cards">
                    <Card title="Compensate">{form()}</Card>
                    <div class="stack">
                        {ledger()}
                        <EmptyState kind=EmptyKind::Nothing title="No source yet" action_href="/sources/new" action="Add a source">
                            "A source is a sender of webhooks. Add one, then send it a test event."
                        </EmptyState>
                        <EmptyState kind=EmptyKind::NoPermission title="Audit is for administrators">
                            "Ask one of them to give you the role."
                        </EmptyState>
                    </div>
                </div>
            </div>
        </Frame>
    }
    .into_any()
}
