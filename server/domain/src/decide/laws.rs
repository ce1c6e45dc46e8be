//! The laws of [`decide`]: conservation, one capture a hold, and the same end for every order.

mod corrections;
mod stories;

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta};
use proptest::prelude::*;
use rust_decimal::Decimal;

use super::*;
use crate::{
    canonical::Hash,
    job::Versions,
    price::{Component, Terms},
    settlement::AccountKind,
    usage::Usage,
};

/// A job with its accounts, playing back facts the way the worker does.
#[derive(Clone)]
struct Books {
    job: Job,
    price: Price,
    policy: Policy,
    accounts: BTreeMap<AccountKind, Decimal>,
    effects: Vec<Effect>,
    waiting: Vec<Fact>,
}

fn usd(value: impl Into<Decimal>) -> Amount {
    Amount::exact(value.into(), "USD".parse().unwrap()).unwrap()
}

fn images(n: i64) -> Usage<crate::usage::Validated> {
    Usage::parse([("images", n.to_string().as_str())]).unwrap()
}

impl Books {
    fn open(policy: Policy, refund_on_failure: bool, quote: i64, funds: i64) -> Self {
        let component = Component {
            meter: "images".parse().unwrap(),
            price: 1.into(),
            per: 1.into(),
        };
        let terms = Terms {
            components: vec![component],
            rounding: crate::money::Rounding::HalfEven,
            estimate: Usage::parse([("images", "1")]).unwrap(),
        };
        let price = Price {
            model: "m".into(),
            currency: "USD".parse().unwrap(),
            version: 1,
            terms,
        };
        let estimate: Usage<crate::usage::Estimated> =
            Usage::parse([("images", quote.to_string().as_str())]).unwrap();
        let snapshot = price.rate(&estimate, UnknownMeters::Refuse).unwrap();
        let mut job = Job {
            state: State::Pending,
            state_reason: None,
            quote: usd(quote),
            held: usd(0),
            due: usd(0),
            correction: crate::job::Correction::none("USD".parse().unwrap()),
            captured: usd(0),
            receivable: usd(0),
            versions: Versions::default(),
            billed: None,
            refund_on_failure,
            output_required: false,
            output_stored: false,
            cancel_requested_at: None,
            dispatched: true,
        };
        let effect = reserve(&mut job, &snapshot);
        let accounts = BTreeMap::from([(AccountKind::Available, Decimal::from(funds))]);
        let mut books = Self {
            job,
            price,
            policy,
            accounts,
            effects: Vec::new(),
            waiting: Vec::new(),
        };
        books.post(vec![effect]);
        books
    }

    fn post(&mut self, effects: Vec<Effect>) {
        for entry in effects.iter().flat_map(|effect| &effect.entries) {
            assert!(entry.amount.is_positive(), "{entry:?}");
            let (debit, credit) = entry.entry_type.accounts();
            *self.accounts.entry(debit).or_default() -= entry.amount.value();
            *self.accounts.entry(credit).or_default() += entry.amount.value();
        }
        for kind in [AccountKind::Available, AccountKind::Held] {
            assert!(
                self.balance(kind) >= Decimal::ZERO,
                "{kind} is overdrawn by {effects:?}"
            );
        }
        self.effects.extend(effects);
    }

    fn balance(&self, kind: AccountKind) -> Decimal {
        self.accounts.get(&kind).copied().unwrap_or_default()
    }

    fn hear(&mut self, fact: &Fact) -> Decision {
        let spendable = usd(self.balance(AccountKind::Available));
        let decision = decide(&self.job, fact, self.policy, &self.price, spendable).unwrap();
        match &decision {
            Decision::Apply(change) => {
                assert!(
                    change.job.state == self.job.state
                        || self.job.state.may_become(change.job.state)
                );
                self.post(change.effects.clone());
                self.job = change.job.clone();
                for waiting in std::mem::take(&mut self.waiting) {
                    self.hear(&waiting);
                }
            }
            Decision::Wait(_) => self.waiting.push(fact.clone()),
            Decision::Ignore(_) | Decision::Reject(_) => {}
        }
        decision
    }

