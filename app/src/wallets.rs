//! Wallets: the list with the trial balance, and one wallet with its ledger and lots.

mod books;
mod ledger;
mod list;
mod page;

pub use list::WalletsPage;
pub use page::WalletPage;
