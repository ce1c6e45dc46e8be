//! Ids that the simulated parties give. A run has a tag of its own, so that a second run on the same
//! database is new work and not a repetition of the first.

use sha2::{Digest as _, Sha256};

/// Crockford's alphabet in lower case, as Replicate's prediction ids use.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The provider's id of a job.
pub(super) fn reference(run: &str, index: u64) -> String {
    spell(&[run, "reference", &index.to_string()], 26)
}

/// The id of a webhook; the same on every attempt.
pub(super) fn event(run: &str, index: u64, number: usize) -> String {
    format!(
        "msg_{}",
        spell(&[run, "event", &index.to_string(), &number.to_string()], 24)
    )
}

/// The id that the customer's backend gives a submission.
pub(super) fn request(run: &str, index: u64) -> String {
    format!("order-{run}-{index:05}")
}

fn spell(parts: &[&str], length: usize) -> String {
    let digest = Sha256::digest(parts.join("\n").as_bytes());
    digest
        .iter()
        .take(length)
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_repeat_within_a_run_and_differ_between_runs() {
        assert_eq!(reference("a", 7), reference("a", 7));
        assert_ne!(reference("a", 7), reference("b", 7));
        assert_ne!(event("a", 7, 1), event("a", 7, 2));
        assert_eq!(reference("a", 7).len(), 26);
        assert!(!event("a", 7, 1).contains('.'));
    }
}
