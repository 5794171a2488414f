//! Prices and locks by hand, and those of recorded transactions against short references.

use yellowstone_grpc_proto::solana::storage::confirmed_block::{
    CompiledInstruction, MessageHeader, TransactionConfig,
};

use super::cost::Offer;
use primitives::Pubkey;
use primitives::writable::{COMPUTE_BUDGET, UPGRADEABLE_LOADER};
use store::TransactionCost;

fn instruction(program_id_index: u32, data: Vec<u8>) -> CompiledInstruction {
    CompiledInstruction {
        program_id_index,
        accounts: Vec::new(),
        data,
    }
}

fn limit(units: u32) -> CompiledInstruction {
    instruction(3, [&[2][..], &units.to_le_bytes()].concat())
}

fn price(micro_lamports: u64) -> CompiledInstruction {
    instruction(3, [&[3][..], &micro_lamports.to_le_bytes()].concat())
}

/// Two signers, the second one read-only; a program, the budget; loaded: one writable, one not.
fn keys(program: Pubkey) -> [Pubkey; 6] {
    [[1; 32], [2; 32], program, COMPUTE_BUDGET, [5; 32], [6; 32]]
}

fn cost(keys: &[Pubkey], instructions: &[CompiledInstruction]) -> TransactionCost {
    offer(keys, instructions, None).cost(None)
}

fn offer<'a>(
    keys: &'a [Pubkey],
    instructions: &'a [CompiledInstruction],
    config: Option<TransactionConfig>,
) -> Offer<'a> {
    Offer {
        header: MessageHeader {
            num_required_signatures: 2,
            num_readonly_signed_accounts: 1,
            num_readonly_unsigned_accounts: 0,
        },
        instructions,
        config,
        keys,
        static_count: 4,
        loaded_writable_count: 1,
    }
}

#[test]
fn the_price_is_that_of_the_chain() {
    let keys = keys([9; 32]);
    let call = instruction(2, vec![3, 1, 0, 0, 0, 0, 0, 0, 0]);
    let cases = [
        (vec![call.clone()], Some(0)),
        (vec![price(7), call.clone()], Some(7)),
        (vec![limit(200), price(u64::MAX)], Some(u64::MAX)),
        (vec![limit(0), price(7), call.clone()], None),
        (vec![], None),
        (vec![instruction(3, vec![3, 1])], Some(0)),
        (
            vec![instruction(3, vec![]), instruction(77, vec![])],
            Some(0),
        ),
    ];
    for (instructions, expected) in cases {
        assert_eq!(
            cost(&keys, &instructions).price,
            expected,
            "{instructions:?}"
        );
    }
    let version_1 = |priority_fee, compute_unit_limit| {
        let config = TransactionConfig {
            priority_fee,
            compute_unit_limit,
            ..TransactionConfig::default()
        };
        offer(&keys, &[price(7)], Some(config)).cost(None).price
    };
    assert_eq!(version_1(Some(5_000), Some(200_000)), Some(25_000));
    assert_eq!(version_1(None, Some(200_000)), Some(0));
    assert_eq!(version_1(Some(u64::MAX), Some(1)), Some(u64::MAX));
    assert_eq!(version_1(Some(5_000), None), None);
    assert_eq!(version_1(Some(5_000), Some(0)), None);
}

#[test]
fn locks_are_those_of_the_chain() {
    let call = [instruction(2, vec![])];
    let invoked = keys([9; 32]);
    assert_eq!(
        cost(&invoked, &call).writable,
        [0, 4],
        "no program, nothing reserved"
    );
    assert_eq!(cost(&invoked, &[]).writable, [0, 2, 4], "it is not invoked");
    let upgraded = keys(UPGRADEABLE_LOADER);
    assert_eq!(cost(&upgraded, &[]).writable, [0, 4], "reserved");
    let mut with_loader = keys([9; 32]);
    with_loader[5] = UPGRADEABLE_LOADER;
    assert_eq!(
        cost(&with_loader, &call).writable,
        [0, 2, 4],
        "an upgrade writes it"
    );
    assert!(cost(&[], &call).writable.is_empty());
}

#[test]
fn gains_are_more_lamports_than_before() {
    let keys = keys([9; 32]);
    let gains = |before: &[u64], after: &[u64]| {
        let balances = Some((before, after));
        offer(&keys, &[], None).cost(balances).gains
    };
    let before = [10, 0, 5, 5, 0, u64::MAX];
    assert_eq!(
        gains(&before, &[9, 1, 5, 6, u64::MAX, 0]),
        [(1, 1), (3, 1), (4, u64::MAX)]
    );
    assert!(gains(&before[..5], &before).is_empty(), "not of all keys");
}

#[test]
fn recorded_transactions_have_the_cost_of_a_reference() {
    let Some(files) = fixtures::files("transactions") else {
        return;
    };
    let (mut compared, mut priced) = (0, 0);
    for (name, file) in files {
        let text = file["tx"].as_str().unwrap_or_default();
        let Ok(bytes) = base64_simd::STANDARD.decode_to_vec(text) else {
            continue;
        };
        let Ok(view) = transaction::parse(&bytes) else {
            continue;
        };
        // Those of lookup tables and of version 1 are not in the bytes alone.
        if name.starts_with("v1") || view.address_table_lookup_iter().next().is_some() {
            continue;
        }
        let keys = view.static_account_keys().iter();
        let keys: Vec<Pubkey> = keys.map(|key| *key.as_array()).collect();
        let instructions: Vec<_> = view
            .instructions_iter()
            .map(|one| instruction(one.program_id_index.into(), one.data.to_vec()))
            .collect();
        let offer = Offer {
            header: MessageHeader {
                num_required_signatures: view.num_required_signatures().into(),
                num_readonly_signed_accounts: view.num_readonly_signed_static_accounts().into(),
                num_readonly_unsigned_accounts: view.num_readonly_unsigned_static_accounts().into(),
            },
            instructions: &instructions,
            config: None,
            keys: &keys,
            static_count: keys.len(),
            loaded_writable_count: 0,
        };
        let cost = offer.cost(None);
        let of_budget = |kind: u8| {
            instructions.iter().find_map(|one| {
                let is_budget = keys[one.program_id_index as usize] == COMPUTE_BUDGET;
                (is_budget && one.data[0] == kind).then(|| one.data[1..].to_vec())
            })
        };
        let expected = of_budget(3).map_or(0, |data| u64::from_le_bytes(data.try_into().unwrap()));
        let has_units = of_budget(2) != Some(vec![0; 4]);
        assert_eq!(cost.price, has_units.then_some(expected), "{name}");
        let locked: Vec<Pubkey> = cost
            .writable
            .iter()
            .map(|at| keys[usize::from(*at)])
            .collect();
        assert_eq!(
            locked,
            transaction::writable(&bytes).unwrap().keys,
            "{name}"
        );
        compared += 1;
        priced += u32::from(expected > 0);
    }
    assert!(
        compared > 50 && priced > 5,
        "{compared} compared, {priced} with a price"
    );
}
