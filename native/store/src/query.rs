//! What a page asks for, and how much it may look at.

use std::time::Instant;

use super::record::AccountRef;
use primitives::Pubkey;
use primitives::token::TokenProgram;
use sys::error::{Error, Result};

/// Rows between two looks at the clock.
const ROWS_PER_LOOK: u64 = 256;

/// One condition on an account's data; all of a query's must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    DataSize(u64),
    /// An offset beyond the data does not match; no bytes match wherever the offset is within or at
    /// the end.
    Memcmp {
        offset: u64,
        bytes: Vec<u8>,
    },
}

impl Filter {
    /// Whether an account's data satisfies the condition.
    #[inline]
    pub fn matches(&self, data: &[u8]) -> bool {
        match self {
            Filter::DataSize(bytes) => data.len() as u64 == *bytes,
            Filter::Memcmp { offset, bytes } => usize::try_from(*offset)
                .ok()
                .and_then(|offset| data.get(offset..))
                .is_some_and(|rest| rest.starts_with(bytes)),
        }
    }
}

/// A page of a program's accounts, in ascending order of pubkey bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramQuery {
    pub program: Pubkey,
    pub filters: Vec<Filter>,
    pub limit: usize,
    /// Strictly after this pubkey, whether or not it still exists.
    pub after: Option<Pubkey>,
    /// Last written strictly after this slot.
    pub changed_since: Option<u64>,
}

impl ProgramQuery {
    /// Where in an account's data the first comparison of bytes looks, if any does.
    pub(super) fn first_bytes_looked_at(&self) -> Option<usize> {
        self.filters.iter().find_map(|filter| match filter {
            Filter::Memcmp { offset, .. } => usize::try_from(*offset).ok(),
            Filter::DataSize(_) => None,
        })
    }

    /// Whether a record belongs on the page, whichever index led to it.
    #[inline]
    pub(super) fn matches(&self, account: &AccountRef<'_>) -> bool {
        *account.owner == self.program
            && self.changed_since.is_none_or(|since| account.slot > since)
            && self
                .filters
                .iter()
                .all(|filter| filter.matches(account.data))
    }
}

/// Which of a wallet's token accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerFilter {
    /// Of this mint, whichever token program it belongs to.
    Mint(Pubkey),
    Program(TokenProgram),
}

/// A page of a wallet's initialised token accounts, in ascending order of pubkey bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerQuery {
    pub wallet: Pubkey,
    pub filter: OwnerFilter,
    pub limit: usize,
    /// Strictly after this pubkey, whether or not it still exists.
    pub after: Option<Pubkey>,
}

/// How a page ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEnd {
    pub count: usize,
    /// The last pubkey, exactly when the page is full.
    pub last: Option<Pubkey>,
}

/// The time that a read may take, and the rows it has looked at.
#[derive(Debug, Clone)]
pub struct Budget {
    deadline: Instant,
    scanned: u64,
}

impl Budget {
    /// A read that ends with [`Error::ReadBudget`] soon after `deadline`.
    pub fn until(deadline: Instant) -> Self {
        Budget {
            deadline,
            scanned: 0,
        }
    }

    /// When the read must end.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Rows looked at so far, the ones that did not match included.
    pub fn scanned(&self) -> u64 {
        self.scanned
    }

    /// Counts one row; looks at the clock each 256 rows.
    #[inline]
    pub(super) fn count(&mut self) -> Result<()> {
        self.scanned += 1;
        if self.scanned.is_multiple_of(ROWS_PER_LOOK) && Instant::now() >= self.deadline {
            return Err(Error::ReadBudget {
                scanned: self.scanned,
            });
        }
        Ok(())
    }
}
