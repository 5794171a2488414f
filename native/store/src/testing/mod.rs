//! Helpers shared by the tests of the store and of dependent crates: a temporary store, blocks and
//! accounts, proptest strategies, and a simple model of the store.

pub mod naive;
pub mod strategy;

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{AccountUpdate, Block, BlockParts, Budget, Options, Store};
use primitives::Pubkey;

/// A temporary folder and the store in it.
pub struct Temporary {
    pub store: Store,
    pub dir: tempfile::TempDir,
}

pub fn options() -> Options {
    Options {
        map_bytes: 4 << 30,
        disk_reserve_bytes: 0,
        ..Options::default()
    }
}

/// Bytes that the stores of tests may take in memory at once.
const MEMORY_BYTES: u64 = 1 << 30;

/// A folder in memory, if that has room: a store syncs each block, and tests apply thousands.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let has_room = crate::disk_space::free_bytes(memory).is_ok_and(|free| free >= MEMORY_BYTES);
    let dir = has_room.then(|| tempfile::tempdir_in(memory).ok());
    dir.flatten()
        .unwrap_or_else(|| tempfile::tempdir().unwrap())
}

pub fn open(options: &Options) -> Temporary {
    let dir = folder();
    Temporary {
        store: Store::open_writer(dir.path(), options).unwrap(),
        dir,
    }
}

pub fn hash(slot: u64) -> [u8; 32] {
    let mut hash = [7; 32];
    hash[0..8].copy_from_slice(&slot.to_be_bytes());
    hash
}

pub fn block(slot: u64, accounts: Vec<AccountUpdate>) -> Block {
    Block {
        slot,
        parent_slot: slot - 1,
        blockhash: hash(slot),
        parent_blockhash: hash(slot - 1),
        block_height: slot,
        block_time: Some(1_000 + slot as i64),
        accounts,
        transactions: Vec::new(),
        parts: BlockParts::default(),
        root: None,
        has_details: false,
    }
}

pub fn account(pubkey: Pubkey, lamports: u64, owner: Pubkey, data: &[u8]) -> AccountUpdate {
    AccountUpdate {
        is_signed: false,
        pubkey,
        lamports,
        rent_epoch: u64::MAX,
        executable: false,
        owner,
        data: data.to_vec(),
    }
}

pub fn token_data(mint: &Pubkey, wallet: &Pubkey, amount: u64, state: u8) -> Vec<u8> {
    let mut data = vec![0; 165];
    data[0..32].copy_from_slice(mint);
    data[32..64].copy_from_slice(wallet);
    data[64..72].copy_from_slice(&amount.to_le_bytes());
    data[108] = state;
    data
}

pub fn mint_data() -> Vec<u8> {
    let mut data = vec![0; 82];
    data[45] = 1;
    data
}

pub fn number(n: u64) -> Pubkey {
    let mut pubkey = [0; 32];
    pubkey[24..].copy_from_slice(&n.to_be_bytes());
    pubkey
}

/// Bytes that cannot be compressed.
pub fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

pub fn long_budget() -> Budget {
    Budget::until(Instant::now() + Duration::from_secs(60))
}

impl Temporary {
    /// The segment file with a slot's changes, and where they are in it.
    pub fn feed_record(&self, slot: u64) -> (PathBuf, Range<u64>) {
        let found = self.store.snapshot().unwrap().feed_location(slot);
        let found = found.unwrap().unwrap();
        let dir = crate::history::feed_segments::dir_of(self.dir.path());
        let path = crate::history::feed_segments::path_of(&dir, found.segment);
        (path, found.at..found.end())
    }

    /// Leaves an account with a record that cannot be read.
    pub fn damage_account(&self, pubkey: &Pubkey) {
        let mut txn = self.store.env.write_txn().unwrap();
        let accounts = self.store.tables.accounts;
        accounts.put(&mut txn, pubkey, b"short").unwrap();
        txn.commit().unwrap();
    }

    /// Changes the last byte of a slot's changes.
    pub fn damage_feed(&self, slot: u64) {
        let (path, range) = self.feed_record(slot);
        let file = File::options().read(true).write(true).open(path).unwrap();
        let mut last = [0];
        file.read_exact_at(&mut last, range.end - 1).unwrap();
        file.write_all_at(&[!last[0]], range.end - 1).unwrap();
    }
}
