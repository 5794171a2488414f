//! Options of a store: its limits, indexes and retained history.

use primitives::Pubkey;
use primitives::token::{self, CLOCK_SYSVAR, TokenProgram};

/// The chain's limit for the data of one account.
pub const ACCOUNT_DATA_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Number of blocks whose hash, height and time are kept at least, however old they are. It is a
/// count, because the chain counts the life of a blockhash in blocks: `isBlockhashValid` and block
/// heights need 150.
pub const BLOCKS_KEPT: u64 = 512;

/// Options for opening a store. All processes that open a store must pass the same `map_bytes` and
/// `readers_max`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Address space of the memory map. It is sparse and uses no memory or disk until filled; it is
    /// never resized while a process has it open.
    pub map_bytes: usize,
    /// Reader slots for all processes together: one for each thread that ever reads.
    pub readers_max: u32,
    /// The writer rejects blocks while the disk has less free space than this, so that an operator
    /// has time to act.
    pub disk_reserve_bytes: u64,
    /// Memory of the machine or of the control group of the process. The file of a store that is
    /// larger than half of it is read page by page, because the system's readahead at each page
    /// fault, 128 KiB to 8 MiB, would push out of memory what is read often. Absent is enough for
    /// all of it.
    pub memory_bytes: Option<u64>,
    /// The programs whose `changed` index is kept. Part of the store's identity.
    pub changed: Changed,
    /// The accounts to keep. Part of the store's identity.
    pub scope: Scope,
    /// Blocks and their changes are kept for this long, by the chain's slot time, for subscribers
    /// that are behind.
    pub feed_ms: u64,
    /// Maximum bytes of the files with these changes; 0 disables the feed. They take less while the
    /// disk has less free space than twice the reserve.
    pub feed_bytes_max: u64,
    /// Number of newest slots whose transaction outcomes are kept. It is a count, because a
    /// transaction can land for 150 blocks, whatever time they take; some slots may be skipped.
    pub signature_slots_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            map_bytes: 1 << 40,
            readers_max: 512,
            disk_reserve_bytes: 1 << 30,
            memory_bytes: None,
            changed: Changed::All,
            scope: Scope::All,
            feed_ms: 600_000,
            feed_bytes_max: 32 << 30,
            signature_slots_max: 512,
        }
    }
}

/// The programs whose accounts are indexed by the slot of their last write. For other programs
/// `changedSinceSlot` gives the same results, but slower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    All,
    None,
    Programs(Vec<Pubkey>),
}

impl Changed {
    /// Whether accounts of this program have rows in `changed`.
    #[inline]
    pub fn covers(&self, program: &Pubkey) -> bool {
        match self {
            Changed::All => true,
            Changed::None => false,
            Changed::Programs(programs) => programs.contains(program),
        }
    }

    /// A canonical encoding, so that the options of two openings can be compared.
    pub(super) fn identity(&self) -> Vec<u8> {
        match self {
            Changed::All => b"all".to_vec(),
            Changed::None => b"none".to_vec(),
            Changed::Programs(programs) => identity_of(b"programs", &[programs]),
        }
    }
}

/// The accounts that a store keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    /// Accounts of these programs, these mints with their token accounts, and these addresses. Also
    /// keeps the Clock and the mints of kept token accounts.
    Listed {
        programs: Vec<Pubkey>,
        mints: Vec<Pubkey>,
        pubkeys: Vec<Pubkey>,
    },
}

impl Scope {
    /// Whether the absence of this address proves that the account does not exist.
    pub fn covers_pubkey(&self, pubkey: &Pubkey) -> bool {
        match self {
            Scope::All => true,
            Scope::Listed { mints, pubkeys, .. } => {
                *pubkey == CLOCK_SYSVAR || mints.contains(pubkey) || pubkeys.contains(pubkey)
            }
        }
    }

    /// Whether every account of this program is kept.
    pub fn covers_program(&self, program: &Pubkey) -> bool {
        match self {
            Scope::All => true,
            Scope::Listed { programs, .. } => programs.contains(program),
        }
    }

    /// Whether every token account of this mint is kept.
    pub fn covers_mint(&self, mint: &Pubkey) -> bool {
        match self {
            Scope::All => true,
            Scope::Listed {
                programs, mints, ..
            } => {
                mints.contains(mint) || TokenProgram::ALL.iter().all(|p| programs.contains(p.id()))
            }
        }
    }

    /// Whether an account is in scope by itself. Mints needed by kept accounts are kept in
    /// addition.
    pub fn covers_account(&self, pubkey: &Pubkey, owner: &Pubkey, data: &[u8]) -> bool {
        self.covers_pubkey(pubkey)
            || self.covers_program(owner)
            || (TokenProgram::of(owner).is_some()
                && token::is_account(data)
                && token::mint_of(data).is_some_and(|mint| self.covers_mint(mint)))
    }

    /// A canonical encoding, so that the options of two openings can be compared.
    pub(super) fn identity(&self) -> Vec<u8> {
        match self {
            Scope::All => b"all".to_vec(),
            Scope::Listed {
                programs,
                mints,
                pubkeys,
            } => identity_of(b"listed", &[programs, mints, pubkeys]),
        }
    }
}

/// The word, then for each list its length and its sorted, unique entries.
fn identity_of(word: &[u8], lists: &[&[Pubkey]]) -> Vec<u8> {
    let mut bytes = word.to_vec();
    for list in lists {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        bytes.extend_from_slice(&(sorted.len() as u64).to_be_bytes());
        bytes.extend(sorted.iter().flatten());
    }
    bytes
}
