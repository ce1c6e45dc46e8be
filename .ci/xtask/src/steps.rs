//! Named steps with a time each, and a table of them at the end, however it ends.

use std::time::{Duration, Instant};

use anyhow::Result;

/// The steps so far.
pub(crate) struct Steps {
    begun: Instant,
    done: Vec<(&'static str, Duration, bool)>,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            done: Vec::new(),
        }
    }

    /// Runs one step under its name.
    pub(crate) fn run<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        println!("\n\x1b[1m== {name}\x1b[0m");
        let begun = Instant::now();
        let result = step();
        self.done.push((name, begun.elapsed(), result.is_ok()));
        result
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        println!();
        for (name, took, passed) in &self.done {
            let verdict = if *passed { "passed" } else { "FAILED" };
            println!("{verdict}  {:>5} s  {name}", took.as_secs());
        }
        println!("        {:>5} s  in all", self.begun.elapsed().as_secs());
    }
}
