//! Forms of actions: proposing one, and deciding on it. Each answers with a redirect to a page that
//! says what came of it; sending a form twice says the same twice.

use axum::{
    Form,
    extract::{Extension, Path, State},
    response::Response,
};
use domain::{
    action::{
        Kind as ActionKind, Onward, Request, State as ActionState, Subject, Target, Typed,
        is_confirmation,
    },
    canonical::Hash,
    id::{ActionId, TenantId, WalletId},
};
use engine::{
    Engine,
    action::{self, ActionError},
    error::StoreError,
    freeze,
    job::{self, correct::CorrectError},
    ledger,
    operator::Role,
};
use serde::Deserialize;
use sqlx::PgConnection;
use tower_sessions::Session;

use super::{Console, CurrentOperator, frame, return_path};
use crate::http::{
    problem::{Kind, Problem},
    request::RequestId,
};

#[derive(Deserialize)]
pub(super) struct ActionForm {
    key: String,
    action: String,
    #[serde(default)]
    job: String,
    #[serde(default)]
    undoes: String,
    #[serde(default)]
    conflict: String,
    #[serde(default)]
    amount: String,
    #[serde(default)]
    expires: String,
    #[serde(default)]
    category: String,
    #[serde(default)]
    reason: String,
}

/// A decision: `basis` belongs to a commit, `reason` to a refusal, `confirm` to what goes on.
#[derive(Deserialize)]
pub(super) struct StepForm {
    #[serde(default)]
    basis: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    confirm: String,
}

/// Proposes an action on a wallet, or on a job of it.
pub(super) async fn propose(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path(wallet): Path<String>,
    Form(form): Form<ActionForm>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let wallet: WalletId = wallet.parse().map_err(|_| not_found())?;
    let mut conn = console
        .engine
        .pool()
        .acquire()
        .await
        .map_err(StoreError::from)?;
    let found = ledger::views::wallet(&mut conn, wallet).await?;
    drop(conn);
    let currency = found.ok_or_else(not_found)?.line.available.currency();
    let subject = form.subject(Subject::wallet(wallet, currency))?;
    let form_page = match subject.job {
        Some(job) => format!("/jobs/{job}"),
        None => format!("/wallets/{wallet}"),
    };
    draft(&console, &who, &session, (subject, &form_page), &form).await
}

/// Proposes a freeze of a tenant, or its lift.
pub(super) async fn propose_on_tenant(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path(tenant): Path<String>,
    Form(form): Form<ActionForm>,
) -> Result<Response, Problem> {
    let tenant: TenantId = tenant.parse().map_err(|_| not_found())?;
    let subject = Subject::whole(Target::Tenant(tenant));
    let form_page = format!("/tenants/{tenant}");
    draft(&console, &who, &session, (subject, &form_page), &form).await
}

/// Proposes a freeze of a source, or its lift.
pub(super) async fn propose_on_source(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path(slug): Path<String>,
    Form(form): Form<ActionForm>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let mut conn = console
        .engine
        .pool()
        .acquire()
        .await
        .map_err(StoreError::from)?;
    let source = freeze::views::source(&mut conn, &slug).await?;
    drop(conn);
    let source = source.ok_or_else(not_found)?;
    let subject = Subject::whole(Target::Source(source));
    let form_page = format!("/sources/{slug}");
    draft(&console, &who, &session, (subject, &form_page), &form).await
}

/// Proposes what a form asks for and leads to its dry run, or back to the form with what was typed.
async fn draft(
    console: &Console,
    who: &CurrentOperator,
    session: &Session,
    (subject, form_page): (Subject, &str),
    form: &ActionForm,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let kind: ActionKind = form.action.parse().map_err(|_| not_found())?;
    let key: ActionId = form.key.parse().map_err(|_| not_found())?;
    if !subject.fits(kind) {
        return Err(not_found());
    }
    let typed = Typed {
        amount: form.amount.clone(),
        expires: form.expires.clone(),
        category: form.category.clone(),
        reason: form.reason.clone(),
    };
    let now = console.engine.clock().now();
    let Ok(request) = Request::read(kind, subject, &typed, now) else {
        return Ok(return_path::see_other(&back_to_form(form_page, kind, form)));
    };
    let request_id = RequestId::current();
    let by = who.by(request_id.as_ref());
    let step = console
        .engine
        .act(async |conn, engine| action::propose(conn, engine, key, &request, by).await);
    match step.await {
        Ok(()) => {}
        Err(ActionError::OtherRequest(_)) => {
            let text =
                "This form was sent before with other content; here is what it asked for then";
            let detail = "Nothing was changed. To ask for something else, open the form anew.";
            frame::tell(session, false, text, Some(detail.to_owned())).await;
        }
        Err(error) => return Err(problem(error)),
    }
    Ok(return_path::see_other(&format!("/actions/{key}")))
}

