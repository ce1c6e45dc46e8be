//! `/freezes`: what is frozen, and what waits for the lift.

use domain::action::Kind;
use domain::freeze::Rule;
use engine::freeze::Of;
use engine::freeze::views::{self, Freeze, FrozenBy, FrozenWallet, HeldBack};
use leptos::prelude::*;

use super::held::{on_hold, waits};
use crate::context::{may_act, page};
use crate::list::livemode;
use crate::shell::Frame;
use crate::ui::{
    Column, DataTable, EmptyKind, EmptyState, PageHead, RowLink, Section, Time, TimeStyle, Tone,
};

/// `/freezes`
#[component]
pub fn FreezesPage() -> AnyView {
    let live = livemode();
    page(move |engine| async move {
        let mut books = engine.snapshot().await?;
        let mut rows = Vec::new();
        for freeze in views::in_force(&mut books, None).await? {
            // A tenant has both modes.
            if freeze.livemode.is_none_or(|mode| mode == live) {
                let held = views::held_back(&mut books, freeze.of).await?;
                rows.push((freeze, held));
            }
        }
        let wallets = views::wallets(&mut books, live).await?;
        let rule = views::rule(&mut books).await?;
        Ok(view! { <Freezes rows wallets rule/> }.into_any())
    })
}

#[component]
fn Freezes(
    rows: Vec<(Freeze, HeldBack)>,
    wallets: Vec<FrozenWallet>,
    rule: Option<Rule>,
) -> AnyView {
    let whole = if rows.is_empty() {
        view! {
            <EmptyState kind=EmptyKind::Nothing title="No tenant and no source is frozen">
                "A tenant is frozen from the page of a wallet of it, a source from the page of the sources."
            </EmptyState>
        }
        .into_any()
    } else {
        table(rows)
    };
    let wallets = (!wallets.is_empty()).then(|| wallets_table(wallets));
    let rule = rule_words(rule);
    view! {
        <Frame title="Frozen">
            <PageHead
                title="Frozen"
                lead="Nothing of it is settled, and nothing is lost: what comes in is kept and goes through after the lift. Lifting takes two people."
            />
            <div class="stack">
                {whole}
                {wallets}
                <Section title="Freezing by a rule" id="rule"><p>{rule}</p></Section>
            </div>
        </Frame>
    }
    .into_any()
}

fn rule_words(rule: Option<Rule>) -> String {
    match rule {
        Some(Rule { version, above }) => format!(
            "A reconciliation run that finds more than {above} exceptions about money of a tenant freezes it, \
             and the next one again while it is so: rule {version}, set on the command line by quittance \
             freeze-rule set."
        ),
        None => {
            "No rule is set, so no reconciliation run freezes anyone. Set one on the command line: \
                 quittance freeze-rule set."
                .to_owned()
        }
    }
}

fn table(rows: Vec<(Freeze, HeldBack)>) -> AnyView {
    let columns = vec![
        Column::text("What"),
        Column::text("Why"),
        Column::text("Waits"),
        Column::text("On hold for it"),
        Column::text("By"),
        Column::text("Since"),
    ];
    let rows = rows
        .into_iter()
        .map(|(freeze, held)| line(freeze, &held))
        .collect_view();
    view! {
        <DataTable id="freezes" caption="Frozen tenants and sources, oldest first" columns>{rows}</DataTable>
    }
    .into_any()
}

fn line(freeze: Freeze, held: &HeldBack) -> impl IntoView + use<> {
    let slug = freeze.slug.unwrap_or_default();
    let (href, lift, what) = match freeze.of {
        Of::Tenant(tenant) => (
            format!("/wallets?tenant={tenant}"),
            format!("/tenants/{tenant}/{}", Kind::Unfreeze),
            "tenant".to_owned(),
        ),
        Of::Source(_) => (
            format!("/sources#{slug}"),
            format!("/sources/{slug}/{}", Kind::Unfreeze),
            format!("source · /webhooks/{slug}"),
        ),
    };
    let lift = may_act().then(|| {
        let of = format!(" of {}", freeze.name);
        view! { <span class="detail"><a href=lift>"Lift the freeze"<span class="unseen">{of}</span></a></span> }
    });
    let by = match freeze.by {
        FrozenBy::Person { name, action } => {
            view! { <a href=format!("/actions/{action}")>{name}</a> }.into_any()
        }
        FrozenBy::Rule { version, run } => {
            let href = format!("/reconciliation#run_{run}");
            view! { "rule "{version}<span class="detail"><a href=href>"run "{run}</a></span> }
                .into_any()
        }
    };
    let since = freeze.since;
    let oldest = held
        .oldest
        .map(|at| view! { <span class="detail">"oldest "<Time at style=TimeStyle::Age/></span> });
    let detail = view! { {what} }.into_any();
    view! {
        <tr data-tone=Tone::Stop.as_str()>
            <RowLink href detail>{freeze.name}</RowLink>
            <td>{freeze.reason}{lift}</td>
            <td>{waits(held)}{oldest}</td>
            <td>{on_hold(held)}</td>
            <td>{by}</td>
            <td class="age"><Time at=since style=TimeStyle::Stamp/></td>
        </tr>
    }
}

fn wallets_table(wallets: Vec<FrozenWallet>) -> AnyView {
    let columns = vec![
        Column::text("Wallet"),
        Column::text("Why"),
        Column::text("Since"),
    ];
    let rows = wallets.into_iter().map(|row| {
        let detail = view! { {row.tenant} }.into_any();
        view! {
            <tr>
                <RowLink href=format!("/wallets/{}", row.wallet) detail>{row.name}</RowLink>
                <td>{row.reason}</td>
                <td class="age"><Time at=row.since style=TimeStyle::Stamp/></td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <Section title="Wallets" id="wallets">
            <DataTable id="frozen-wallets" caption="Wallets that spend nothing, newest first" columns>{rows}</DataTable>
        </Section>
    }
    .into_any()
}
