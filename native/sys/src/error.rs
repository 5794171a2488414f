//! All error variants of the native crates.

use std::fmt;

/// An error of the native crates. [`Error::name`] is a row of `src/shared/errors.ts`.
/// [`Error::detail`] is the value of the one `{field}` in that row's message, or for `internal` a
/// text for the operator's log.
#[derive(Debug)]
pub enum Error {
    /// Not base58. Holds the given text.
    PubkeyDecode(String),
    /// Base58, but not 32 bytes (or over 44 characters, which is never decoded).
    PubkeySize,
    /// `memcmp.bytes` did not decode. Holds `base58` or `base64`.
    MemcmpBytes(&'static str),
    /// `memcmp.bytes` decodes to over 128 bytes.
    MemcmpTooLarge,
    /// Over 128 bytes to encode as base58.
    Base58TooLong,
    /// `getTokenAccountBalance`, `getTokenSupply`: no such account.
    AccountMissing,
    /// `getTokenLargestAccounts`: no such account. `getTokenAccountBalance`: the account's mint
    /// does not exist.
    MintMissing,
    /// `getTokenAccountBalance`: the account's mint does not unpack.
    MintUnpack,
    /// `getTokenAccountBalance`: not an initialised account of a token program.
    NotTokenAccount,
    /// `getTokenSupply`, `getTokenLargestAccounts`: not an initialised mint of a token program.
    NotTokenMint,
    /// A paged read exceeded its time or its reply bytes. Holds the number of rows scanned.
    ReadBudget { scanned: u64 },
    /// A read exceeded its time-out (contract: read-timeout).
    ReadTimeout,
    /// The pool's queue, or the budget of replies in flight, is full.
    Overloaded,
    /// The queue of the signature check pool is full.
    ChecksOverloaded,
    /// The store has no block yet.
    NoIndex,
    /// The store began with its feed, so the account may be missing in it.
    IndexIncomplete,
    /// The store has no fees: its feed has no details of transactions, or has brought no block yet.
    FeesNotFollowed,
    /// Not a transaction in the stated encoding.
    FeeTransaction,
    /// The newest finalized block is too old to answer by.
    NodeUnhealthy,
    /// The store's scope excludes the requested data, so the answer is unknown.
    OutsideScope,
    /// The block does not continue the chain of the tip. Nothing was written.
    NotNextBlock(Box<ChainBreak>),
    /// This build cannot open the store. Holds the reason and the remedy.
    StoreUnusable(String),
    /// The store is of an older layout, another scope or another list of programs: it must be
    /// rebuilt. Holds the reason and the remedy.
    StoreOutdated(String),
    /// The writer stopped at its disk reserve. Holds the free bytes.
    DiskReserve(u64),
    /// The store cannot be written for now. Holds the reason and the remedy. Reads continue, and
    /// the writer resumes after the remedy.
    StoreStopped(String),
    /// LMDB invalidated this open store: the process must reopen it.
    StoreBroken(String),
    /// An invalid snapshot. Another read would fail too. Holds the reason.
    SnapshotInvalid(String),
    /// An incomplete snapshot transfer. A retry or another source may succeed.
    SnapshotTransfer(String),
    /// A load cannot continue. Holds the reason and the remedy.
    LoadFailed(String),
    /// The work was cancelled.
    Cancelled,
    /// An error of LMDB or the operating system. Never shown to a client.
    Internal(String),
}

/// What the tip required, and what the block contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainBreak {
    pub tip_slot: u64,
    pub tip_blockhash: [u8; 32],
    pub slot: u64,
    pub parent_slot: u64,
    pub parent_blockhash: [u8; 32],
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The row of `src/shared/errors.ts`.
    pub fn name(&self) -> &'static str {
        match self {
            Error::PubkeyDecode(_) => "pubkeyDecode",
            Error::PubkeySize => "pubkeySize",
            Error::MemcmpBytes(_) => "memcmpBytes",
            Error::MemcmpTooLarge => "memcmpTooLarge",
            Error::Base58TooLong => "base58TooLong",
            Error::AccountMissing => "accountMissing",
            Error::MintMissing => "mintMissing",
            Error::MintUnpack => "mintUnpack",
            Error::NotTokenAccount => "notTokenAccount",
            Error::NotTokenMint => "notTokenMint",
            Error::ReadBudget { .. } => "readBudget",
            Error::ReadTimeout => "readTimeout",
            Error::Overloaded => "overloaded",
            Error::ChecksOverloaded => "checksOverloaded",
            Error::NoIndex => "noIndex",
            Error::IndexIncomplete => "indexIncomplete",
            Error::FeesNotFollowed => "feesNotFollowed",
            Error::FeeTransaction => "feeTransaction",
            Error::NodeUnhealthy => "nodeUnhealthy",
            Error::OutsideScope => "outsideScope",
            Error::NotNextBlock(_) => "notNextBlock",
            Error::StoreUnusable(_) => "storeUnusable",
            Error::StoreOutdated(_) => "storeOutdated",
            Error::DiskReserve(_) => "diskReserve",
            Error::StoreStopped(_) => "storeStopped",
            Error::StoreBroken(_) => "storeBroken",
            Error::SnapshotInvalid(_) => "snapshotInvalid",
            Error::SnapshotTransfer(_) => "snapshotTransfer",
            Error::LoadFailed(_) => "loadFailed",
            Error::Cancelled => "cancelled",
            Error::Internal(_) => "internal",
        }
    }

    /// The value of the row's one `{field}`, or a text for the log; empty if the row has neither.
    pub fn detail(&self) -> String {
        match self {
            Error::PubkeyDecode(text)
            | Error::StoreUnusable(text)
            | Error::StoreOutdated(text)
            | Error::StoreStopped(text)
            | Error::StoreBroken(text)
            | Error::SnapshotInvalid(text)
            | Error::SnapshotTransfer(text)
            | Error::LoadFailed(text)
            | Error::Internal(text) => text.clone(),
            Error::MemcmpBytes(encoding) => (*encoding).to_string(),
            Error::ReadBudget { scanned } => scanned.to_string(),
            Error::DiskReserve(bytes) => bytes.to_string(),
            Error::NotNextBlock(b) => format!(
                "tip is slot {}, but slot {} follows slot {}{}",
                b.tip_slot,
                b.slot,
                b.parent_slot,
                if b.parent_slot == b.tip_slot {
                    " with another blockhash"
                } else {
                    ""
                }
            ),
            _ => String::new(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.detail();
        if detail.is_empty() {
            f.write_str(self.name())
        } else {
            write!(f, "{}: {detail}", self.name())
        }
    }
}

impl std::error::Error for Error {}

impl AsRef<str> for Error {
    fn as_ref(&self) -> &str {
        self.name()
    }
}

impl From<heed::Error> for Error {
    fn from(error: heed::Error) -> Self {
        use heed::{Error as Failure, MdbError};
        let stopped = |words: &str| Error::StoreStopped(format!("{words} ({error})"));
        match &error {
            Failure::Mdb(MdbError::MapFull) => stopped(
                "cannot grow, its map is full: stop every process, raise store.mapBytes, start",
            ),
            Failure::Mdb(MdbError::ReadersFull) => stopped(
                "has a reader in every slot: stop every process, raise store.readersMax, start",
            ),
            Failure::Mdb(MdbError::Panic) => Error::StoreBroken(error.to_string()),
            Failure::Io(io) => match io.raw_os_error() {
                Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => {
                    stopped("cannot be written, its disk is full: free some of it")
                }
                Some(libc::EROFS | libc::EACCES | libc::EPERM) => {
                    stopped("cannot be written, it may only be read: mend its mount or its modes")
                }
                // LMDB also reports a write that a full disk cut short as EIO.
                Some(libc::EIO) => stopped("cannot be written, its disk is full or broken"),
                _ => Error::Internal(error.to_string()),
            },
            _ => Error::Internal(error.to_string()),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Internal(error.to_string())
    }
}