    /// Net position per account, zero accounts left out.
    fn net(&self) -> Vec<(AccountKind, Decimal)> {
        self.accounts
            .iter()
            .filter(|(_, v)| !v.is_zero())
            .map(|(k, v)| (*k, v.normalize()))
            .collect()
    }

    fn check(&self) {
        assert_eq!(self.balance(AccountKind::Held), self.job.held.value());
        assert_eq!(
            self.balance(AccountKind::Receivable),
            -self.job.receivable.value()
        );
        assert_eq!(
            self.balance(AccountKind::Revenue),
            self.job.captured.value()
        );
        let phases = |phase| {
            self.effects
                .iter()
                .filter(|e| e.phase == phase)
                .map(|e| e.version)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            self.job.captured,
            self.job.correction.of(self.job.due).unwrap()
        );
        for phase in [
            Phase::Reserve,
            Phase::Capture,
            Phase::Release,
            Phase::Adjustment,
            Phase::Reversal,
        ] {
            let versions = phases(phase);
            assert!(
                versions
                    .iter()
                    .copied()
                    .eq(1..=i32::try_from(versions.len()).unwrap()),
                "{phase}: {versions:?}"
            );
        }
        // One capture a hold: every hold ends in exactly one of capture and release.
        let ended = phases(Phase::Capture).len() + phases(Phase::Release).len();
        assert_eq!(
            ended + usize::from(self.job.held.is_positive()),
            phases(Phase::Reserve).len()
        );
    }
}

fn fact(verdict: Verdict, minute: i64) -> Fact {
    let occurred_at = DateTime::UNIX_EPOCH + TimeDelta::minutes(minute);
    let hash = Hash::of_bytes(format!("{verdict:?} {minute}").as_bytes());
    Fact {
        verdict,
        occurred_at,
        hash,
    }
}

fn success(used: i64, minute: i64) -> Fact {
    let usage = images(used);
    fact(
        Verdict::Succeeded {
            usage,
            partial: false,
        },
        minute,
    )
}

fn correction(used: i64, revision: i32, minute: i64) -> Fact {
    let usage = images(used);
    fact(Verdict::Corrected { usage, revision }, minute)
}

