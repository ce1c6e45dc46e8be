//! Wallets under lock: balances, lots, and what jobs have drawn, kept up to date while a batch is planned.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::{
    id::{AccountId, JobId, LotId, TenantId, WalletId},
    lot::{self, Lot},
    money::{Amount, AmountError, Currency},
    settlement::AccountKind,
};
use rust_decimal::Decimal;

/// Wallets whose locks this transaction holds.
#[derive(Debug, Default)]
pub struct Locked {
    pub(super) wallets: HashMap<(TenantId, WalletId), Funds>,
    /// What each job has drawn and not got back, by lot; `remaining` is that amount.
    pub(super) drawn: HashMap<(TenantId, JobId), Vec<Lot>>,
}

impl Locked {
    /// The funds of a wallet, if it exists.
    pub fn get(&self, tenant: TenantId, wallet: WalletId) -> Option<&Funds> {
        self.wallets.get(&(tenant, wallet))
    }
}

/// A locked wallet.
#[derive(Debug)]
pub struct Funds {
    /// Its currency.
    pub currency: Currency,
    /// Its mode.
    pub livemode: bool,
    /// Whether spending is stopped.
    pub frozen: bool,
    pub(super) available: Account,
    pub(super) held: Account,
    pub(super) lots: Vec<Lot>,
}

impl Funds {
    /// Balance of the available account.
    ///
    /// # Errors
    /// When the stored balance is beyond what an amount can be.
    pub fn available(&self) -> Result<Amount, AmountError> {
        Amount::exact(self.available.balance, self.currency)
    }

    /// Balance of the held account.
    ///
    /// # Errors
    /// When the stored balance is beyond what an amount can be.
    pub fn held(&self) -> Result<Amount, AmountError> {
        Amount::exact(self.held.balance, self.currency)
    }

    /// What may be spent at this instant: expired credit that still awaits its breakage does not count.
    ///
    /// # Errors
    /// When the stored sum is beyond what an amount can be.
    pub fn spendable(&self, at: DateTime<Utc>) -> Result<Amount, AmountError> {
        Amount::exact(lot::spendable(&self.lots, at), self.currency)
    }

    pub(super) fn account(&mut self, kind: AccountKind) -> Option<&mut Account> {
        match kind {
            AccountKind::Available => Some(&mut self.available),
            AccountKind::Held => Some(&mut self.held),
            AccountKind::Revenue
            | AccountKind::Funding
            | AccountKind::Receivable
            | AccountKind::Breakage
            | AccountKind::Goodwill => None,
        }
    }

    /// Puts credit back into a lot, which may have been empty and so not among the open ones.
    pub(super) fn refill(&mut self, id: LotId, part: Decimal, expires_at: Option<DateTime<Utc>>) {
        match self.lots.iter_mut().find(|lot| lot.id == id) {
            Some(lot) => lot.remaining += part,
            None => self.lots.push(Lot {
                id,
                remaining: part,
                expires_at,
            }),
        }
    }
}

/// A wallet account as it stands after everything planned so far.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) id: AccountId,
    pub(super) balance: Decimal,
    pub(super) version: i64,
    /// Version when it was locked.
    pub(super) locked_version: i64,
}

impl Account {
    /// Moves an amount in (or out, when negative) and returns the balance after it.
    pub(super) fn change(&mut self, by: Decimal) -> Decimal {
        self.balance += by;
        self.version += 1;
        self.balance
    }
}
