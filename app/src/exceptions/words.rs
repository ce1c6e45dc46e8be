//! What is wrong in plain words, what to do about it, and where to look.

use domain::exception::{Class, Repair, State, What};
use domain::id::WalletId;
use domain::money::Currency;
use engine::exception::views::Exception;
use rust_decimal::Decimal;

use crate::ui::{Tone, number};
use crate::words::money;

/// What is wrong, as a headline.
pub(super) const fn title(class: Class) -> &'static str {
    match class {
        Class::Balance => "A balance is not the sum of its transfers",
        Class::TrialBalance => "Debits and credits differ",
        Class::ModeAndWallet => "A transfer left its mode or wallet",
        Class::RunningBalances => "A running balance does not follow from the one before",
        Class::Versions => "Versions of a settlement have a gap",
        Class::Transfers => "A settlement has no transfers",
        Class::SettlementEvent => "An event forgot what it caused",
        Class::Grant => "A lot is not what was granted",
        Class::HoldEnd => "A hold did not end once",
        Class::JobVersions => "A job counts other settlements than there are",
        Class::JobCharge => "A job is not what its transfers moved",
        Class::JobHold => "A finished job still holds funds",
        Class::Holds => "A wallet's hold is not the sum of its jobs",
        Class::JobSteps => "A job's steps are incomplete",
        Class::JobCorrections => "A job was corrected by nobody",
        Class::LotDraws => "A lot is not what its draws left",
        Class::Lots => "What is available is not the sum of the lots",
        Class::Price => "A settlement was rated at another price than was frozen",
        Class::Content => "A settlement was changed after it was written",
        Class::Audit => "The audit log was changed",
        Class::Seals => "What was sealed was changed",
        Class::EventOutcome => "An event waits for a worker that does not come",
        Class::StatedUsage => "Our usage is not what the provider states",
    }
}

/// How it can come about, and what to do.
pub(super) const fn runbook(class: Class) -> &'static str {
    match class {
        Class::Balance => {
            "A balance is written with its transfers, so this comes from a change below the application, or a restore that was incomplete. The transfers are what counts: writing the balance anew from them puts it right. Find out who changed it first."
        }
        Class::TrialBalance => {
            "Each transfer has two sides, so the sum of all balances is zero. When it is not, some balance is off: there is an exception of its own for that account. Put that right, and this closes itself."
        }
        Class::ModeAndWallet => {
            "The application cannot write this. Someone changed an account, a transfer or a settlement in the database. Restore the changed row from a backup."
        }
        Class::RunningBalances => {
            "Each transfer of a wallet records the balance after it. A break in the chain says that a transfer was changed, removed or put in below the application. Compare with a backup, and restore what differs."
        }
        Class::Versions => {
            "Versions count up from one. A missing one was removed below the application, or renamed. Restore it from a backup."
        }
        Class::Transfers => {
            "A settlement and its transfers are one transaction. Transfers that are not there were removed below the application. Restore them from a backup; the job and the balances will differ until then."
        }
        Class::SettlementEvent => {
            "The event was set back below the application. When it is looked at again it finds its settlement and changes nothing, so this closes itself as soon as the workers run."
        }
        Class::Grant => {
            "A lot keeps what was granted for ever. Someone changed it in the database. Restore the lot's amount from its grant settlement."
        }
        Class::HoldEnd => {
            "Each hold ends in one capture or one release. A settlement is missing, or there is one too many, and neither can come from the application. Compare the job's proof with a backup."
        }
        Class::JobVersions => {
            "A job's row counts its settlements. It was changed below the application, or settlements were removed. The settlements count: restore the row to them."
        }
        Class::JobCharge => {
            "The sums on a job's row are written with its transfers. They were changed below the application. The transfers count: restore the row to them."
        }
        Class::JobHold => {
            "A verdict ends a hold. Someone changed the job's row. Its settlements say what it holds: restore the row to them."
        }
        Class::Holds => {
            "What jobs hold adds up to the wallet's held account. One of its jobs is off, or the balance: there is an exception of its own for that. Put that right, and this closes itself."
        }
        Class::JobSteps => {
            "Every change of a job's state is a row. One was removed, or the job's row was changed. Restore it from a backup."
        }
        Class::JobCorrections => {
            "Only an action corrects a charge, and each is noted. The job's row was changed below the application. Restore it to what is noted."
        }
        Class::LotDraws => {
            "What remains of a lot is written with its draws. It was changed below the application. The draws are what counts: writing it anew from them puts it right. Find out who changed it first."
        }
        Class::Lots => {
            "What is available in a wallet is what its lots still hold. A lot is off, or the balance: there is an exception of its own for that. Put that right, and this closes itself."
        }
        Class::Price => {
            "Prices are frozen when a job is submitted and never changed. Someone changed the price version or the settlement. Restore the one that differs from a backup."
        }
        Class::Content => {
            "A settlement is hashed when it is written. Its amount, entries or snapshot were changed since, below the application. Restore it from a backup, and treat it as tampering until it is explained."
        }
        Class::Audit => {
            "Each line of the log is hashed together with the line before. A line was changed, removed or put in. Restore it from a backup, and treat it as tampering until it is explained."
        }
        Class::Seals => {
            "Everything posted is sealed within a minute, and a seal stands for all that came before it. This is the first whose rows do not come to its root: a transfer or settlement of its range, or one that it should not hold, was changed, removed or put in below the application, or the seal was. Compare the range with a backup from after it was sealed, and restore what differs. Treat it as tampering until it is explained: balances and hashes that agree prove nothing here."
        }
        Class::EventOutcome => {
            "No worker has looked at it for an hour after it was due. See whether the workers run. Having it looked at again is safe: whatever it settled before cannot settle twice."
        }
        Class::StatedUsage => {
            "The provider's statement and our usage of the same work differ by more than was allowed. Expected is what the provider states, and there is what we billed. Ask for the event behind it, or for a corrected statement of the same period: uploading that, or an event with the right usage, lets the next run close this. Correcting the charge moves the money and leaves usage as it was told: accept the difference then, saying why."
        }
    }
}

