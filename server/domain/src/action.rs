//! What an operator may do: keyed requests, who has to agree, and how they end.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use serde::Serialize;

use crate::{
    canonical::{CanonicalError, Hash},
    code::code,
    id::{OperatorId, WalletId},
    money::{Amount, Currency},
};

code!(
    /// What is to be done.
    Kind {
        /// Credit that nobody paid for.
        Goodwill = "goodwill",
        /// Stop spending from a wallet.
        Freeze = "freeze",
        /// Let spending go on.
        Unfreeze = "unfreeze",
    }
);

code!(
    /// Kind of reason, for counting.
    Category {
        /// Something of ours broke.
        Incident = "incident",
        /// The customer asked.
        Complaint = "complaint",
        /// A campaign or an agreement.
        Promotion = "promotion",
        /// Something looks wrong.
        Suspicion = "suspicion",
        /// What was wrong is settled.
        Resolved = "resolved",
        /// None of these; the text says.
        Other = "other",
    }
);

code!(
    /// How far an action has come.
    State {
        /// Proposed; its dry run is looked at.
        Draft = "draft",
        /// Committed by its maker; waits for a second person.
        Waiting = "waiting",
        /// In force.
        Done = "done",
        /// Taken back by its maker.
        Withdrawn = "withdrawn",
        /// A second person said no.
        Refused = "refused",
        /// Nobody decided in time.
        Expired = "expired",
    }
);

impl State {
    /// The whole life of an action; the trigger `actions_transition` restates it.
    pub fn may_become(self, next: Self) -> bool {
        use State::{Done, Draft, Expired, Refused, Waiting, Withdrawn};
        match self {
            Draft => matches!(next, Waiting | Done | Withdrawn | Expired),
            Waiting => matches!(next, Done | Withdrawn | Refused | Expired),
            Done | Withdrawn | Refused | Expired => false,
        }
    }

    /// Whether nothing can happen to it any more.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Draft | Self::Waiting)
    }
}

/// Fewest characters of a reason.
pub const MIN_REASON_CHARS: usize = 10;
/// Most characters of a reason.
pub const MAX_REASON_CHARS: usize = 500;

/// A request as it was typed, read and found to make sense.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Request {
    /// What is to be done.
    pub kind: Kind,
    /// To which wallet.
    pub wallet: WalletId,
    /// How much, for [`Kind::Goodwill`].
    #[serde(serialize_with = "amount_text")]
    pub amount: Option<Amount>,
    /// When the credit expires; never, if `None`.
    pub lot_expires_at: Option<DateTime<Utc>>,
    /// Kind of reason.
    pub category: Category,
    /// Why.
    pub reason: String,
}

/// What a form holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Typed {
    /// The amount, in the wallet's currency.
    pub amount: String,
    /// When the credit expires, as read by the form; never, if `None`.
    pub lot_expires_at: Option<DateTime<Utc>>,
    /// Kind of reason.
    pub category: String,
    /// Why.
    pub reason: String,
}

/// What is wrong with one field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// The field's name.
    pub field: &'static str,
    /// What to do about it.
    pub message: &'static str,
}

impl Request {
    /// Reads what was typed.
    ///
    /// # Errors
    /// Everything that is wrong with it, by field.
    pub fn read(
        kind: Kind,
        (wallet, currency): (WalletId, Currency),
        typed: &Typed,
        now: DateTime<Utc>,
    ) -> Result<Self, Vec<Wrong>> {
        let mut wrong = Vec::new();
        let mut refuse = |field, message| wrong.push(Wrong { field, message });
        let amount = (kind == Kind::Goodwill)
            .then(|| read_amount(&typed.amount, currency))
            .transpose()
            .unwrap_or_else(|message| {
                refuse("amount", message);
                None
            });
        let lot_expires_at = typed.lot_expires_at.filter(|_| kind == Kind::Goodwill);
        if lot_expires_at.is_some_and(|expiry| expiry <= now) {
            refuse(
                "expires",
                "Choose a day after today, or none for credit that never expires.",
            );
        }
        let category = typed.category.parse().unwrap_or_else(|_| {
            refuse("category", "Choose what kind of reason it is.");
            Category::Other
        });
        let reason = typed.reason.trim().to_owned();
        let length = reason.chars().count();
        if !(MIN_REASON_CHARS..=MAX_REASON_CHARS).contains(&length) {
            refuse(
                "reason",
                "Say why, in 10 to 500 characters: others will read it years from now.",
            );
        }
        if wrong.is_empty() {
            Ok(Self {
                kind,
                wallet,
                amount,
                lot_expires_at,
                category,
                reason,
            })
        } else {
            Err(wrong)
        }
    }

    /// Hash of everything that was asked for: the same key with another hash is a conflict.
    ///
    /// # Errors
    /// Never for a request that was read; the type of the canonical form says so.
    pub fn hash(&self) -> Result<Hash, CanonicalError> {
        Hash::of(self)
    }

    /// Whether a second person has to agree. `above` is the threshold in force; without one every
    /// amount asks for approval. Stopping is never delayed; lifting a stop always takes two.
    pub fn needs_approval(&self, above: Option<Decimal>) -> bool {
        match (self.kind, self.amount) {
            (Kind::Freeze, _) => false,
            (Kind::Unfreeze, _) | (Kind::Goodwill, None) => true,
            (Kind::Goodwill, Some(amount)) => above.is_none_or(|above| amount.value() > above),
        }
    }
}

fn read_amount(text: &str, currency: Currency) -> Result<Amount, &'static str> {
    let value = Decimal::from_str_exact(text.trim())
        .map_err(|_| "Type an amount such as 12.40, with a point and without a currency.")?;
    let amount = Amount::exact(value, currency)
        .map_err(|_| "This currency has fewer decimals, or the amount is too large.")?;
    if amount.is_positive() {
        Ok(amount)
    } else {
        Err("Type an amount above zero.")
    }
}

