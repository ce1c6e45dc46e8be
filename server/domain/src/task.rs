//! Tasks: one decision about many things, carried out in the background, each of them once.

use crate::code::code;

code!(
    /// What is done with each thing.
    Kind {
        /// An event is looked at again under its own identity.
        Replay = "replay",
        /// What an exception is about is put right.
        Repair = "repair",
    }
);

code!(
    /// How far a task has come.
    State {
        /// What it would do is looked at.
        Draft = "draft",
        /// It goes on.
        Running = "running",
        /// Every thing has its outcome.
        Done = "done",
        /// Someone stopped it; what was done stays done.
        Cancelled = "cancelled",
    }
);

impl State {
    /// The whole life of a task; the trigger `tasks_transition` restates it.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Draft => matches!(next, Self::Running | Self::Cancelled),
            Self::Running => matches!(next, Self::Done | Self::Cancelled),
            Self::Done | Self::Cancelled => false,
        }
    }
}

code!(
    /// What would come of a thing, as its rehearsal had it.
    Promise {
        /// Entries would be posted.
        Posts = "posts",
        /// Something changes, and no money moves.
        Changes = "changes",
        /// It would come to what it is now.
        Nothing = "nothing",
        /// It cannot be done.
        Cannot = "cannot",
    }
);

code!(
    /// What came of a thing.
    Outcome {
        /// It was done.
        Done = "done",
        /// It could not be done any more, and nothing was changed.
        Refused = "refused",
    }
);
