//! The route table. Every route renders in one piece (`SsrMode::Async`): its status is right,
//! and it is whole without scripts.

use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::{SsrMode, path};

use crate::shell::NotFoundPage;
use crate::sign_in::SignInPage;

/// The pages of the console, by path.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    view! {
        <Router>
            <FlatRoutes fallback=NotFoundPage>
                <Route path=path!("/sign-in") view=SignInPage ssr=SsrMode::Async/>
            </FlatRoutes>
        </Router>
    }
}
