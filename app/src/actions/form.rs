//! `/wallets/{id}/{action}`, and the same of jobs, tenants and sources: what is asked for. Nothing happens
//! here: the form leads to a dry run.
//!
//! A form that was refused comes back with what was typed in the address, and the page says what is
//! wrong with it by the same rules. So does one that was sent after the session had ended.

use domain::action::{Category, Kind, Request, Subject, Target, Typed, Wrong};
use domain::id::{ActionId, JobId, SettlementId, TenantId, WalletId};
use domain::money::Amount;
use engine::freeze::{self, Of};
use engine::ledger::views::{self, WalletLine};
use engine::settlement::views::job_proof;
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

use super::words::{category_words, form_lead, title_on};
use crate::context::{PageError, may_act, page};
use crate::shell::{Crumb, Frame, FrameData};
use crate::ui::{
    Amount as AmountView, Button, ButtonKind, Choice, EmptyKind, EmptyState, Field, FieldError,
    Form, PageHead, SelectField, Textarea,
};
use crate::words::money;

/// What came back with a refused form.
#[derive(Clone, Default)]
struct Returned {
    key: Option<ActionId>,
    amount: String,
    expires: String,
    category: String,
    reason: String,
}

impl Returned {
    fn read() -> Self {
        let query = use_query_map().read_untracked().clone();
        // The one form of this page.
        let kept = FrameData::current().kept.unwrap_or_default();
        let text = |key: &str| kept.text_or(key, &query.get(key).unwrap_or_default());
        Self {
            key: text("key").parse().ok(),
            amount: text("amount"),
            expires: text("expires"),
            category: text("category"),
            reason: text("reason"),
        }
    }
}

/// What a form is about, as it is shown.
#[derive(Clone)]
struct About {
    kind: Kind,
    subject: Subject,
    /// What it is called.
    of: String,
    /// The pages above the form.
    above: Vec<Crumb>,
    /// Where the form is sent to.
    place: String,
    /// What the job is charged now.
    charged: Option<Amount>,
}

impl About {
    /// A wallet, and no job of it.
    fn wallet(kind: Kind, wallet: &WalletLine) -> Self {
        let place = format!("/wallets/{}", wallet.wallet);
        Self {
            kind,
            subject: Subject::wallet(wallet.wallet, wallet.available.currency()),
            of: format!("{} · {}", wallet.name, wallet.tenant_name),
            above: vec![
                Crumb::link("Wallets", "/wallets"),
                Crumb::link(wallet.name.clone(), place.clone()),
            ],
            place,
            charged: None,
        }
    }

    /// A tenant or a source.
    fn whole(kind: Kind, target: Target, of: String, above: Crumb, place: String) -> Self {
        Self {
            kind,
            subject: Subject::whole(target),
            of,
            above: vec![above],
            place,
            charged: None,
        }
    }
}

/// The kind of action the path names.
fn named() -> Option<Kind> {
    let params = use_params_map().read_untracked().clone();
    params.get("action").and_then(|word| word.parse().ok())
}

/// `/wallets/{id}/{action}`
#[component]
pub fn ActionFormPage() -> AnyView {
    let params = use_params_map().read_untracked().clone();
    let wallet = params.get("id").and_then(|id| id.parse::<WalletId>().ok());
    let kind = named().filter(|kind| !kind.is_of_job());
    let returned = Returned::read();
    page(|engine| async move {
        let (wallet, kind) = wallet.zip(kind).ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let wallet = views::wallet(&mut books, wallet).await?;
        let about = About::wallet(kind, &wallet.ok_or(PageError::NotFound)?.line);
        let key = returned.key.unwrap_or_else(|| ActionId(engine.mint()));
        Ok(view! { <ActionForm about key returned/> }.into_any())
    })
}

/// `/jobs/{id}/{action}`; `undoes` in the query names the correction that is taken back, `conflict` the
/// content that is taken for the right one.
#[component]
pub fn JobActionFormPage() -> AnyView {
    let params = use_params_map().read_untracked().clone();
    let job = params.get("id").and_then(|id| id.parse::<JobId>().ok());
    let undoes = use_query_map().read_untracked().get("undoes");
    let undoes = undoes.and_then(|id| id.parse::<SettlementId>().ok());
    let kind = named().filter(|kind| kind.is_of_job());
    let conflict = use_query_map().read_untracked().get("conflict");
    let conflict = conflict.and_then(|id| id.parse::<i64>().ok());
    let returned = Returned::read();
    page(|engine| async move {
        let (job, kind) = job.zip(kind).ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let proof = job_proof(&mut books, job)
            .await?
            .ok_or(PageError::NotFound)?;
        let wallet = views::wallet(&mut books, proof.job.wallet).await?;
        let about = About::wallet(kind, &wallet.ok_or(PageError::NotFound)?.line);
        let about = About {
            subject: Subject {
                job: Some(job),
                undoes,
                conflict,
                ..about.subject
            },
            above: vec![
                Crumb::link("Jobs", "/jobs"),
                Crumb::link(job.to_string(), format!("/jobs/{job}")),
            ],
            charged: Some(proof.job.captured),
            ..about
        };
        if !about.subject.fits(kind) {
            return Err(PageError::NotFound);
        }
        let key = returned.key.unwrap_or_else(|| ActionId(engine.mint()));
        Ok(view! { <ActionForm about key returned/> }.into_any())
    })
}

