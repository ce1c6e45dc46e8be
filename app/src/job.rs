//! The page of one job: what it cost, in a sentence, and the whole proof.

mod ask;
mod compare;
mod page;
mod paper;
mod sentence;
mod side;
mod snapshot;
mod timeline;

pub(crate) use ask::{ask_form, last_answer};
pub use page::{JobPage, JobPrintPage};
pub(crate) use snapshot::{Rating, places, priced};
pub(crate) use timeline::shifts;