fn amount_text<S: serde::Serializer>(amount: &Option<Amount>, to: S) -> Result<S::Ok, S::Error> {
    match amount {
        Some(amount) => to.collect_str(&format_args!(
            "{} {}",
            amount.value().normalize(),
            amount.currency().code()
        )),
        None => to.serialize_none(),
    }
}

/// Why someone may not decide on a waiting action.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotYours {
    /// The maker cannot be the checker.
    #[error("you made this request, so someone else has to approve or refuse it")]
    Own,
    /// Only the maker withdraws.
    #[error("only its maker can withdraw this request; you can refuse it")]
    NotOwn,
}

/// Whether `who` may approve or refuse what `maker` asked for.
///
/// # Errors
/// [`NotYours::Own`].
pub fn may_check(who: OperatorId, maker: OperatorId) -> Result<(), NotYours> {
    if who == maker {
        Err(NotYours::Own)
    } else {
        Ok(())
    }
}

/// Whether `who` may withdraw what `maker` asked for.
///
/// # Errors
/// [`NotYours::NotOwn`].
pub fn may_withdraw(who: OperatorId, maker: OperatorId) -> Result<(), NotYours> {
    if who == maker {
        Ok(())
    } else {
        Err(NotYours::NotOwn)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn read(kind: Kind, typed: &Typed) -> Result<Request, Vec<&'static str>> {
        let wallet = (WalletId(Uuid::from_u128(1)), "EUR".parse().unwrap());
        let now = "2026-12-01T12:00:00Z".parse().unwrap();
        Request::read(kind, wallet, typed, now)
            .map_err(|wrong| wrong.into_iter().map(|wrong| wrong.field).collect())
    }

    fn typed(amount: &str, category: &str, reason: &str) -> Typed {
        Typed {
            amount: amount.into(),
            lot_expires_at: None,
            category: category.into(),
            reason: reason.into(),
        }
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let mut form = typed("twelve", "because", " short ");
        form.lot_expires_at = Some("2026-12-01T12:00:00Z".parse().unwrap());
        let wrong = read(Kind::Goodwill, &form).unwrap_err();
        assert_eq!(wrong, ["amount", "expires", "category", "reason"]);
    }

    #[test]
    fn amounts_are_exact_and_above_zero() {
        for amount in [
            "0",
            "-1",
            "1e3",
            "1,50",
            "0.0000001",
            "",
            "79228162514264337593543950335",
        ] {
            let form = typed(amount, "incident", "render nodes were down");
            assert_eq!(read(Kind::Goodwill, &form), Err(vec!["amount"]), "{amount}");
        }
        let form = typed(" 12.40 ", "incident", "render nodes were down");
        let request = read(Kind::Goodwill, &form).unwrap();
        assert_eq!(request.amount.unwrap().value().to_string(), "12.4");
    }

    #[test]
    fn a_freeze_has_no_amount_even_when_one_is_sent() {
        let mut form = typed("12", "suspicion", "card was reported stolen");
        form.lot_expires_at = Some("2020-01-01T00:00:00Z".parse().unwrap());
        let request = read(Kind::Freeze, &form).unwrap();
        assert_eq!((request.amount, request.lot_expires_at), (None, None));
    }

    #[test]
    fn a_second_person_is_asked_above_the_threshold_and_without_one() {
        let request = |amount: &str| {
            read(
                Kind::Goodwill,
                &typed(amount, "incident", "render nodes were down"),
            )
            .unwrap()
        };
        let above = Some(Decimal::from(50));
        assert!(!request("50").needs_approval(above));
        assert!(request("50.000001").needs_approval(above));
        assert!(request("0.01").needs_approval(None));
        let freeze = read(
            Kind::Freeze,
            &typed("", "suspicion", "card was reported stolen"),
        )
        .unwrap();
        assert!(!freeze.needs_approval(None));
        let lift = read(
            Kind::Unfreeze,
            &typed("", "resolved", "the bank gave its word"),
        )
        .unwrap();
        assert!(lift.needs_approval(above));
    }

    #[test]
    fn the_hash_sees_every_field_and_no_trailing_zero() {
        let base = typed("12.40", "incident", "render nodes were down");
        let hash = |typed: &Typed| read(Kind::Goodwill, typed).unwrap().hash().unwrap();
        assert_eq!(
            hash(&base),
            hash(&typed("12.4", "incident", "render nodes were down"))
        );
        let mut dated = base.clone();
        dated.lot_expires_at = Some("2027-01-01T00:00:00Z".parse().unwrap());
        for other in [
            typed("12.41", "incident", "render nodes were down"),
            typed("12.40", "complaint", "render nodes were down"),
            typed("12.40", "incident", "render nodes were late"),
            dated,
        ] {
            assert_ne!(hash(&base), hash(&other), "{other:?}");
        }
    }

    #[test]
    fn an_ended_action_stays_as_it_ended() {
        for state in State::ALL {
            for next in State::ALL {
                assert!(
                    !(state.is_final() && state.may_become(*next)),
                    "{state} {next}"
                );
            }
        }
    }

    #[test]
    fn maker_and_checker_are_two() {
        let (maker, other) = (
            OperatorId(Uuid::from_u128(1)),
            OperatorId(Uuid::from_u128(2)),
        );
        assert_eq!(may_check(maker, maker), Err(NotYours::Own));
        assert_eq!(may_check(other, maker), Ok(()));
        assert_eq!(may_withdraw(other, maker), Err(NotYours::NotOwn));
        assert_eq!(may_withdraw(maker, maker), Ok(()));
    }
}