/// `/tenants/{id}/{action}`
#[component]
pub fn TenantActionFormPage() -> AnyView {
    let params = use_params_map().read_untracked().clone();
    let tenant = params.get("id").and_then(|id| id.parse::<TenantId>().ok());
    let kind = named();
    let returned = Returned::read();
    page(|engine| async move {
        let (tenant, kind) = tenant.zip(kind).ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let found = freeze::views::named(&mut books, Of::Tenant(tenant)).await?;
        let name = found.ok_or(PageError::NotFound)?.name;
        let above = Crumb::link("Wallets", format!("/wallets?tenant={tenant}"));
        let place = format!("/tenants/{tenant}");
        let about = About::whole(kind, Target::Tenant(tenant), name, above, place);
        if !about.subject.fits(kind) {
            return Err(PageError::NotFound);
        }
        let key = returned.key.unwrap_or_else(|| ActionId(engine.mint()));
        Ok(view! { <ActionForm about key returned/> }.into_any())
    })
}

/// `/sources/{slug}/{action}`
#[component]
pub fn SourceActionFormPage() -> AnyView {
    let params = use_params_map().read_untracked().clone();
    let slug = params.get("slug").unwrap_or_default();
    let kind = named();
    let returned = Returned::read();
    page(|engine| async move {
        let kind = kind.ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let source = freeze::views::source(&mut books, &slug).await?;
        let source = source.ok_or(PageError::NotFound)?;
        let found = freeze::views::named(&mut books, Of::Source(source)).await?;
        let name = found.ok_or(PageError::NotFound)?.name;
        let above = Crumb::link("Sources", format!("/sources#{slug}"));
        let place = format!("/sources/{slug}");
        let about = About::whole(kind, Target::Source(source), name, above, place);
        if !about.subject.fits(kind) {
            return Err(PageError::NotFound);
        }
        let key = returned.key.unwrap_or_else(|| ActionId(engine.mint()));
        Ok(view! { <ActionForm about key returned/> }.into_any())
    })
}

#[component]
fn ActionForm(about: About, key: ActionId, returned: Returned) -> AnyView {
    let (kind, target) = (about.kind, about.subject.target);
    let title = title_on(kind, target);
    let mut crumbs = about.above.clone();
    crumbs.push(Crumb::here(title));
    let of = about.of.clone();
    let now = about
        .charged
        .map(|charged| view! { " · the job is charged "<AmountView value=money(charged)/>" now" });
    let form = if may_act() {
        fields(&about, key, returned)
    } else {
        view! {
            <EmptyState kind=EmptyKind::NoPermission title="Your role does not act on money">
                "Reading stays open to you. An administrator can give you the role finance."
            </EmptyState>
        }
        .into_any()
    };
    view! {
        <Frame title=format!("{title}: {of}") crumbs>
            <PageHead title lead=form_lead(kind, target)/>
            <div class="stack">
                <p class="muted">{of.clone()}{now}</p>
                {form}
            </div>
        </Frame>
    }
    .into_any()
}

fn fields(about: &About, key: ActionId, returned: Returned) -> AnyView {
    let wrong = match returned.key {
        Some(_) => wrong(about, &returned),
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
    let (kind, subject) = (about.kind, about.subject);
    let currency = subject.currency.filter(|_| kind.takes_amount());
    let amount = currency.map(|currency| {
        let currency = currency.code();
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
        }
    });
    let expiry = (kind == Kind::Goodwill).then(|| {
        view! {
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
    let job = subject
        .job
        .map(|job| view! { <input type="hidden" name="job" value=job.to_string()/> });
    let undoes = subject
        .undoes
        .map(|id| view! { <input type="hidden" name="undoes" value=id.to_string()/> });
    let conflict = subject
        .conflict
        .map(|id| view! { <input type="hidden" name="conflict" value=id.to_string()/> });
    let choices = std::iter::once(Choice::new("", "choose"))
        .chain(
            Category::ALL
                .iter()
                .map(|category| Choice::new(category.as_str(), category_words(*category))),
        )
        .collect();
    view! {
        <Form action=format!("{}/actions", about.place) errors>
            <input type="hidden" name="key" value=key.to_string()/>
            <input type="hidden" name="action" value=kind.as_str()/>
            {job}
            {undoes}
            {conflict}
            {amount}
            {expiry}
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

fn wrong(about: &About, returned: &Returned) -> Vec<Wrong> {
    let typed = Typed {
        amount: returned.amount.clone(),
        expires: returned.expires.clone(),
        category: returned.category.clone(),
        reason: returned.reason.clone(),
    };
    Request::read(about.kind, about.subject, &typed, FrameData::current().now)
        .err()
        .unwrap_or_default()
}
