//! What will happen to each job, drawn from one seed.
//!
//! A plan is a pure function of (seed, index, rates): the same three give the same plan on every run and
//! whatever happened to other jobs. Only the wall clock of a run differs, and nothing that is charged
//! may depend on it, which is what the run proves.

mod event;

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use rust_decimal::Decimal;

use super::{
    cast::{self, LIMITED, MODELS, Meter, Model, ORDINARY_WALLETS, POOR, SANDBOX, Sender},
    rates::{Rate, Rates},
};

pub(super) use event::{Event, Forgery, Word};

/// Quantities by meter, as text.
pub(super) type Quantities = Vec<(&'static str, String)>;

/// How a job's life goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Story {
    /// It is done.
    Succeeds,
    /// A part of it is done.
    SucceedsInPart,
    /// The provider gives up.
    Fails,
    /// The provider gives up, and then succeeds after all.
    FailsThenSucceeds,
    /// Two completions with two usages are reported.
    CompletesTwice,
    /// The usage is corrected later.
    IsCorrected,
    /// The customer cancels before any provider has it.
    CancelledBeforeDispatch,
    /// The customer cancels and the provider stops.
    CancelHonoured,
    /// The customer cancels and the provider finishes all the same.
    CancelTooLate,
    /// The wallet cannot cover it.
    Unaffordable,
    /// The tenant's own limit refuses it.
    Blocked,
    /// The provider takes it up and never says how it ended.
    NeverTold,
}

/// When the provider's reference reaches the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attach {
    /// Before the provider sends anything.
    BeforeEvents,
    /// After the provider's first event was accepted.
    AfterFirstEvent,
    /// Not at all: events name the job itself.
    Never,
}

/// One job, from submission to its last event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    /// Which job of the run.
    pub(super) index: u64,
    /// Index into [`cast::WALLETS`].
    pub(super) wallet: usize,
    /// Index into [`cast::MODELS`].
    pub(super) model: usize,
    /// Who sends its events.
    pub(super) sender: Sender,
    /// Number of the tenant's user.
    pub(super) user: u32,
    /// What the caller expects it to use; `None` leaves that to the price.
    pub(super) estimate: Option<Quantities>,
    /// What happens.
    pub(super) story: Story,
    /// When its reference is attached.
    pub(super) attach: Attach,
    /// Whether events name the job as well.
    pub(super) names_job: bool,
    /// The caller sends the submission twice.
    pub(super) resubmits: bool,
    /// When the customer cancels, in milliseconds after submission.
    pub(super) cancel_after_ms: u32,
    /// What the provider tells.
    pub(super) events: Vec<Event>,
    /// What it tells only when it is asked.
    pub(super) untold: Option<Event>,
}

impl Plan {
    /// Draws the plan of one job.
    pub(super) fn draw(seed: u64, index: u64, rates: &Rates) -> Self {
        let rng = &mut StdRng::seed_from_u64(mix(seed, index));
        let story = story(rng, rates);
        let test_mode = rates.test_mode.hits(rng);
        let ordinary = rng.random_range(0..ORDINARY_WALLETS);
        let wallet = match story {
            Story::Unaffordable => POOR,
            Story::Blocked => LIMITED,
            _ if test_mode => SANDBOX,
            _ => ordinary,
        };
        // Only the generic event can tell of a part, of a correction, or of a test.
        let generic =
            wallet == SANDBOX || matches!(story, Story::SucceedsInPart | Story::IsCorrected);
        let model = pick_model(rng, generic);
        let sender = if wallet == SANDBOX {
            Sender::AcmeTest
        } else {
            MODELS[model].sender
        };
        let used = usage(rng, &MODELS[model]);
        let attach = attach(rng, rates, story);
        let names_job = attach == Attach::Never
            || (attach == Attach::BeforeEvents && rng.random_range(0..2) == 0);
        let mut plan = Self {
            index,
            wallet,
            model,
            sender,
            user: rng.random_range(1..40),
            estimate: estimate(rng, &MODELS[model], &used, story),
            story,
            attach,
            names_job,
            resubmits: rates.resubmissions.hits(rng),
            cancel_after_ms: rng.random_range(5..60),
            events: event::draw(
                rng,
                rates,
                &event::Scene {
                    story,
                    sender,
                    model: &MODELS[model],
                    used: &used,
                },
            ),
            untold: None,
        };
        plan.untold = (story == Story::NeverTold).then(|| event::untold(&plan.events, &used));
        plan
    }

