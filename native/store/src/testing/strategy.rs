//! Random blocks and queries over few addresses, so that they often overlap.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{mint_data, token_data};
use crate::{AccountUpdate, Filter, ProgramQuery};
use primitives::Pubkey;
use primitives::token::{TOKEN_2022_PROGRAM, TOKEN_PROGRAM};

const SYSTEM: Pubkey = [0; 32];
const PLAIN: Pubkey = [0x50; 32];

/// Addresses, including the smallest and the largest.
pub fn pubkey() -> impl Strategy<Value = Pubkey> {
    prop_oneof![
        20 => (0u8..24).prop_map(|n| { let mut key = [n % 3; 32]; key[31] = n; key }),
        1 => Just([0xFF; 32]),
        1 => Just([0; 32]),
    ]
}

pub fn wallet() -> impl Strategy<Value = Pubkey> {
    prop_oneof![4 => (0u8..3).prop_map(|n| [0x70 + n; 32]), 1 => Just([0xFF; 32])]
}

/// Mints are also addresses of accounts, so that some exist and some do not.
pub fn mint() -> impl Strategy<Value = Pubkey> {
    (0u8..4).prop_map(|n| {
        let mut key = [n % 3; 32];
        key[31] = n;
        key
    })
}

pub fn program() -> impl Strategy<Value = Pubkey> {
    prop_oneof![
        4 => Just(TOKEN_PROGRAM),
        4 => Just(TOKEN_2022_PROGRAM),
        1 => Just(SYSTEM),
        3 => Just(PLAIN),
        1 => Just([0xFF; 32]),
    ]
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    let token = (
        mint(),
        wallet(),
        prop_oneof![0u64..4, Just(u64::MAX)],
        0u8..3,
        0usize..4,
    );
    prop_oneof![
        1 => Just(Vec::new()),
        3 => (0u8..3, 4usize..40).prop_map(|(byte, length)| vec![byte; length]),
        2 => vec(0u8..2, 0..80),
        2 => Just(mint_data()),
        8 => token.prop_map(|(mint, wallet, amount, state, form)| {
            let mut data = token_data(&mint, &wallet, amount, state);
            match form {
                1 => data.resize(180, 2),
                2 => data.resize(180, 1),
                3 => data.resize(355, 2),
                _ => {}
            }
            data
        }),
    ]
}

pub fn update() -> impl Strategy<Value = AccountUpdate> {
    let lamports = prop_oneof![2 => Just(0u64), 7 => 1u64..1000, 1 => Just(u64::MAX)];
    let rent_epoch = prop_oneof![Just(0), Just(u64::MAX)];
    (
        pubkey(),
        lamports,
        rent_epoch,
        any::<bool>(),
        program(),
        data(),
    )
        .prop_map(
            |(pubkey, lamports, rent_epoch, executable, owner, data)| AccountUpdate {
                is_signed: false,
                pubkey,
                lamports,
                rent_epoch,
                executable,
                owner,
                data,
            },
        )
}

/// The updates of several consecutive blocks.
pub fn blocks() -> impl Strategy<Value = Vec<Vec<AccountUpdate>>> {
    vec(vec(update(), 0..30), 1..10)
}

pub fn filter() -> impl Strategy<Value = Filter> {
    let memcmp = |offset: u64, bytes: Vec<u8>| Filter::Memcmp { offset, bytes };
    let mut with_more = mint().prop_map(|mint| mint.to_vec()).boxed();
    with_more = (with_more, vec(0u8..2, 0..3))
        .prop_map(|(mint, more)| [mint, more].concat())
        .boxed();
    prop_oneof![
        1 => prop_oneof![Just(82), Just(165), Just(180), 0u64..50].prop_map(Filter::DataSize),
        3 => with_more.prop_map(move |bytes| memcmp(0, bytes)),
        3 => wallet().prop_map(move |wallet| memcmp(32, wallet.to_vec())),
        2 => (0u8..3, 0usize..12).prop_map(move |(byte, length)| memcmp(0, vec![byte; length])),
        1 => (0u64..200, vec(0u8..3, 0..3)).prop_map(move |(offset, bytes)| memcmp(offset, bytes)),
        1 => Just(memcmp(u64::MAX, vec![0])),
    ]
}

pub fn program_query() -> impl Strategy<Value = ProgramQuery> {
    (
        program(),
        vec(filter(), 0..3),
        1usize..12,
        option::of(pubkey()),
        option::of(0u64..14),
    )
        .prop_map(
            |(program, filters, limit, after, changed_since)| ProgramQuery {
                program,
                filters,
                limit,
                after,
                changed_since,
            },
        )
}
