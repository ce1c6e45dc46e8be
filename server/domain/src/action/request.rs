//! Reading what an operator typed: everything that is wrong with it, or a request.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use rust_decimal::Decimal;
use serde::Serialize;

use super::{Category, Kind, Subject, Target};
use crate::{
    canonical::{CanonicalError, Hash},
    id::{JobId, SettlementId},
    money::{Amount, Currency},
};

/// Characters of a reason; the tables that keep reasons restate it.
const REASON_CHARS: std::ops::RangeInclusive<usize> = 10..=500;

/// A reason without the space around it, if it is neither too short nor too long.
pub fn reason(text: &str) -> Option<&str> {
    let text = text.trim();
    REASON_CHARS.contains(&text.chars().count()).then_some(text)
}

/// A request as it was typed, read and found to make sense.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Request {
    /// What is to be done.
    pub kind: Kind,
    /// To what.
    #[serde(flatten)]
    pub target: Target,
    /// To which job, for [`Kind::is_of_job`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// Which correction is taken back, for [`Kind::Undo`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<SettlementId>,
    /// Which other content of an event is taken for the right one, for an adjustment.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "number_text"
    )]
    pub conflict: Option<i64>,
    /// How much, for [`Kind::takes_amount`].
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
    /// The day from whose beginning (UTC) the credit is void, as `2027-01-31`; empty for never.
    pub expires: String,
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
        subject: Subject,
        typed: &Typed,
        now: DateTime<Utc>,
    ) -> Result<Self, Vec<Wrong>> {
        let mut wrong = Vec::new();
        let mut refuse = |field, message| wrong.push(Wrong { field, message });
        let amount = kind
            .takes_amount()
            .then(|| read_amount(&typed.amount, subject.currency))
            .transpose()
            .unwrap_or_else(|message| {
                refuse("amount", message);
                None
            });
        let lot_expires_at = (kind == Kind::Goodwill)
            .then(|| read_expiry(&typed.expires, now))
            .transpose()
            .unwrap_or_else(|message| {
                refuse("expires", message);
                None
            })
            .flatten();
        let category = typed.category.parse().unwrap_or_else(|_| {
            refuse("category", "Choose what kind of reason it is.");
            Category::Other
        });
        let reason = reason(&typed.reason).unwrap_or_else(|| {
            refuse(
                "reason",
                "Say why, in 10 to 500 characters: others will read it years from now.",
            );
            ""
        });
        let reason = reason.to_owned();
        if wrong.is_empty() {
            Ok(Self {
                kind,
                target: subject.target,
                job: subject.job,
                undoes: subject.undoes,
                conflict: subject.conflict,
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
}

fn read_amount(text: &str, currency: Option<Currency>) -> Result<Amount, &'static str> {
    let currency = currency.ok_or("Only a wallet takes an amount.")?;
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

fn read_expiry(text: &str, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d")
        .map_err(|_| "Write the day like 2027-01-31, or nothing for credit that never expires.")?;
    let at = day.and_time(NaiveTime::MIN).and_utc();
    if at > now {
        Ok(Some(at))
    } else {
        Err("Choose a day after today, or none for credit that never expires.")
    }
}

/// JSON numbers lose digits on their way.
fn number_text<S: serde::Serializer>(number: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => to.collect_str(number),
        None => to.serialize_none(),
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::{SourceId, TenantId, WalletId};

    fn read(kind: Kind, typed: &Typed) -> Result<Request, Vec<&'static str>> {
        let subject = Subject::wallet(WalletId(Uuid::from_u128(1)), "EUR".parse().unwrap());
        let now = "2026-12-01T12:00:00Z".parse().unwrap();
        Request::read(kind, subject, typed, now)
            .map_err(|wrong| wrong.into_iter().map(|wrong| wrong.field).collect())
    }

    fn typed(amount: &str, category: &str, reason: &str) -> Typed {
        Typed {
            amount: amount.into(),
            expires: String::new(),
            category: category.into(),
            reason: reason.into(),
        }
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let mut form = typed("twelve", "because", " short ");
        form.expires = "2026-12-01".into();
        let wrong = read(Kind::Goodwill, &form).unwrap_err();
        assert_eq!(wrong, ["amount", "expires", "category", "reason"]);
    }

    #[test]
    fn a_day_that_cannot_be_read_is_not_never() {
        let expiry = |text: &str| {
            let mut form = typed("1", "incident", "render nodes were down");
            form.expires = text.into();
            read(Kind::Goodwill, &form).map(|request| request.lot_expires_at)
        };
        for text in ["31.01.2027", "2027-02-30", "soon", "2026-12-01"] {
            assert_eq!(expiry(text), Err(vec!["expires"]), "{text}");
        }
        assert_eq!(expiry(" "), Ok(None));
        let day = "2027-01-31T00:00:00Z".parse().unwrap();
        assert_eq!(expiry("2027-01-31"), Ok(Some(day)));
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
    fn what_has_no_currency_takes_no_amount() {
        let form = typed("1", "incident", "render nodes were down");
        let now = "2026-12-01T12:00:00Z".parse().unwrap();
        let whole = Subject::whole(Target::Tenant(TenantId(Uuid::from_u128(1))));
        let wrong = Request::read(Kind::Goodwill, whole, &form, now);
        assert_eq!(wrong.unwrap_err()[0].field, "amount");
    }

    #[test]
    fn the_hash_of_a_request_about_a_wallet_stays_what_it_was() {
        let form = typed("12.40", "incident", "render nodes were down");
        let canonical = serde_json::to_value(read(Kind::Goodwill, &form).unwrap()).unwrap();
        let fields: Vec<_> = canonical.as_object().unwrap().keys().cloned().collect();
        let known = [
            "amount",
            "category",
            "kind",
            "lot_expires_at",
            "reason",
            "wallet",
        ];
        let mut fields = fields;
        fields.sort();
        assert_eq!(fields, known);
        assert_eq!(
            canonical["wallet"],
            serde_json::json!(WalletId(Uuid::from_u128(1)))
        );
    }

    #[test]
    fn a_freeze_has_no_amount_even_when_one_is_sent() {
        let mut form = typed("12", "suspicion", "card was reported stolen");
        form.expires = "2020-01-01".into();
        let request = read(Kind::Freeze, &form).unwrap();
        assert_eq!((request.amount, request.lot_expires_at), (None, None));
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
        dated.expires = "2027-01-01".into();
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
    fn the_hash_sees_what_it_is_about() {
        let form = typed("12.40", "incident", "render nodes were down");
        let now = "2026-12-01T12:00:00Z".parse().unwrap();
        let of = |kind, job: u128, undoes: Option<u128>| {
            let subject = Subject {
                job: Some(JobId(Uuid::from_u128(job))),
                undoes: undoes.map(|id| SettlementId(Uuid::from_u128(id))),
                ..Subject::wallet(WalletId(Uuid::from_u128(1)), "EUR".parse().unwrap())
            };
            assert!(subject.fits(kind), "{kind}");
            let request = Request::read(kind, subject, &form, now).unwrap();
            request.hash().unwrap()
        };
        assert_ne!(of(Kind::Credit, 1, None), of(Kind::Credit, 2, None));
        assert_ne!(of(Kind::Credit, 1, None), of(Kind::Charge, 1, None));
        assert_ne!(of(Kind::Undo, 1, Some(1)), of(Kind::Undo, 1, Some(2)));
        let whole = |target| {
            let request = Request::read(Kind::Freeze, Subject::whole(target), &form, now);
            request.unwrap().hash().unwrap()
        };
        let id = Uuid::from_u128(1);
        let hashes = [
            whole(Target::Wallet(WalletId(id))),
            whole(Target::Tenant(TenantId(id))),
            whole(Target::Source(SourceId(id))),
        ];
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
    }
}