/// What the button of a repair says.
pub(super) const fn repair_words(repair: Repair) -> &'static str {
    match repair {
        Repair::RebuildBalance => "Write the balance anew from its transfers",
        Repair::RebuildLot => "Write what remains anew from its draws",
        Repair::Redrive => "Have it looked at again now",
    }
}

/// What was done, after who did it.
pub(super) const fn what_words(what: What) -> &'static str {
    match what {
        What::Opened => "found it",
        What::Reopened => "found it again after it was right",
        What::Closed => "did not find it any more, and closed it",
        What::Assigned => "took it",
        What::Unassigned => "gave it back",
        What::Snoozed => "put it off",
        What::Noted => "noted",
        What::Repaired => "put it right",
        What::Accepted => "accepted the difference",
    }
}

/// How urgent it is to the eye.
pub(super) fn tone(one: &Exception) -> Tone {
    match one.state {
        State::Closed => Tone::Good,
        State::Open if one.class.is_timing() => Tone::Attention,
        State::Open => Tone::Stop,
    }
}

/// A number of an exception: money where it has a currency.
pub(super) fn figure(value: Option<Decimal>, currency: Option<Currency>) -> String {
    match (value, currency) {
        (None, _) => "—".to_owned(),
        (Some(value), Some(currency)) => domain::money::Amount::exact(value, currency).map_or_else(
            |_| value.normalize().to_string(),
            |sum| money(sum).to_string(),
        ),
        (Some(value), None) => number(value.normalize()),
    }
}

/// Where the subject can be looked at.
pub(super) fn href(one: &Exception, wallet: Option<WalletId>) -> Option<String> {
    let id = one.subject.split(' ').next()?;
    let (kind, _) = id.split_once('_')?;
    match kind {
        "job" => Some(format!("/jobs/{id}")),
        "stl" => Some(format!("/settlements/{id}")),
        "wallet" => Some(format!("/wallets/{id}")),
        "evt" => Some(format!("/events/{id}")),
        "seal" => id[5..].parse().ok().map(crate::seals::href),
        "tenant" if id.contains('/') => job_in_key(id),
        "tenant" => Some(format!("/wallets?tenant={id}")),
        _ => wallet.map(|wallet| format!("/wallets/{wallet}")),
    }
}

/// The job of a settlement key.
fn job_in_key(key: &str) -> Option<String> {
    let subject = key.split('/').nth(1)?;
    subject
        .starts_with("job_")
        .then(|| format!("/jobs/{subject}"))
}
