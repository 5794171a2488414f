//! Why an attempt to transfer ended.

use std::time::Duration;

use sys::error::Error;

/// Why an attempt ended.
pub(super) enum Failure {
    /// A retry may succeed, not before the given pause.
    Again(String, Option<Duration>),
    /// A retry would fail too.
    Last(String),
    /// The reader was dropped.
    Unread,
    Own(Error),
}

impl Failure {
    pub(super) fn again(reason: impl Into<String>) -> Failure {
        Failure::Again(reason.into(), None)
    }

    pub(super) fn last(reason: impl Into<String>) -> Failure {
        Failure::Last(reason.into())
    }
}