    /// Whether the wallet is one of live money.
    pub(super) fn live(&self) -> bool {
        cast::WALLETS[self.wallet].livemode
    }

    /// The usage that ends up being billed when anything is: the highest revision, then the completion
    /// that occurred first.
    pub(super) fn prevailing_usage(&self) -> Option<&Quantities> {
        self.events
            .iter()
            .filter(|event| !event.stray)
            .filter_map(|event| Some((event.usage.as_ref()?, event)))
            .min_by_key(|(_, event)| (std::cmp::Reverse(event.revision), event.occurs_ms))
            .map(|(usage, _)| usage)
    }
}

/// Spreads neighbouring indexes over the whole space (the finaliser of SplitMix64).
fn mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Each story takes its share of one draw, in this order; what is left succeeds.
fn story(rng: &mut StdRng, rates: &Rates) -> Story {
    let roll = rng.random_range(0..1_000_000_u32);
    let cancelled = [
        Story::CancelledBeforeDispatch,
        Story::CancelHonoured,
        Story::CancelTooLate,
    ][rng.random_range(0..3_usize)];
    let shares: [(Rate, Story); 9] = [
        (rates.unaffordable, Story::Unaffordable),
        (rates.blocked, Story::Blocked),
        (rates.cancels, cancelled),
        (rates.failures, Story::Fails),
        (rates.late_success, Story::FailsThenSucceeds),
        (rates.second_completions, Story::CompletesTwice),
        (rates.corrections, Story::IsCorrected),
        (rates.partial, Story::SucceedsInPart),
        (rates.silence, Story::NeverTold),
    ];
    let mut end = 0_u32;
    for (share, story) in shares {
        end = end.saturating_add(share.millionths());
        if roll < end {
            return story;
        }
    }
    Story::Succeeds
}

fn pick_model(rng: &mut StdRng, generic: bool) -> usize {
    let fit: Vec<usize> = (0..MODELS.len())
        .filter(|at| !generic || MODELS[*at].sender == Sender::Acme)
        .collect();
    fit[rng.random_range(0..fit.len())]
}

fn attach(rng: &mut StdRng, rates: &Rates, story: Story) -> Attach {
    let (late, never) = (
        rates.late_references.hits(rng),
        rng.random_range(0..10) == 0,
    );
    match story {
        Story::CancelledBeforeDispatch | Story::Unaffordable | Story::Blocked => Attach::Never,
        // The request must find the job dispatched, or it would be released at once.
        Story::CancelHonoured | Story::CancelTooLate => Attach::BeforeEvents,
        _ if late => Attach::AfterFirstEvent,
        _ if never => Attach::Never,
        _ => Attach::BeforeEvents,
    }
}

/// What the work consumed.
fn usage(rng: &mut StdRng, model: &Model) -> Quantities {
    model
        .meters
        .iter()
        .map(|meter| {
            (
                meter.name,
                text(rng.random_range(meter.steps.0..=meter.steps.1), meter),
            )
        })
        .collect()
}

