//! A tenant's billing policy: what decisions may differ in.

use crate::code::code;

code!(
    /// What happens to usage above the hold.
    Overage {
        /// Never charge more than was reserved.
        Cap = "cap",
        /// Charge it from available funds; what they do not cover is booked as owed.
        Charge = "charge",
        /// Book it as owed.
        Receivable = "receivable",
    }
);

code!(
    /// What success means after an accepted cancel request.
    LateCancel {
        /// The work was done: charge it.
        Capture = "capture",
        /// The customer had cancelled: release the hold.
        Release = "release",
    }
);

code!(
    /// What partial completion means.
    Partial {
        /// Charge the delivered units, release the rest.
        Bill = "bill",
        /// Treat it as a failure.
        Release = "release",
    }
);

/// A tenant's billing policy, as far as decisions need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Usage above the hold.
    pub overage: Overage,
    /// Success after a cancel request.
    pub late_cancel: LateCancel,
    /// Partial completion.
    pub partial: Partial,
}
