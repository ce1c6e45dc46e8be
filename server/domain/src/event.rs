//! Events and deliveries: states, outcomes, and why an event did not change anything.

use crate::code::code;

code!(
    /// What became of an event.
    EventState {
        /// Stored; a worker has not looked at it yet.
        Received = "received",
        /// Something it needs is not known yet: its job, its provider reference, or funds.
        Waiting = "waiting",
        /// Could not be processed; tried again with growing delays.
        Failed = "failed",
        /// Changed its job.
        Applied = "applied",
        /// Changed nothing, for a stated reason.
        Ignored = "ignored",
        /// Cannot be used; waits for a person.
        Rejected = "rejected",
        /// Contradicts what was settled; waits for a person.
        Conflict = "conflict",
    }
);

impl EventState {
    /// Whether a worker will look at it again.
    pub fn is_due(self) -> bool {
        matches!(self, Self::Received | Self::Waiting | Self::Failed)
    }

    /// Whether a person may decide about it: it cannot be used, or cannot be processed.
    pub fn is_case(self) -> bool {
        matches!(self, Self::Rejected | Self::Conflict | Self::Failed)
    }
}

code!(
    /// What we made of one HTTP attempt.
    DeliveryOutcome {
        /// A new event.
        Accepted = "accepted",
        /// An event we had, with the same content.
        Duplicate = "duplicate",
        /// An event we had, with other content.
        Conflict = "conflict",
        /// Not an event: see the reason.
        Rejected = "rejected",
    }
);

code!(
    /// What a person decided about an event.
    CaseDecision {
        /// What came first under its key stands.
        KeepFirst = "keep_first",
        /// The other content is right, and an adjustment brought the charge to it.
        AcceptOther = "accept_other",
        /// It changes nothing.
        Dismiss = "dismiss",
        /// It is looked at again, under its own identity.
        Replay = "replay",
    }
);

code!(
    /// Why an event changed nothing.
    IgnoreReason {
        /// Of a type we do not use.
        UnusedType = "unused_type",
        /// The job is running already, or past that.
        AlreadyStarted = "already_started",
        /// A final verdict was heard before.
        AlreadyFinal = "already_final",
        /// This usage is what was billed.
        AlreadySettled = "already_settled",
        /// Another completion takes precedence: a higher revision, or it occurred first.
        OtherCompletionPrevails = "other_completion_prevails",
        /// Success has authority over a later verdict of failure.
        SuccessPrevails = "success_prevails",
        /// The customer cancelled before it occurred, and policy releases then.
        CancelPrevails = "cancel_prevails",
        /// A person decided that it changes nothing.
        Dismissed = "dismissed",
    }
);

code!(
    /// What an event waits for.
    WaitReason {
        /// No job has this id or provider reference yet.
        Job = "job_unknown",
        /// The wallet cannot cover a late success or a correction yet.
        Funds = "insufficient_funds",
        /// It corrects a completion that was not heard yet.
        Completion = "completion_unknown",
        /// The billing of its job's tenant is stopped.
        TenantFrozen = "tenant_frozen",
        /// The billing of its source is stopped.
        SourceFrozen = "source_frozen",
    }
);

code!(
    /// Why an event cannot be used.
    RejectReason {
        /// The adapter cannot read it.
        Unreadable = "unreadable",
        /// No job turned up within the grace period.
        UnknownJob = "unknown_job",
        /// The job belongs to another provider reference.
        ReferenceMismatch = "reference_mismatch",
        /// Two jobs answer to its reference.
        ReferenceAmbiguous = "reference_ambiguous",
        /// The job was given to another source.
        SourceMismatch = "source_mismatch",
        /// The model is not the job's.
        ModelMismatch = "model_mismatch",
        /// A test event for live money, or the other way round.
        ModeMismatch = "mode_mismatch",
        /// A completion without usage the price knows.
        UsageUnpriceable = "usage_unpriceable",
        /// Usage missing or malformed.
        UsageInvalid = "usage_invalid",
        /// The job was blocked; no work was ordered.
        JobBlocked = "job_blocked",
        /// It corrects the usage of a job that never completed.
        NothingToCorrect = "nothing_to_correct",
        /// Larger than the ledger can hold.
        AmountTooLarge = "amount_too_large",
    }
);
