//! Lots: which credit is burnt first, and where returned credit goes.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;

use crate::id::LotId;

/// An open lot of one wallet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lot {
    /// Its id.
    pub id: LotId,
    /// What is neither spent, held nor expired.
    pub remaining: Decimal,
    /// When what remains expires; never, if `None`.
    pub expires_at: Option<DateTime<Utc>>,
}

impl Lot {
    fn spendable(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_none_or(|expiry| expiry > now)
    }

    /// Soonest expiry first; credit that never expires last; the older lot of two that tie.
    pub fn burn_order(&self) -> (bool, Option<DateTime<Utc>>, LotId) {
        (self.expires_at.is_none(), self.expires_at, self.id)
    }
}

/// The lots cover less than was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{spendable} may be spent")]
pub struct Short {
    /// What they cover.
    pub spendable: Decimal,
}

/// What may be spent at `now`.
pub fn spendable(lots: &[Lot], now: DateTime<Utc>) -> Decimal {
    lots.iter()
        .filter(|lot| lot.spendable(now))
        .map(|lot| lot.remaining)
        .sum()
}

/// Takes an amount from the lots, soonest expiry first, and says how much from each.
///
/// # Errors
/// [`Short`], with the lots untouched.
pub fn draw(
    lots: &mut [Lot],
    amount: Decimal,
    now: DateTime<Utc>,
) -> Result<Vec<(LotId, Decimal)>, Short> {
    let spendable = spendable(lots, now);
    if spendable < amount {
        return Err(Short { spendable });
    }
    lots.sort_by_key(Lot::burn_order);
    let mut missing = amount;
    let mut draws = Vec::new();
    for lot in lots.iter_mut().filter(|lot| lot.spendable(now)) {
        let taken = lot.remaining.min(missing);
        if taken > Decimal::ZERO {
            lot.remaining -= taken;
            missing -= taken;
            draws.push((lot.id, taken));
        }
    }
    Ok(draws)
}

/// Splits a returned amount over the lots it was drawn from, the last burnt first, so that what is
/// spent is always what would have expired soonest. `drawn` is in the order it was burnt.
///
/// Returns less than `amount` in total only if less was drawn.
pub fn give_back(drawn: &[(LotId, Decimal)], amount: Decimal) -> Vec<(LotId, Decimal)> {
    let mut left = amount;
    let mut returns = Vec::new();
    for &(lot, taken) in drawn.iter().rev() {
        let part = taken.min(left);
        if part > Decimal::ZERO {
            left -= part;
            returns.push((lot, part));
        }
    }
    returns
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use proptest::prelude::*;
    use uuid::Uuid;

    fn lot(id: u128, remaining: i64, expires_in_days: Option<i64>) -> Lot {
        Lot {
            id: LotId(Uuid::from_u128(id)),
            remaining: Decimal::from(remaining),
            expires_at: expires_in_days.map(|days| DateTime::UNIX_EPOCH + TimeDelta::days(days)),
        }
    }

    fn drawn(lots: &mut [Lot], amount: i64) -> Vec<(u128, i64)> {
        let draws = draw(lots, amount.into(), DateTime::UNIX_EPOCH).unwrap();
        draws
            .into_iter()
            .map(|(id, part)| (id.0.as_u128(), i64::try_from(part).unwrap()))
            .collect()
    }

    #[test]
    fn the_soonest_expiry_is_burnt_first_and_expired_credit_never() {
        let mut lots = [
            lot(1, 5, None),
            lot(2, 5, Some(9)),
            lot(3, 5, Some(2)),
            lot(4, 5, Some(0)),
        ];
        assert_eq!(drawn(&mut lots, 12), [(3, 5), (2, 5), (1, 2)]);
        let short = draw(&mut lots, 4.into(), DateTime::UNIX_EPOCH);
        assert_eq!(
            short,
            Err(Short {
                spendable: 3.into()
            })
        );
    }

    proptest! {
        #[test]
        fn draws_and_returns_conserve(parts in prop::collection::vec((1i64..50, prop::option::of(1i64..9)), 1..6), ask in 1i64..200, back in 0i64..200) {
            let mut lots: Vec<_> = parts.iter().zip(1..).map(|(&(n, days), id)| lot(id, n, days)).collect();
            let before: Decimal = lots.iter().map(|lot| lot.remaining).sum();
            match draw(&mut lots, ask.into(), DateTime::UNIX_EPOCH) {
                Err(short) => prop_assert!(short.spendable == before && before < ask.into()),
                Ok(draws) => {
                    let after: Decimal = lots.iter().map(|lot| lot.remaining).sum();
                    prop_assert_eq!(before - after, Decimal::from(ask));
                    let returned: Decimal = give_back(&draws, back.into()).iter().map(|(_, part)| *part).sum();
                    prop_assert_eq!(returned, Decimal::from(back.min(ask)));
                }
            }
        }
    }
}
