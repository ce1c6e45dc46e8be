//! The chain of the audit log: the hash of a line covers its content and the hash of the line before
//! it. A line that is changed, taken out or put in between shows in every hash after it.

use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};

use crate::{
    canonical::{CanonicalError, Hash},
    id::OperatorId,
};

/// What the first line follows.
pub const GENESIS: Hash = Hash([0; 32]);

/// One line of the log, as its hash sees it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Line<'a> {
    /// Its place, counted from 1 without gaps.
    #[serde(serialize_with = "text")]
    pub number: i64,
    /// When, to the microsecond.
    pub at: DateTime<Utc>,
    /// Who; `None` for the command line and the system.
    pub operator: Option<OperatorId>,
    /// Who, in words that outlive the account.
    pub actor: &'a str,
    /// The request it was done in.
    pub request_id: Option<&'a str>,
    /// What, as `noun.verb`.
    pub action: &'a str,
    /// To which object.
    pub object: &'a str,
    /// Whatever explains it.
    pub detail: &'a serde_json::Value,
    /// Why, in the operator's words.
    pub reason: Option<&'a str>,
}

impl Line<'_> {
    /// The hash of this line after the line with the hash `previous`.
    ///
    /// # Errors
    /// When `detail` has no canonical form.
    pub fn hash(&self, previous: Hash) -> Result<Hash, CanonicalError> {
        #[derive(Serialize)]
        struct Link<'a> {
            previous: String,
            line: &'a Line<'a>,
        }
        Hash::of(&Link {
            previous: previous.to_string(),
            line: self,
        })
    }
}

/// Numbers are text in everything that is hashed.
fn text<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn every_part_of_a_line_is_in_its_hash() {
        let detail = json!({"to": "1"});
        let line = Line {
            number: 7,
            at: "2026-12-01T12:00:00.000001Z".parse().unwrap(),
            operator: None,
            actor: "command line",
            request_id: None,
            action: "source.add",
            object: "source_1",
            detail: &detail,
            reason: None,
        };
        let other = json!({"to": "2"});
        let changed = [
            Line { number: 8, ..line },
            Line {
                at: line.at + chrono::TimeDelta::microseconds(1),
                ..line
            },
            Line {
                operator: Some(OperatorId(Uuid::nil())),
                ..line
            },
            Line {
                actor: "someone",
                ..line
            },
            Line {
                request_id: Some("req_1"),
                ..line
            },
            Line {
                action: "source.disable",
                ..line
            },
            Line {
                object: "source_2",
                ..line
            },
            Line {
                detail: &other,
                ..line
            },
            Line {
                reason: Some("because"),
                ..line
            },
        ];
        let hash = line.hash(GENESIS).unwrap();
        for changed in changed {
            assert_ne!(changed.hash(GENESIS).unwrap(), hash, "{changed:?}");
        }
        assert_ne!(line.hash(hash).unwrap(), hash);
        assert_eq!(line.hash(GENESIS).unwrap(), hash);
    }
}
