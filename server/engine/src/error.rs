//! What storage can do to a verb.

/// The database failed, or holds something it should not.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused or was lost.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// A stored row breaks a rule of the domain.
    #[error("stored data is inconsistent: {table}.{column}")]
    Inconsistent {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// What the domain said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// A stored value that the domain cannot read.
    pub fn inconsistent(
        table: &'static str,
        column: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Inconsistent {
            table,
            column,
            source: source.into(),
        }
    }

    /// Name of the constraint the database refused for, if that is why.
    pub fn constraint(&self) -> Option<&str> {
        match self {
            Self::Database(sqlx::Error::Database(error)) => error.constraint(),
            Self::Database(_) | Self::Inconsistent { .. } => None,
        }
    }

    /// Whether the database answered and said no, so that a retry would be refused again.
    pub fn is_refusal(&self) -> bool {
        let answered = matches!(self, Self::Database(sqlx::Error::Database(_)));
        answered && !self.outcome_unknown()
    }

    /// Whether what is stored cannot be read, so that reading it again would fail again.
    pub fn is_about_data(&self) -> bool {
        match self {
            // Class 22: data exceptions, such as a text that is no number.
            Self::Database(sqlx::Error::Database(error)) => {
                error.code().is_some_and(|code| code.starts_with("22"))
            }
            Self::Database(sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) => true,
            Self::Database(_) => false,
            Self::Inconsistent { .. } => true,
        }
    }

    /// What went wrong in the end, where the text above says only where.
    pub fn innermost(&self) -> &(dyn std::error::Error + 'static) {
        let mut error: &(dyn std::error::Error + 'static) = self;
        while let Some(source) = error.source() {
            error = source;
        }
        error
    }

    /// Whether a lock was not to be had within the time that was set for it.
    pub fn gave_way(&self) -> bool {
        match self {
            // lock_not_available
            Self::Database(sqlx::Error::Database(error)) => {
                error.code().is_some_and(|code| code == "55P03")
            }
            Self::Database(_) | Self::Inconsistent { .. } => false,
        }
    }

    /// Whether a statement took longer than its time limit.
    pub fn timed_out(&self) -> bool {
        match self {
            // query_canceled
            Self::Database(sqlx::Error::Database(error)) => {
                error.code().is_some_and(|code| code == "57014")
            }
            Self::Database(_) | Self::Inconsistent { .. } => false,
        }
    }

    /// Whether the connection was lost, so that the outcome of a statement in flight is unknown.
    pub fn outcome_unknown(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Database(error)) => {
                // 57P01..03: the server was shut down or crashed; 08xxx: connection exceptions.
                error
                    .code()
                    .is_some_and(|code| code.starts_with("57P") || code.starts_with("08"))
            }
            Self::Database(
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::WorkerCrashed,
            ) => true,
            Self::Database(_) | Self::Inconsistent { .. } => false,
        }
    }
}
