//! Times: UTC for machines, the reader's zone for people, relative words only in addition.

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use leptos::prelude::*;

use crate::shell::FrameData;

/// The zone times are shown in, and what it is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Zone {
    /// Shown next to times: `UTC+1`.
    pub label: String,
    /// Its offset.
    pub offset: FixedOffset,
}

impl Default for Zone {
    fn default() -> Self {
        Self {
            label: "UTC".into(),
            offset: FixedOffset::east_opt(0).expect("zero is an offset"),
        }
    }
}

impl Zone {
    /// A zone from its distance to UTC, named after it. Distances of a day or more are UTC.
    pub fn from_minutes_east(minutes: i32) -> Self {
        let Some(offset) = FixedOffset::east_opt(minutes.saturating_mul(60)) else {
            return Self::default();
        };
        let (sign, distance) = if minutes < 0 {
            ('\u{2212}', -minutes)
        } else {
            ('+', minutes)
        };
        let label = match (distance / 60, distance % 60) {
            (0, 0) => "UTC".into(),
            (hours, 0) => format!("UTC{sign}{hours}"),
            (hours, rest) => format!("UTC{sign}{hours}:{rest:02}"),
        };
        Self { label, offset }
    }
}

/// How much of a time is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeStyle {
    /// `2026-11-30 14:13:03 UTC+1 · 4 min ago`
    #[default]
    Full,
    /// `2026-11-30 14:13:03`, in a table whose head names the zone.
    Stamp,
    /// `14:13:03`, where the day is clear.
    Clock,
    /// `4 min ago`; the exact time is its title.
    Age,
}

/// A moment.
#[component]
pub fn Time(
    /// When.
    at: DateTime<Utc>,
    /// How much to show.
    #[prop(optional)]
    style: TimeStyle,
) -> AnyView {
    let frame = FrameData::current();
    let local = at.with_timezone(&frame.zone.offset);
    let stamp = local.format("%Y-%m-%d %H:%M:%S").to_string();
    let exact = format!("{stamp} {}", frame.zone.label);
    let ago = distance(frame.now - at);
    let machine = at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    match style {
        TimeStyle::Full => view! {
            <time datetime=machine>
                {stamp}" "<span class="time-zone">{frame.zone.label}</span>
                <span class="time-ago">" · "{ago}</span>
            </time>
        }
        .into_any(),
        TimeStyle::Stamp => view! { <time datetime=machine title=exact>{stamp}</time> }.into_any(),
        TimeStyle::Clock => {
            let clock = local.format("%H:%M:%S").to_string();
            view! { <time datetime=machine title=exact>{clock}</time> }.into_any()
        }
        TimeStyle::Age => view! { <time datetime=machine title=exact>{ago}</time> }.into_any(),
    }
}

/// A distance in time in words, in its largest unit.
pub(super) fn distance(delta: TimeDelta) -> String {
    let past = delta >= TimeDelta::zero();
    let seconds = delta.num_seconds().unsigned_abs();
    let words = match seconds {
        0..=4 => return "just now".into(),
        5..=89 => format!("{seconds} s"),
        90..=5_399 => format!("{} min", (seconds + 30) / 60),
        5_400..=129_599 => format!("{} h", (seconds + 1_800) / 3_600),
        _ => format!("{} days", (seconds + 43_200) / 86_400),
    };
    if past {
        format!("{words} ago")
    } else {
        format!("in {words}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_read_in_their_largest_unit() {
        let of = |seconds| distance(TimeDelta::seconds(seconds));
        assert_eq!(of(0), "just now");
        assert_eq!(of(42), "42 s ago");
        assert_eq!(of(-240), "in 4 min");
        assert_eq!(of(7_200), "2 h ago");
        assert_eq!(of(3 * 86_400), "3 days ago");
    }

    #[test]
    fn zones_are_named_after_their_distance() {
        assert_eq!(Zone::from_minutes_east(60).label, "UTC+1");
        assert_eq!(Zone::from_minutes_east(-210).label, "UTC\u{2212}3:30");
        assert_eq!(Zone::from_minutes_east(0).label, "UTC");
        assert_eq!(Zone::from_minutes_east(i32::MAX).label, "UTC");
    }
}
