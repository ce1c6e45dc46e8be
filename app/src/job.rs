//! The page of one job: what it cost, in a sentence, and the whole proof.

mod compare;
mod page;
mod sentence;
mod side;
mod snapshot;
mod timeline;

pub use page::JobPage;
pub(crate) use snapshot::{Rating, places, priced};
pub(crate) use timeline::shifts;