/// Takes a step of an action's life: `commit`, `approve`, `refuse` or `withdraw`.
pub(super) async fn step(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path((id, step)): Path<(String, String)>,
    Form(form): Form<StepForm>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let id: ActionId = id.parse().map_err(|_| not_found())?;
    let request_id = RequestId::current();
    let (by, engine) = (who.by(request_id.as_ref()), &console.engine);
    let onward = match step.as_str() {
        "commit" => Some(Onward::Commit),
        "approve" => Some(Onward::Approve),
        _ => None,
    };
    if let Some(onward) = onward
        && !confirmed(engine, id, onward, &form.confirm).await?
    {
        return Ok(return_path::see_other(&format!(
            "/actions/{id}?unconfirmed={step}#decision"
        )));
    }
    let done = match step.as_str() {
        // A basis that cannot be read was not shown by this console: the dry run is looked at again.
        "commit" => match hex::decode(&form.basis).ok().map(Hash::try_from) {
            Some(Ok(basis)) => engine.commit_action(id, basis, by).await,
            _ => Err(ActionError::Stale),
        },
        "approve" => engine.approve_action(id, by).await,
        "refuse" => {
            let refuse = async |conn: &mut PgConnection, engine: &Engine| {
                action::refuse(conn, engine, id, &form.reason, by).await
            };
            engine.act(refuse).await
        }
        "withdraw" => {
            let withdraw = async |conn: &mut PgConnection, engine: &Engine| {
                action::withdraw(conn, engine, id, by).await
            };
            engine.act(withdraw).await
        }
        _ => return Err(not_found()),
    };
    let changed = match done {
        Err(ActionError::Stale) => changed_since(engine, id).await?,
        _ => None,
    };
    answer(&session, id, done, changed).await
}

/// Whether the step may go on with what was typed. An action whose dry run cannot be made, or that has
/// ended, is for the step itself to answer. What moves is part of the basis, so it cannot change unseen
/// between here and there.
async fn confirmed(
    engine: &Engine,
    id: ActionId,
    onward: Onward,
    typed: &str,
) -> Result<bool, Problem> {
    let mut books = engine.snapshot().await?;
    let action = action::views::find(&mut books, id).await?;
    let Some(action) = action.filter(|action| !action.state.is_final()) else {
        return Ok(true);
    };
    let run = action::dry_run(&mut books, &action, engine.clock().now()).await;
    let run = run.map_err(problem)?;
    let asks = onward.is_confirmed(action.request.kind, run.needs_approval);
    Ok(!asks || is_confirmation(typed, id, run.moved))
}

/// What of an action's job changed last, and by whom.
async fn changed_since(engine: &Engine, id: ActionId) -> Result<Option<String>, Problem> {
    let mut conn = engine.pool().acquire().await.map_err(StoreError::from)?;
    let action = action::views::find(&mut conn, id).await?;
    let Some((tenant, job)) = action.and_then(|it| Some((it.tenant, it.request.job?))) else {
        return Ok(None);
    };
    let last = job::views::last_change(&mut conn, (tenant, job)).await?;
    Ok(last.map(|last| {
        let by = match (&last.person, last.event) {
            (Some(person), _) => format!(" by {person}"),
            (None, Some(event)) => format!(" by {event}"),
            (None, None) => String::new(),
        };
        format!("The newest entry of the job is {}{by}.", last.entry)
    }))
}

/// Says on the action's page what came of a step.
async fn answer(
    session: &Session,
    id: ActionId,
    done: Result<ActionState, ActionError>,
    changed: Option<String>,
) -> Result<Response, Problem> {
    let (good, text) = match done {
        Ok(ActionState::Done) => (true, "Done".to_owned()),
        Ok(ActionState::Waiting) => (true, "Sent: someone else decides now".to_owned()),
        Ok(state) => (true, format!("The action is {state}")),
        Err(ActionError::Stale) => (
            false,
            "Not done: this changed since it was shown. Here is what it would do now".to_owned(),
        ),
        Err(
            error @ (ActionError::Refused(_)
            | ActionError::NotYours(_)
            | ActionError::Ended(_)
            | ActionError::NoReason),
        ) => (false, format!("Not done: {error}")),
        Err(error) => return Err(problem(error)),
    };
    frame::tell(session, good, &text, changed).await;
    Ok(return_path::see_other(&format!("/actions/{id}")))
}

fn not_found() -> Problem {
    Problem::new(
        Kind::NotFound,
        "There is no such wallet, job, tenant, source or action.",
    )
}

fn problem(error: ActionError) -> Problem {
    match error {
        ActionError::Unknown | ActionError::Correct(CorrectError::Unknown) => not_found(),
        ActionError::Store(error) => error.into(),
        other => Problem::internal(&other),
    }
}

impl ActionForm {
    /// What the form is about, beside its wallet.
    fn subject(&self, wallet: Subject) -> Result<Subject, Problem> {
        let named = |text: &String| (!text.is_empty()).then(|| text.clone());
        let job = named(&self.job).map(|job| job.parse()).transpose();
        let undoes = named(&self.undoes).map(|id| id.parse()).transpose();
        let conflict = named(&self.conflict).map(|id| id.parse()).transpose();
        Ok(Subject {
            job: job.map_err(|_| not_found())?,
            undoes: undoes.map_err(|_| not_found())?,
            conflict: conflict.map_err(|_| not_found())?,
            ..wallet
        })
    }
}

/// The form again, with everything that was typed.
fn back_to_form(page: &str, kind: ActionKind, form: &ActionForm) -> String {
    let fields = [
        ("key", &form.key),
        ("undoes", &form.undoes),
        ("conflict", &form.conflict),
        ("amount", &form.amount),
        ("expires", &form.expires),
        ("category", &form.category),
        ("reason", &form.reason),
    ];
    let query = fields
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| {
            let value: String = value.chars().take(600).collect();
            format!("{name}={}", return_path::encode(&value))
        });
    let query = query.collect::<Vec<_>>().join("&");
    format!("{page}/{kind}?{query}")
}
