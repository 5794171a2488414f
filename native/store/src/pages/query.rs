//! Page queries and their limits.

use std::time::Instant;

use crate::rows::record::AccountRef;
use primitives::Pubkey;
use primitives::token::TokenProgram;
use sys::error::{Error, Result};

/// Rows between two reads of the clock.
const ROWS_PER_LOOK: u64 = 256;

/// A condition on an account's data. An account must satisfy all conditions of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    DataSize(u64),
    /// An offset beyond the data does not match; an empty pattern matches at any offset up to the
    /// end.
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
    /// Only pubkeys greater than this one, which need not exist.
    pub after: Option<Pubkey>,
    /// Only accounts last written after this slot.
    pub changed_since: Option<u64>,
}

impl ProgramQuery {
    /// The data offset of the first byte comparison, if the query has one.
    pub(crate) fn first_bytes_looked_at(&self) -> Option<usize> {
        self.filters.iter().find_map(|filter| match filter {
            Filter::Memcmp { offset, .. } => usize::try_from(*offset).ok(),
            Filter::DataSize(_) => None,
        })
    }

    /// Whether a record belongs on the page, for any index.
    #[inline]
    pub(crate) fn matches(&self, account: &AccountRef<'_>) -> bool {
        *account.owner == self.program
            && self.changed_since.is_none_or(|since| account.slot > since)
            && self
                .filters
                .iter()
                .all(|filter| filter.matches(account.data))
    }
}

/// Selects among a wallet's token accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerFilter {
    /// Those of this mint, under either token program.
    Mint(Pubkey),
    Program(TokenProgram),
}

/// A page of a wallet's initialised token accounts, in ascending order of pubkey bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerQuery {
    pub wallet: Pubkey,
    pub filter: OwnerFilter,
    pub limit: usize,
    /// Only pubkeys greater than this one, which need not exist.
    pub after: Option<Pubkey>,
}

/// The result of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEnd {
    pub count: usize,
    /// The last pubkey if the page is full, otherwise `None`.
    pub last: Option<Pubkey>,
}

/// The deadline of a read, and the number of rows it has read.
#[derive(Debug, Clone)]
pub struct Budget {
    deadline: Instant,
    scanned: u64,
}

impl Budget {
    /// A read that fails with [`Error::ReadBudget`] soon after `deadline`.
    pub fn until(deadline: Instant) -> Self {
        Budget {
            deadline,
            scanned: 0,
        }
    }

    /// The deadline of the read.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Rows read, including those that did not match.
    pub fn scanned(&self) -> u64 {
        self.scanned
    }

    /// Counts one row; reads the clock every 256 rows.
    #[inline]
    pub(crate) fn count(&mut self) -> Result<()> {
        self.scanned += 1;
        if self.scanned.is_multiple_of(ROWS_PER_LOOK) && Instant::now() >= self.deadline {
            return Err(Error::ReadBudget {
                scanned: self.scanned,
            });
        }
        Ok(())
    }
}
