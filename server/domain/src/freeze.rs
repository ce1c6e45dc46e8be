//! Freezes by rule: when the books of a tenant are so wrong that its billing stops by itself.

use std::collections::BTreeMap;

use crate::{exception::Class, id::TenantId};

/// How much may be wrong before a run freezes a tenant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Which version of the setting it is.
    pub version: i32,
    /// So many exceptions about money a tenant may have and go on.
    pub above: i32,
}

impl Rule {
    /// The tenants a run has to freeze, each with how many exceptions about money it was found to have.
    /// What may be no more than late counts for nobody.
    pub fn exceeded(
        self,
        found: impl IntoIterator<Item = (Option<TenantId>, Class)>,
    ) -> Vec<(TenantId, usize)> {
        let mut wrong = BTreeMap::new();
        for (tenant, class) in found {
            if let Some(tenant) = tenant.filter(|_| !class.is_timing()) {
                *wrong.entry(tenant.0).or_insert(0_usize) += 1;
            }
        }
        let most = usize::try_from(self.above).unwrap_or(0);
        wrong
            .into_iter()
            .filter(|(_, count)| *count > most)
            .map(|(tenant, count)| (TenantId(tenant), count))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_money_counts_and_only_beyond_the_limit() {
        let (one, other) = (TenantId(Uuid::from_u128(1)), TenantId(Uuid::from_u128(2)));
        let rule = Rule {
            version: 1,
            above: 2,
        };
        let found = |money: usize, late: usize| {
            let money = std::iter::repeat_n((Some(one), Class::Balance), money);
            let late = std::iter::repeat_n((Some(one), Class::EventOutcome), late);
            let elsewhere = [(Some(other), Class::Balance), (None, Class::Audit)];
            rule.exceeded(money.chain(late).chain(elsewhere))
        };
        assert_eq!(found(2, 5), []);
        assert_eq!(found(3, 0), [(one, 3)]);
        let none = Rule { above: 0, ..rule };
        let all = none.exceeded([(Some(other), Class::Lots), (Some(one), Class::Holds)]);
        assert_eq!(all, [(one, 1), (other, 1)]);
    }
}
