//! What must hold for any lines, jobs and tolerances.

use proptest::{collection::vec, prelude::*};
use rust_decimal::Decimal;

use super::*;

fn quantity() -> impl Strategy<Value = Decimal> {
    (1_i64..2_000, 0_u32..4).prop_map(|(digits, scale)| Decimal::new(digits, scale))
}

fn tolerance() -> impl Strategy<Value = Tolerance> {
    (0_i64..200, 0_i64..=100).prop_map(|(absolute, relative)| {
        Tolerance::new(Decimal::new(absolute, 1), Decimal::new(relative, 2)).unwrap()
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        quantity().prop_map(Entry::Line),
        quantity().prop_map(Entry::Elsewhere),
        (0_usize..3, proptest::option::of(quantity()))
            .prop_map(|(standing, usage)| Entry::Job(Standing::ALL[standing], usage)),
    ]
}

fn group(entries: &[Entry]) -> Group {
    let mut group = Group::default();
    for entry in entries {
        group.add(*entry);
    }
    group
}

fn within(usage: Decimal) -> Entry {
    Entry::Job(Standing::Within, Some(usage))
}

/// Cuts a quantity into parts that sum up to it.
fn parts(whole: Decimal, cuts: &[u32]) -> Vec<Decimal> {
    let mut rest = whole;
    let mut parts: Vec<_> = cuts
        .iter()
        .map(|cut| {
            let part = (rest / Decimal::from(*cut)).round_dp(9);
            rest -= part;
            part
        })
        .collect();
    parts.push(rest);
    parts
}

proptest! {
    #[test]
    fn the_order_does_not_matter(
        (first, second) in vec(entry(), 0..8)
            .prop_flat_map(|entries| (Just(entries.clone()), Just(entries).prop_shuffle())),
        tolerance in tolerance(),
    ) {
        prop_assert_eq!(group(&first).outcome(tolerance), group(&second).outcome(tolerance));
    }

    #[test]
    fn one_job_matches_the_many_lines_that_make_it_up(usage in quantity(), cuts in vec(2_u32..5, 0..6)) {
        let lines = parts(usage, &cuts).into_iter().map(Entry::Line);
        let entries: Vec<_> = lines.chain([within(usage)]).collect();
        prop_assert_eq!(group(&entries).outcome(Tolerance::default()), Outcome::Matched);
    }

    #[test]
    fn many_jobs_match_the_one_line_they_make_up(told in quantity(), cuts in vec(2_u32..5, 0..6)) {
        let jobs = parts(told, &cuts).into_iter().map(within);
        let entries: Vec<_> = jobs.chain([Entry::Line(told)]).collect();
        prop_assert_eq!(group(&entries).outcome(Tolerance::default()), Outcome::Matched);
    }

    #[test]
    fn a_difference_is_allowed_up_to_the_tolerance_and_not_beyond(
        usage in quantity(), more in quantity(), units in quantity(),
    ) {
        let entries = [within(usage), Entry::Line(usage + more)];
        let of = |absolute| Tolerance::new(absolute, Decimal::ZERO).unwrap();
        let expected = if more <= units { Outcome::WithinTolerance } else { Outcome::Differs };
        prop_assert_eq!(group(&entries).outcome(of(units)), expected);
        let share = Tolerance::new(Decimal::ZERO, Decimal::new(5, 1)).unwrap();
        let expected = if more <= usage { Outcome::WithinTolerance } else { Outcome::Differs };
        prop_assert_eq!(group(&entries).outcome(share), expected);
    }

    #[test]
    fn which_side_has_more_makes_no_difference(ours in quantity(), theirs in quantity(), tolerance in tolerance()) {
        let one = group(&[within(ours), Entry::Line(theirs)]).outcome(tolerance);
        let other = group(&[within(theirs), Entry::Line(ours)]).outcome(tolerance);
        prop_assert_eq!(one, other);
    }

    #[test]
    fn more_tolerance_never_alarms_more(entries in vec(entry(), 0..8), tolerance in tolerance(), more in quantity()) {
        let wider = Tolerance::new(tolerance.absolute() + more, tolerance.relative()).unwrap();
        let (narrow, wide) = (group(&entries).outcome(tolerance), group(&entries).outcome(wider));
        prop_assert!(narrow.alarms() || !wide.alarms(), "{narrow} {wide}");
    }

    #[test]
    fn what_is_on_its_way_never_alarms(entries in vec(entry(), 0..8), late in 1_usize..3, tolerance in tolerance()) {
        let entries = [entries, vec![Entry::Job(Standing::ALL[late], None)]].concat();
        prop_assert!(!group(&entries).outcome(tolerance).alarms());
    }

    #[test]
    fn a_side_that_says_nothing_is_missing_however_wide_the_tolerance(told in quantity(), tolerance in tolerance()) {
        let theirs = group(&[Entry::Line(told), Entry::Job(Standing::Within, None)]);
        prop_assert_eq!(theirs.outcome(tolerance), Outcome::MissingWithUs);
        prop_assert_eq!(group(&[Entry::Line(told)]).outcome(tolerance), Outcome::MissingWithUs);
        prop_assert_eq!(group(&[within(told)]).outcome(tolerance), Outcome::MissingWithProvider);
    }

    #[test]
    fn what_other_periods_state_counts_only_where_it_makes_the_sum(told in quantity(), rest in quantity()) {
        let whole = told + rest;
        let nothing = Tolerance::default();
        let entries = [within(whole), Entry::Line(told), Entry::Elsewhere(rest)];
        prop_assert_eq!(group(&entries).outcome(nothing), Outcome::Timing);
        prop_assert_eq!(group(&[within(whole), Entry::Elsewhere(whole)]).outcome(nothing), Outcome::Timing);
        let entries = [within(whole + rest), Entry::Line(told), Entry::Elsewhere(rest)];
        prop_assert_eq!(group(&entries).outcome(nothing), Outcome::Differs);
    }

    #[test]
    fn what_is_matched_is_decided_as_if_it_had_one_name(
        groups in vec(vec(entry(), 0..5), 1..5), tolerance in tolerance(),
    ) {
        let mut joined = Group::default();
        for entries in &groups {
            joined.join(&group(entries));
        }
        let whole = group(&groups.concat());
        prop_assert_eq!(joined, whole);
        prop_assert_eq!(joined.outcome(tolerance), whole.outcome(tolerance));
    }

    #[test]
    fn lines_of_theirs_match_usage_of_ours_under_other_names_up_to_the_tolerance(
        told in quantity(), ours in vec(2_u32..5, 0..4), theirs in vec(2_u32..5, 0..4), more in quantity(), units in quantity(),
    ) {
        let mut joined = Group::default();
        for part in parts(told, &ours) {
            joined.join(&group(&[within(part)]));
        }
        for part in parts(told, &theirs) {
            joined.join(&group(&[Entry::Line(part)]));
        }
        let of = |absolute| Tolerance::new(absolute, Decimal::ZERO).unwrap();
        prop_assert_eq!(joined.outcome(Tolerance::default()), Outcome::Matched);
        joined.join(&group(&[Entry::Line(more)]));
        let expected = if more <= units { Outcome::WithinTolerance } else { Outcome::Differs };
        prop_assert_eq!(joined.outcome(of(units)), expected);
    }

    #[test]
    fn a_key_reads_back(reference in "[^\\p{C}]{1,40}", livemode: bool, days in 1_u64..400) {
        let from = NaiveDate::from_ymd_opt(2026, 11, 1).unwrap();
        let key = GroupKey {
            source: "acme-2".to_owned(),
            livemode,
            period: Period::new(from, from + chrono::Days::new(days)).unwrap(),
            meter: "input_tokens".parse().unwrap(),
            reference,
        };
        prop_assert_eq!(key.to_string().parse(), Ok(key));
    }
}

#[test]
fn nothing_on_both_sides_is_the_same() {
    let nothing = Tolerance::default();
    assert_eq!(Group::default().outcome(nothing), Outcome::Matched);
    assert_eq!(
        group(&[Entry::Line(Decimal::ZERO)]).outcome(nothing),
        Outcome::Matched
    );
    assert_eq!(
        group(&[within(Decimal::ZERO)]).outcome(nothing),
        Outcome::Matched
    );
}

#[test]
fn sums_beyond_all_numbers_differ_instead_of_wrapping() {
    let entries = [
        within(Decimal::MAX),
        within(Decimal::MAX),
        Entry::Line(Decimal::MAX),
    ];
    let outcome = group(&entries).outcome(Tolerance::default());
    assert_eq!(outcome, Outcome::Differs);
}

#[test]
fn a_tolerance_is_neither_below_zero_nor_all() {
    let of = |absolute: &str, relative: &str| {
        Tolerance::new(absolute.parse().unwrap(), relative.parse().unwrap())
    };
    assert!(of("0", "1").is_ok() && of("2.5", "0.01").is_ok());
    for (absolute, relative) in [
        ("-1", "0"),
        ("0", "-0.1"),
        ("0", "1.01"),
        ("1000000000000000000", "0"),
    ] {
        assert_eq!(of(absolute, relative), Err(ToleranceError));
    }
}

#[test]
fn a_period_has_days() {
    assert!("2026-11-01/2026-12-01".parse::<Period>().is_ok());
    for text in [
        "2026-11-01/2026-11-01",
        "2026-12-01/2026-11-01",
        "2026-11-01",
        "x/y",
    ] {
        assert_eq!(text.parse::<Period>(), Err(PeriodError), "{text}");
    }
}
