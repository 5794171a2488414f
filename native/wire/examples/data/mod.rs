//! Token accounts whose keys are scattered, the same in each run.

use primitives::Pubkey;
use primitives::token::TOKEN_PROGRAM;
use store::{AccountUpdate, Block, Store};

/// Accounts per block while the store is filled.
const BLOCK_ACCOUNTS: usize = 50_000;

/// A fixed permutation of the u64 (splitmix64): unordered keys, the same in each run.
pub fn scatter(index: u64) -> u64 {
    let mut z = index.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

pub fn key(kind: u8, index: u64) -> Pubkey {
    let mut key = [kind; 32];
    for (at, chunk) in key.chunks_exact_mut(8).take(3).enumerate() {
        chunk.copy_from_slice(&scatter(index * 3 + at as u64).to_be_bytes());
    }
    key
}

fn token_account(index: u64, mints: u64) -> AccountUpdate {
    let mut data = [
        &key(2, index % mints)[..],
        &key(3, index / 25),
        &scatter(index).to_le_bytes(),
    ]
    .concat();
    data.resize(165, 0);
    data[108] = 1;
    update(key(1, index), data)
}

fn mint(index: u64) -> AccountUpdate {
    let mut data = vec![0; 82];
    data[44..46].copy_from_slice(&[6, 1]);
    update(key(2, index), data)
}

fn update(pubkey: Pubkey, data: Vec<u8>) -> AccountUpdate {
    AccountUpdate {
        is_signed: false,
        pubkey,
        lamports: 2_039_280,
        rent_epoch: u64::MAX,
        executable: false,
        owner: TOKEN_PROGRAM,
        data,
    }
}

pub fn fill(store: &Store, accounts: u64, mints: u64) {
    let all = (0..mints)
        .map(mint)
        .chain((0..accounts).map(|index| token_account(index, mints)));
    let all = all.collect::<Vec<_>>();
    for (index, accounts) in all.chunks(BLOCK_ACCOUNTS).enumerate() {
        let slot = index as u64 + 1;
        let block = Block {
            slot,
            parent_slot: slot - 1,
            blockhash: [slot as u8; 32],
            parent_blockhash: [index as u8; 32],
            block_height: slot,
            accounts: accounts.to_vec(),
            ..Block::default()
        };
        store
            .apply(&block)
            .expect("a block that continues the chain");
    }
}
