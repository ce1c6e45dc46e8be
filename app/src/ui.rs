//! The parts every screen is made of. They know no data: they take text, amounts and addresses
//! that the screen has already decided on, and hold the look, the words and the accessibility of
//! each thing in one place.
//!
//! They exist on the server only. Nothing here reaches the browser's WASM, so formatting,
//! decimals and dates cost no bytes there.

mod amount;
mod badge;
mod button;
mod card;
mod chart;
mod empty;
mod filter;
mod form;
mod head;
mod icon;
mod id;
mod json;
mod live;
#[cfg(test)]
mod palette;
mod proof;
mod table;
mod time;

pub use amount::{Amount, AmountText, Side, number};
pub use badge::{StateBadge, Tone};
pub use button::{Button, ButtonKind, LinkButton};
pub use card::{Card, Figure, Figures, KeyValue, Pair, Related, RelatedLink};
pub use chart::{BarChart, ChartPoint, LineChart};
pub use empty::{EmptyKind, EmptyState};
pub use filter::{Chip, Chips, FilterBar, ViewLink, ViewLinks};
pub use form::{Choice, ErrorSummary, Field, FieldError, Form, SelectField, Textarea};
pub use head::{Fact, NextStep, ObjectHead, PageHead, Section, Sentence};
pub use icon::{Glyph, Icon};
pub use id::Id;
pub use json::JsonView;
pub use live::LiveBar;
pub use proof::{BalanceShift, Move, ProofTimeline, Step};
pub use table::{Column, DataTable, Pager, RowLink, SortOrder};
pub use time::{Time, TimeStyle, Zone};