fn any_fact() -> impl Strategy<Value = Fact> {
    let verdict = prop_oneof![
        Just(Verdict::Running),
        (0i64..20, any::<bool>()).prop_map(|(n, partial)| Verdict::Succeeded {
            usage: images(n),
            partial,
        }),
        (0i64..20, 2i32..4).prop_map(|(n, revision)| Verdict::Corrected {
            usage: images(n),
            revision,
        }),
        Just(Verdict::Failed {
            reason: "oom".into()
        }),
        Just(Verdict::Cancelled {
            reason: "stopped".into()
        }),
    ];
    (verdict, 0i64..10).prop_map(|(verdict, minute)| fact(verdict, minute))
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let overage = prop::sample::select(Overage::ALL);
    let late_cancel = prop::sample::select(LateCancel::ALL);
    let partial = prop::sample::select(Partial::ALL);
    (overage, late_cancel, partial).prop_map(|(overage, late_cancel, partial)| Policy {
        overage,
        late_cancel,
        partial,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_order_and_duplication_ends_in_the_same_net_position(
        facts in prop::collection::vec(any_fact(), 1..6),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        shuffled_seed in any::<u64>(),
        policy in any_policy(),
        refund in any::<bool>(),
        cancelled_at in prop::option::of(0i64..10),
    ) {
        let mut opening = Books::open(policy, refund, 10, 1000);
        opening.job.cancel_requested_at = cancelled_at.map(|m| DateTime::UNIX_EPOCH + TimeDelta::minutes(m));

        let mut straight = opening.clone();
        for fact in &facts {
            straight.hear(fact);
            straight.check();
        }

        // Every fact at least once, in another order, with repeats in between.
        let mut again: Vec<&Fact> = order.iter().map(|at| at.get(&facts)).collect();
        let mut rest: Vec<&Fact> = facts.iter().collect();
        let mut seed = shuffled_seed;
        while !rest.is_empty() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = usize::try_from(seed >> 33).unwrap() % rest.len();
            again.push(rest.remove(at));
        }
        let mut other = opening;
        for fact in again {
            other.hear(fact);
            other.check();
        }
        prop_assert_eq!(straight.net(), other.net());
    }

    #[test]
    fn what_a_fact_is_said_to_come_to_is_what_it_comes_to(
        fact in any_fact(), policy in any_policy(), refund in any::<bool>(),
    ) {
        let mut books = Books::open(policy, refund, 10, 1000);
        let told = due_by(&books.job, &fact, policy, &books.price).unwrap();
        if matches!(fact.verdict, Verdict::Corrected { .. }) {
            books.hear(&success(3, 0));
        }
        books.hear(&fact);
        prop_assert_eq!(told, (fact.verdict != Verdict::Running).then_some(books.job.captured));
    }

    #[test]
    fn late_success_without_funds_waits_and_goes_through_once_there_are(paid in 1i64..10, used in 1i64..30) {
        let policy = Policy { overage: Overage::Cap, late_cancel: LateCancel::Capture, partial: Partial::Bill };
        let mut books = Books::open(policy, true, 10, 10);
        books.hear(&fact(Verdict::Failed { reason: "oom".into() }, 1));
        // Something else spends the released funds.
        books.accounts.insert(AccountKind::Available, Decimal::ZERO);
        let success = success(used, 0);
        prop_assert_eq!(books.hear(&success), Decision::Wait(WaitReason::Funds));
        books.check();
        books.accounts.insert(AccountKind::Available, Decimal::from(paid.max(used.min(10))));
        prop_assert!(matches!(books.hear(&success), Decision::Apply(_)));
        prop_assert_eq!(books.job.captured, usd(used.min(10)));
        books.check();
    }

    #[test]
    fn a_correction_takes_no_more_than_the_wallet_has_left(
        used in 0i64..12, left in 0i64..12, corrected in prop::collection::vec(0i64..25, 1..4),
    ) {
        for overage in Overage::ALL {
            let policy = Policy { overage: *overage, late_cancel: LateCancel::Capture, partial: Partial::Bill };
            let mut books = Books::open(policy, true, 10, 10);
            books.hear(&success(used, 0));
            // Something else spends what came back, down to `left`.
            let spent = (books.balance(AccountKind::Available) - Decimal::from(left)).max(Decimal::ZERO);
            *books.accounts.entry(AccountKind::Available).or_default() -= spent;
            for (revision, used) in (2..).zip(corrected.iter().copied()) {
                let before = books.clone();
                let paid = before.job.captured.value() - before.job.receivable.value();
                let payable = before.balance(AccountKind::Available) + paid;
                let decision = books.hear(&correction(used, revision, 0));
                books.check();
                if *overage == Overage::Cap && payable < used.min(10).into() {
                    prop_assert_eq!(decision, Decision::Wait(WaitReason::Funds));
                    prop_assert_eq!(books.net(), before.net());
                    continue;
                }
                let due = if *overage == Overage::Cap { used.min(10) } else { used };
                prop_assert_eq!(books.job.captured, usd(due));
            }
        }
    }

    #[test]
    fn overage_is_never_more_than_the_wallet_has_and_nothing_is_lost(used in 0i64..60, funds in 10i64..60) {
        for overage in Overage::ALL {
            let policy = Policy { overage: *overage, late_cancel: LateCancel::Capture, partial: Partial::Bill };
            let mut books = Books::open(policy, true, 10, funds);
            books.hear(&success(used, 0));
            books.check();
            let due = if *overage == Overage::Cap { used.min(10) } else { used };
            prop_assert_eq!(books.job.captured, usd(due));
            let owed = match overage {
                Overage::Cap => 0,
                Overage::Receivable => (used - 10).max(0),
                Overage::Charge => (used - funds).max(0),
            };
            prop_assert_eq!(books.job.receivable, usd(owed));
        }
    }
}
