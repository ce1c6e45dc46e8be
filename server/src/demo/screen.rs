//! What a person sees while the demo runs: one line that is rewritten on a terminal, and a line every
//! few seconds where output is kept.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use super::wire::Tally;

/// How often a kept line is written.
const KEEP_EVERY: Duration = Duration::from_secs(2);

/// The progress line.
pub(super) struct Screen {
    live: bool,
    kept_at: Option<Instant>,
    shown: bool,
    begun: Instant,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self {
            live: io::stdout().is_terminal(),
            kept_at: None,
            shown: false,
            begun: Instant::now(),
        }
    }

    /// Shows how far the provider is and how much the product still has before it.
    pub(super) fn progress(&mut self, tally: &Tally, waiting: i64) {
        let line = format!(
            "{:>6.1?}s  submitted {:>5}  told to the end {:>5}  deliveries {:>6}  waiting for settlement {waiting:>5}",
            self.begun.elapsed().as_secs(),
            tally.submitted,
            tally.played,
            tally.acknowledged,
        );
        if self.live {
            print!("\r{line}");
            io::stdout().flush().unwrap_or_default();
            self.shown = true;
        } else if self.kept_at.is_none_or(|at| at.elapsed() >= KEEP_EVERY) {
            println!("{line}");
            self.kept_at = Some(Instant::now());
        }
    }

    /// Ends the rewritten line, so that what follows starts on its own.
    pub(super) fn line(&mut self, text: &str) {
        if self.shown {
            println!();
            self.shown = false;
        }
        println!("{text}");
    }
}