/// What the caller expects: now too much, now too little, and far too much where it is to be refused.
fn estimate(
    rng: &mut StdRng,
    model: &Model,
    used: &Quantities,
    story: Story,
) -> Option<Quantities> {
    let percent = rng.random_range(60..=180_u32);
    let given = rng.random_range(0..10) < 7;
    let huge = matches!(story, Story::Unaffordable | Story::Blocked);
    let guess = |(meter, (name, used)): (&Meter, &(&'static str, String))| {
        let steps = if huge {
            meter.steps.1 * 2000
        } else {
            scaled(used, percent, meter)
        };
        (*name, text(steps, meter))
    };
    (given || huge).then(|| model.meters.iter().zip(used).map(guess).collect())
}

/// A share of a quantity, in whole steps, at least one.
fn scaled(quantity: &str, percent: u32, meter: &Meter) -> u64 {
    let exact: Decimal = quantity.parse().unwrap_or(Decimal::ONE);
    let steps = exact * Decimal::from(10_u64.pow(meter.scale)) * Decimal::from(percent)
        / Decimal::ONE_HUNDRED;
    u64::try_from(steps.trunc()).unwrap_or(1).max(1)
}

fn text(steps: u64, meter: &Meter) -> String {
    Decimal::from_i128_with_scale(steps.into(), meter.scale).to_string()
}

#[cfg(test)]
pub(super) mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        rates: Rates,
    }

    /// The declared defaults.
    pub(in crate::demo) fn default_rates() -> Rates {
        Line::parse_from(["demo"]).rates
    }

    #[test]
    fn a_plan_is_a_function_of_seed_and_index() {
        let rates = default_rates();
        let run = |seed, indexes: &mut dyn Iterator<Item = u64>| -> Vec<Plan> {
            indexes
                .map(|index| Plan::draw(seed, index, &rates))
                .collect()
        };
        let forwards = run(7, &mut (0..500));
        let mut backwards = run(7, &mut (0..500).rev());
        backwards.reverse();
        assert_eq!(forwards, backwards);
        assert_ne!(forwards, run(8, &mut (0..500)));
    }

    #[test]
    fn every_story_and_mishap_occurs() {
        let plans: Vec<_> = (0..2000)
            .map(|index| Plan::draw(1, index, &default_rates()))
            .collect();
        for story in [
            Story::Succeeds,
            Story::SucceedsInPart,
            Story::Fails,
            Story::FailsThenSucceeds,
            Story::CompletesTwice,
            Story::IsCorrected,
            Story::CancelledBeforeDispatch,
            Story::CancelHonoured,
            Story::CancelTooLate,
            Story::Unaffordable,
            Story::Blocked,
            Story::NeverTold,
        ] {
            assert!(plans.iter().any(|plan| plan.story == story), "{story:?}");
        }
        for attach in [Attach::BeforeEvents, Attach::AfterFirstEvent, Attach::Never] {
            assert!(plans.iter().any(|plan| plan.attach == attach), "{attach:?}");
        }
        let events = || plans.iter().flat_map(|plan| &plan.events);
        assert!(events().any(|event| event.copies > 0 && event.at_once));
        assert!(events().any(|event| event.lost_answers > 0));
        assert!(events().any(|event| event.forgery.is_some()));
        assert!(events().any(|event| event.conflict.is_some()));
        assert!(events().any(|event| event.stray));
        assert!(events().any(|event| event.word == Word::Unheard));
        let overtaken = |plan: &&Plan| {
            let sent = |event: &Event| event.occurs_ms + event.delay_ms;
            plan.events
                .windows(2)
                .any(|pair| sent(&pair[0]) > sent(&pair[1]))
        };
        assert!(plans.iter().filter(overtaken).count() > 200);
    }

    #[test]
    fn what_prevails_is_the_last_revision_and_then_the_first_completion() {
        let rates = default_rates();
        for index in 0..2000 {
            let plan = Plan::draw(3, index, &rates);
            let told: Vec<_> = plan
                .events
                .iter()
                .filter(|event| event.usage.is_some() && !event.stray)
                .collect();
            match plan.story {
                Story::IsCorrected => assert_eq!(plan.prevailing_usage(), told[1].usage.as_ref()),
                Story::CompletesTwice => {
                    assert_ne!(told[0].usage, told[1].usage);
                    assert_ne!(told[0].occurs_ms, told[1].occurs_ms);
                }
                Story::Fails | Story::CancelHonoured | Story::Unaffordable => {
                    assert_eq!(plan.prevailing_usage(), None)
                }
                _ => {}
            }
        }
    }
}
