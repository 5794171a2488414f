//! How a store is opened: its bounds, what it indexes and what it keeps of the past.

use primitives::Pubkey;
use primitives::token::{self, CLOCK_SYSVAR, TokenProgram};

/// The chain's own limit for the data of one account.
pub const ACCOUNT_DATA_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Blocks whose hash, height and time are kept: `isBlockhashValid` and block heights need 150,
/// slots may be skipped.
pub const BLOCKS_KEPT: u64 = 512;

/// How to open a store. Every process that opens one must pass the same `map_bytes` and
/// `readers_max`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Address space of the memory map. Sparse: it costs nothing until it is filled, and no process
    /// ever meets a resized map.
    pub map_bytes: usize,
    /// Reader slots of all processes together: one for each thread that ever reads.
    pub readers_max: u32,
    /// The writer refuses blocks while the disk has less than this free, so that an operator has
    /// room to act.
    pub disk_reserve_bytes: u64,
    /// The programs whose `changed` index is kept. Part of the store's identity.
    pub changed: Changed,
    /// The accounts that are kept. Part of the store's identity.
    pub scope: Scope,
    /// Newest slots whose changes are kept for subscribers that are a little late.
    pub feed_slots_max: u64,
    /// Bytes of changes kept for the same; 0 switches the feed off.
    pub feed_bytes_max: u64,
    /// Newest slots whose transaction outcomes are kept.
    pub signature_slots_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            map_bytes: 1 << 40,
            readers_max: 512,
            disk_reserve_bytes: 1 << 30,
            changed: Changed::All,
            scope: Scope::All,
            feed_slots_max: 512,
            feed_bytes_max: 256 << 20,
            signature_slots_max: 512,
        }
    }
}

/// The programs whose accounts are indexed by the slot of their last write. Without it
/// `changedSinceSlot` is still right, only slower.
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

    /// One text for one meaning, so that two openings can be compared.
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
    /// Accounts of these programs, these mints with their token accounts, and these addresses. The
    /// Clock and the mints of kept token accounts come with them.
    Listed {
        programs: Vec<Pubkey>,
        mints: Vec<Pubkey>,
        pubkeys: Vec<Pubkey>,
    },
}

impl Scope {
    /// Whether an absent account at this address is known not to exist.
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

    /// Whether an account is kept for what it is itself; the mints that kept accounts need come on
    /// top.
    pub fn covers_account(&self, pubkey: &Pubkey, owner: &Pubkey, data: &[u8]) -> bool {
        self.covers_pubkey(pubkey)
            || self.covers_program(owner)
            || (TokenProgram::of(owner).is_some()
                && token::is_account(data)
                && token::mint_of(data).is_some_and(|mint| self.covers_mint(mint)))
    }

    /// One text for one meaning, so that two openings can be compared.
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

/// A word, then each list sorted, without repeats, after its length.
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
