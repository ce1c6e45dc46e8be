//! Who is on stage: invented tenants, their wallets and policies, the models they use and what those cost.
//!
//! One table serves three readers: the loader writes it to the database, the simulated provider plays
//! by it, and the oracle computes from it what every job should have cost.

mod models;

use domain::decide::{LateCancel, Overage, Partial, Policy};

pub(crate) use models::{CURRENCIES, MODELS, Meter, Model};

/// A tenant and how it is billed.
pub(crate) struct Tenant {
    /// Name on screen.
    pub(crate) name: &'static str,
    /// Usage above the hold, success after a cancel, partial completion.
    pub(crate) policy: Policy,
    /// Whether a failed job's hold returns.
    pub(crate) refund_on_failure: bool,
    /// Largest quote it lets through.
    pub(crate) max_quote: Option<&'static str>,
}

const fn policy(overage: Overage, late_cancel: LateCancel, partial: Partial) -> Policy {
    Policy {
        overage,
        late_cancel,
        partial,
    }
}

/// The tenants.
pub(crate) static TENANTS: &[Tenant] = &[
    Tenant {
        name: "Lumen & Grain Films",
        policy: policy(Overage::Charge, LateCancel::Capture, Partial::Bill),
        refund_on_failure: true,
        max_quote: None,
    },
    Tenant {
        name: "Osaka Frame Works",
        policy: policy(Overage::Cap, LateCancel::Capture, Partial::Bill),
        refund_on_failure: false,
        max_quote: None,
    },
    Tenant {
        name: "Atelier Nordwind",
        policy: policy(Overage::Receivable, LateCancel::Release, Partial::Release),
        refund_on_failure: true,
        max_quote: None,
    },
    Tenant {
        name: "Brightside Learning",
        policy: policy(Overage::Cap, LateCancel::Capture, Partial::Bill),
        refund_on_failure: true,
        max_quote: Some("25"),
    },
    Tenant {
        name: "Pocket Postcards",
        policy: policy(Overage::Cap, LateCancel::Capture, Partial::Bill),
        refund_on_failure: true,
        max_quote: None,
    },
];

/// A grant of credit.
pub(crate) struct Grant {
    /// How much, in the wallet's currency.
    pub(crate) amount: &'static str,
    /// Days until what remains expires; `None` for never.
    pub(crate) days: Option<u32>,
    /// Where it came from.
    pub(crate) note: &'static str,
}

/// A wallet.
pub(crate) struct Wallet {
    /// Index into [`TENANTS`].
    pub(crate) tenant: usize,
    /// Name on screen.
    pub(crate) name: &'static str,
    /// Its currency.
    pub(crate) currency: &'static str,
    /// Real money, or tests.
    pub(crate) livemode: bool,
    /// What it is funded with.
    pub(crate) grants: &'static [Grant],
}

/// The wallets. The first four take most of the work; the one in test mode and the poor one have
/// their own parts.
pub(crate) static WALLETS: &[Wallet] = &[
    Wallet {
        tenant: 0,
        name: "Post-production",
        currency: "USD",
        livemode: true,
        grants: &[
            Grant {
                amount: "40",
                days: Some(7),
                note: "Launch credit",
            },
            Grant {
                amount: "2500",
                days: Some(365),
                note: "Annual plan, included credit",
            },
            Grant {
                amount: "400000",
                days: None,
                note: "Bank transfer 2026-1107",
            },
        ],
    },
    Wallet {
        tenant: 1,
        name: "Main wallet",
        currency: "JPY",
        livemode: true,
        grants: &[
            Grant {
                amount: "12000",
                days: Some(30),
                note: "Autumn campaign",
            },
            Grant {
                amount: "60000000",
                days: None,
                note: "Invoice 2026-0412, prepaid",
            },
        ],
    },
    Wallet {
        tenant: 2,
        name: "Studio",
        currency: "EUR",
        livemode: true,
        grants: &[
            Grant {
                amount: "150",
                days: Some(14),
                note: "Goodwill after incident",
            },
            Grant {
                amount: "400000",
                days: None,
                note: "SEPA transfer, framework order",
            },
        ],
    },
    Wallet {
        tenant: 3,
        name: "Course media",
        currency: "USD",
        livemode: true,
        grants: &[
            Grant {
                amount: "75.50",
                days: Some(60),
                note: "Education discount",
            },
            Grant {
                amount: "400000",
                days: None,
                note: "Card payment, top-up",
            },
        ],
    },
    Wallet {
        tenant: 3,
        name: "Sandbox",
        currency: "USD",
        livemode: false,
        grants: &[Grant {
            amount: "1000000",
            days: None,
            note: "Test funds",
        }],
    },
    Wallet {
        tenant: 4,
        name: "Trial",
        currency: "USD",
        livemode: true,
        grants: &[Grant {
            amount: "5",
            days: Some(30),
            note: "Trial credit",
        }],
    },
];

/// How many of [`WALLETS`], from the first, ordinary jobs are spread over.
pub(crate) const ORDINARY_WALLETS: usize = 4;
/// The wallet in test mode.
pub(crate) const SANDBOX: usize = 4;
/// The wallet that covers nothing.
pub(crate) const POOR: usize = 5;
/// The wallet whose tenant limits its quotes.
pub(crate) const LIMITED: usize = 3;

/// Who does the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sender {
    /// Speaks Replicate's prediction objects.
    Replicate,
    /// Speaks the generic job event.
    Acme,
    /// The same provider's test environment.
    AcmeTest,
}

impl Sender {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Replicate, Self::Acme, Self::AcmeTest];

    /// Its source in the webhook URL.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Self::Replicate => "replicate",
            Self::Acme => "acme",
            Self::AcmeTest => "acme-test",
        }
    }

    /// Its name on screen.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Replicate => "Replicate (simulated)",
            Self::Acme => "Acme Render (simulated)",
            Self::AcmeTest => "Acme Render, test environment (simulated)",
        }
    }
}

/// Who asks for what waits in the approvals.
pub(crate) const MAKER: &str = "finance@demo.test";

/// Up to which amount credit is given without a second person.
pub(crate) static THRESHOLDS: [(&str, &str); 3] = [("USD", "50"), ("EUR", "50"), ("JPY", "5000")];

/// Staff: e-mail, name and role.
pub(crate) static OPERATORS: [(&str, &str, &str); 4] = [
    ("admin@demo.test", "Ada Administrator", "admin"),
    ("finance@demo.test", "Finn Finance", "finance"),
    ("support@demo.test", "Sam Support", "support"),
    ("viewer@demo.test", "Vera Viewer", "viewer"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_well_formed() {
        for model in MODELS {
            for currency in CURRENCIES {
                model.price(currency).unwrap();
            }
        }
        assert!(
            WALLETS
                .iter()
                .all(|wallet| CURRENCIES.contains(&wallet.currency))
        );
        assert!(
            WALLETS[..ORDINARY_WALLETS]
                .iter()
                .all(|wallet| wallet.livemode)
        );
        assert!(!WALLETS[SANDBOX].livemode);
        assert!(TENANTS[WALLETS[LIMITED].tenant].max_quote.is_some());
        assert!(MODELS.iter().any(|model| model.sender == Sender::Acme));
    }
}
