//! `/wallets/{id}/{action}`: what is asked for. Nothing happens here: the form leads to a dry run.
//!
//! A form that was refused comes back with what was typed in the address, and the page says what is
//! wrong with it by the same rules.

use domain::action::{Category, Kind, Request, Typed, Wrong};
use domain::id::{ActionId, WalletId};
use engine::ledger::views::{self, WalletLine};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

use super::words::{category_words, form_lead, form_title};
use crate::context::{PageError, may_act, page};
use crate::shell::{Crumb, Frame, FrameData};
use crate::ui::{
    Button, ButtonKind, Choice, EmptyKind, EmptyState, Field, FieldError, Form, PageHead,
    SelectField, Textarea,
};

/// What came back with a refused form.
#[derive(Clone, Default)]
struct Returned {
    key: Option<ActionId>,
    amount: String,
    expires: String,
    category: String,
    reason: String,
}

/// `/wallets/{id}/{action}`
#[component]
pub fn ActionFormPage() -> AnyView {
    let params = use_params_map().read_untracked().clone();
    let wallet = params.get("id").and_then(|id| id.parse::<WalletId>().ok());
    let kind = params
        .get("action")
        .and_then(|word| word.parse::<Kind>().ok());
    let query = use_query_map().read_untracked().clone();
    let text = |key: &str| query.get(key).unwrap_or_default();
    let returned = Returned {
        key: query.get("key").and_then(|key| key.parse().ok()),
        amount: text("amount"),
        expires: text("expires"),
        category: text("category"),
        reason: text("reason"),
    };
    page(|engine| async move {
        let (wallet, kind) = wallet.zip(kind).ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let wallet = views::wallet(&mut books, wallet)
            .await?
            .ok_or(PageError::NotFound)?
            .line;
        let key = returned.key.unwrap_or_else(|| ActionId(engine.mint()));
        Ok(view! { <ActionForm wallet kind key returned/> }.into_any())
    })
}

#[component]
fn ActionForm(wallet: WalletLine, kind: Kind, key: ActionId, returned: Returned) -> AnyView {
    let home = format!("/wallets/{}", wallet.wallet);
    let title = form_title(kind);
    let crumbs = vec![
        Crumb::link("Wallets", "/wallets"),
        Crumb::link(wallet.name.clone(), home.clone()),
        Crumb::here(title),
    ];
    let form = if may_act() {
        fields(&wallet, kind, key, returned)
    } else {
        view! {
            <EmptyState kind=EmptyKind::NoPermission title="Your role does not act on wallets">
                "Reading stays open to you. An administrator can give you the role finance."
            </EmptyState>
        }
        .into_any()
    };
    let of = format!("{} · {}", wallet.name, wallet.tenant_name);
    view! {
        <Frame title=format!("{title}: {of}") crumbs>
            <PageHead title lead=form_lead(kind)/>
            <div class="stack">
                <p class="muted">{of}</p>
                {form}
            </div>
        </Frame>
    }
    .into_any()
}

fn fields(wallet: &WalletLine, kind: Kind, key: ActionId, returned: Returned) -> AnyView {
    let wrong = match returned.key {
        Some(_) => wrong(wallet, kind, &returned),
        None => Vec::new(),
    };
    let error = |field: &str| {
        let found = wrong.iter().find(|wrong| wrong.field == field);
        found.map(|wrong| wrong.message.to_owned())
    };
    let (category_error, reason_error) = (error("category"), error("reason"));
    let (amount_error, expires_error) = (error("amount"), error("expires"));
    let errors = wrong
        .iter()
        .map(|wrong| FieldError {
            field: wrong.field.into(),
            message: wrong.message.into(),
        })
        .collect();
    let currency = wallet.available.currency().code();
    let money = (kind == Kind::Goodwill).then(|| {
        view! {
            <Field
                name="amount"
                label=format!("Amount in {currency}")
                value=returned.amount
                inputmode="decimal"
                autocomplete="off"
                required=true
                maxlength=32
                error=amount_error
            />
            <Field
                name="expires"
                label="Expires"
                kind="date"
                value=returned.expires
                hint="At the beginning of this day, UTC. Leave it empty for credit that never expires."
                error=expires_error
            />
        }
    });
    let choices = std::iter::once(Choice::new("", "choose"))
        .chain(
            Category::ALL
                .iter()
                .map(|category| Choice::new(category.as_str(), category_words(*category))),
        )
        .collect();
    view! {
        <Form action=format!("/wallets/{}/actions", wallet.wallet) errors>
            <input type="hidden" name="key" value=key.to_string()/>
            <input type="hidden" name="action" value=kind.as_str()/>
            {money}
            <SelectField
                name="category"
                label="Because of"
                choices
                selected=returned.category
                error=category_error
            />
            <Textarea
                name="reason"
                label="Reason"
                value=returned.reason
                required=true
                hint="For whoever reads the books later. It stays for ever."
                error=reason_error
            />
            <div class="submit">
                <Button kind=ButtonKind::Primary>"Show what it would do"</Button>
            </div>
        </Form>
    }
    .into_any()
}

fn wrong(wallet: &WalletLine, kind: Kind, returned: &Returned) -> Vec<Wrong> {
    let typed = Typed {
        amount: returned.amount.clone(),
        expires: returned.expires.clone(),
        category: returned.category.clone(),
        reason: returned.reason.clone(),
    };
    let subject = (wallet.wallet, wallet.available.currency());
    Request::read(kind, subject, &typed, FrameData::current().now)
        .err()
        .unwrap_or_default()
}
