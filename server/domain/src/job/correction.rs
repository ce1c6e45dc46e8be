//! What people have changed about a job's charge, beside its usage.

use crate::money::{Amount, AmountError, Currency};

/// What people have changed about a job's charge.
///
/// It is kept apart from what the usage comes to: usage that is corrected later moves the charge by its
/// own difference and undoes nobody's decision, and a reversed charge stays reversed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Correction {
    /// Adjustments in force, added up: above zero they charge, below zero they give back.
    pub net: Amount,
    /// Whether the whole charge is reversed.
    pub reversed: bool,
}

impl Correction {
    /// Nothing was changed.
    pub fn none(currency: Currency) -> Self {
        Self {
            net: Amount::zero(currency),
            reversed: false,
        }
    }

    /// The charge of usage that alone comes to `due`; never below zero.
    ///
    /// # Errors
    /// When the sum leaves the ledger's range or the currencies differ.
    pub fn of(self, due: Amount) -> Result<Amount, AmountError> {
        let sum = due.plus(self.net)?;
        Ok(if self.reversed || !sum.is_positive() {
            Amount::zero(due.currency())
        } else {
            sum
        })
    }

    /// What people charge on top of the usage; zero when they give back.
    pub fn on_top(self) -> Amount {
        if self.net.is_positive() {
            self.net
        } else {
            Amount::zero(self.net.currency())
        }
    }
}
