//! What a person types before a step that another person answers for, or that is not taken back.

use rust_decimal::Decimal;

use super::Kind;
use crate::{id::ActionId, money::Amount};

/// Characters of an action's key that stand for it.
const TAIL: usize = 6;

/// A step of an action that carries it on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Onward {
    /// Its maker commits it.
    Commit,
    /// A second person approves it.
    Approve,
}

impl Onward {
    /// Whether the step asks for a confirmation: every approval, and asking for what is not taken back.
    pub fn is_confirmed(self, kind: Kind, needs_approval: bool) -> bool {
        match (self, kind) {
            (Self::Approve, _) => true,
            (Self::Commit, Kind::Unfreeze | Kind::Release | Kind::Reverse) => needs_approval,
            (
                Self::Commit,
                Kind::Goodwill | Kind::Freeze | Kind::Charge | Kind::Credit | Kind::Undo,
            ) => false,
        }
    }
}

/// The end of an action's key, as it is typed.
pub fn tail(id: ActionId) -> String {
    let id = id.to_string();
    id[id.len() - TAIL..].to_owned()
}

/// Whether what was typed is the amount that moves, or the end of the action's key.
pub fn is_confirmation(typed: &str, id: ActionId, moved: Option<Amount>) -> bool {
    let typed = typed.trim();
    if typed.eq_ignore_ascii_case(&tail(id)) {
        return true;
    }
    moved.is_some_and(|moved| {
        let code = moved.currency().code();
        let figure = typed.strip_suffix(code).unwrap_or(typed).trim_end();
        // As it is shown, with its thousands in groups, or plain.
        let figure = figure.replace(',', "");
        Decimal::from_str_exact(&figure).is_ok_and(|figure| figure == moved.value())
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn check(typed: &str, moved: Option<&str>, expected: bool) {
        let id = ActionId(Uuid::from_u128(0xabc_def0));
        let usd = "USD".parse().unwrap();
        let moved = moved.map(|moved| Amount::exact(moved.parse().unwrap(), usd).unwrap());
        assert_eq!(is_confirmation(typed, id, moved), expected, "{typed:?}");
    }

    #[test]
    fn the_amount_or_the_end_of_the_key_confirms_and_nothing_else() {
        for typed in ["1234.5", "1,234.50", " 1234.50 USD ", "bcdef0", "BCDEF0"] {
            check(typed, Some("1234.5"), true);
        }
        for typed in [
            "",
            "1234",
            "-1234.5",
            "1234.50 EUR",
            "yes",
            "abcdef0",
            "1.2345",
        ] {
            check(typed, Some("1234.5"), false);
        }
        check("bcdef0", None, true);
        check("0", None, false);
        check("", None, false);
    }

    #[test]
    fn every_approval_and_every_step_that_is_not_taken_back_asks() {
        for kind in Kind::ALL {
            assert!(Onward::Approve.is_confirmed(*kind, true));
            let commits = Onward::Commit.is_confirmed(*kind, true);
            let expected = matches!(kind, Kind::Unfreeze | Kind::Release | Kind::Reverse);
            assert_eq!(commits, expected, "{kind}");
            assert!(!Onward::Commit.is_confirmed(*kind, false), "{kind}");
        }
    }
}
