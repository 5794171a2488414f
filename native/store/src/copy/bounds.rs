//! What a step of a copy may take, and how it may end.

use std::time::Duration;

use sys::error::Error;

/// The row of `meta` by which no build opens a copy before it is whole.
pub(super) const SCHEMA_ROW: &[u8] = b"schema";

/// Bounds of one step. What was written since the step before it is brought up to date in addition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Bytes of the rows that a step adds.
    pub bytes: usize,
    /// Time for adding them.
    pub time: Duration,
    /// Accounts written between two steps: 32 bytes of memory each.
    pub accounts: usize,
}

/// The file grows by what blocks free while a step reads, so a step is about as long as a commit.
/// Four million accounts are what all of mainnet writes in more than a minute.
pub(crate) const BOUNDS: Bounds = Bounds {
    bytes: 16 << 20,
    time: Duration::from_millis(50),
    accounts: 4_000_000,
};

/// Why a copy ended early.
pub(crate) enum Stop {
    /// It cannot know what was written since its last step.
    Lost(String),
    Failed(Error),
}

pub(crate) type Step<T> = std::result::Result<T, Stop>;

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(error.into())
    }
}
