//! The route table. Every route renders in one piece (`SsrMode::Async`): its status is right,
//! and it is whole without scripts.

use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::{SsrMode, path};

use crate::actions::{
    ActionFormPage, ActionPage, ApprovalsPage, JobActionFormPage, SourceActionFormPage,
    TenantActionFormPage, ThresholdsPage,
};
use crate::audit::AuditPage;
use crate::deliveries::DeliveriesPage;
use crate::events::{EventPage, EventsPage};
use crate::exceptions::{ExceptionPage, ExceptionsPage, ReconciliationPage};
use crate::freezes::FreezesPage;
use crate::glossary::GlossaryPage;
use crate::job::{JobPage, JobPrintPage};
use crate::jobs::{JobsPage, UncertainPage};
use crate::overview::OverviewPage;
use crate::prices::PricesPage;
use crate::seals::SealsPage;
use crate::settlements::{SettlementPage, SettlementsPage};
use crate::shell::NotFoundPage;
use crate::sign_in::SignInPage;
use crate::sources::SourcesPage;
use crate::statements::{MatchPage, StatementPage, StatementsPage};
use crate::tasks::{TaskPage, TasksPage};
use crate::wallets::{WalletPage, WalletsPage};

/// The pages of the console, by path.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    view! {
        <Router>
            <FlatRoutes fallback=NotFoundPage>
                <Route path=path!("/") view=OverviewPage ssr=SsrMode::Async/>
                <Route path=path!("/jobs") view=JobsPage ssr=SsrMode::Async/>
                <Route path=path!("/jobs/:id") view=JobPage ssr=SsrMode::Async/>
                <Route path=path!("/jobs/:id/print") view=JobPrintPage ssr=SsrMode::Async/>
                <Route path=path!("/uncertain") view=UncertainPage ssr=SsrMode::Async/>
                <Route path=path!("/events") view=EventsPage ssr=SsrMode::Async/>
                <Route path=path!("/events/:id") view=EventPage ssr=SsrMode::Async/>
                <Route path=path!("/deliveries") view=DeliveriesPage ssr=SsrMode::Async/>
                <Route path=path!("/settlements") view=SettlementsPage ssr=SsrMode::Async/>
                <Route path=path!("/settlements/:id") view=SettlementPage ssr=SsrMode::Async/>
                <Route path=path!("/wallets") view=WalletsPage ssr=SsrMode::Async/>
                <Route path=path!("/wallets/:id") view=WalletPage ssr=SsrMode::Async/>
                <Route path=path!("/sources") view=SourcesPage ssr=SsrMode::Async/>
                <Route path=path!("/prices") view=PricesPage ssr=SsrMode::Async/>
                <Route path=path!("/wallets/:id/:action") view=ActionFormPage ssr=SsrMode::Async/>
                <Route path=path!("/jobs/:id/:action") view=JobActionFormPage ssr=SsrMode::Async/>
                <Route path=path!("/tenants/:id/:action") view=TenantActionFormPage ssr=SsrMode::Async/>
                <Route path=path!("/sources/:slug/:action") view=SourceActionFormPage ssr=SsrMode::Async/>
                <Route path=path!("/freezes") view=FreezesPage ssr=SsrMode::Async/>
                <Route path=path!("/actions/:id") view=ActionPage ssr=SsrMode::Async/>
                <Route path=path!("/exceptions") view=ExceptionsPage ssr=SsrMode::Async/>
                <Route path=path!("/exceptions/:id") view=ExceptionPage ssr=SsrMode::Async/>
                <Route path=path!("/statements") view=StatementsPage ssr=SsrMode::Async/>
                <Route path=path!("/statements/:id") view=StatementPage ssr=SsrMode::Async/>
                <Route path=path!("/statements/:id/match") view=MatchPage ssr=SsrMode::Async/>
                <Route path=path!("/reconciliation") view=ReconciliationPage ssr=SsrMode::Async/>
                <Route path=path!("/tasks") view=TasksPage ssr=SsrMode::Async/>
                <Route path=path!("/tasks/:id") view=TaskPage ssr=SsrMode::Async/>
                <Route path=path!("/approvals") view=ApprovalsPage ssr=SsrMode::Async/>
                <Route path=path!("/thresholds") view=ThresholdsPage ssr=SsrMode::Async/>
                <Route path=path!("/seals") view=SealsPage ssr=SsrMode::Async/>
                <Route path=path!("/audit") view=AuditPage ssr=SsrMode::Async/>
                <Route path=path!("/glossary") view=GlossaryPage ssr=SsrMode::Async/>
                <Route path=path!("/sign-in") view=SignInPage ssr=SsrMode::Async/>
            </FlatRoutes>
        </Router>
    }
}
