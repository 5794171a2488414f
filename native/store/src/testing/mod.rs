//! Helpers shared by the tests of the store and of dependent crates: a temporary store, blocks and
//! accounts, proptest strategies, and a simple model of the store.

pub mod naive;
pub mod strategy;

use std::time::{Duration, Instant};

use crate::{AccountUpdate, Block, Budget, Options, Store};
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

pub fn open(options: &Options) -> Temporary {
    let dir = tempfile::tempdir().unwrap();
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
        root: None,
        has_details: false,
    }
}

pub fn account(pubkey: Pubkey, lamports: u64, owner: Pubkey, data: &[u8]) -> AccountUpdate {
    AccountUpdate {
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

pub fn long_budget() -> Budget {
    Budget::until(Instant::now() + Duration::from_secs(60))
}

impl Temporary {
    /// Removes the last chunk of a slot of the feed.
    pub fn damage_feed(&self, slot: u64) {
        let mut txn = self.store.env.write_txn().unwrap();
        let key = crate::rows::keys::chunk(slot, 1);
        assert!(self.store.tables.feed.delete(&mut txn, &key).unwrap());
        let half = [1, 0, 0, 0, 200, 7];
        self.store.tables.feed.put(&mut txn, &key, &half).unwrap();
        txn.commit().unwrap();
    }
}
