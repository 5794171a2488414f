//! Property tests of the codec and of segments with random blocks and random bytes.

use proptest::prelude::*;

use super::*;

fn accounts() -> impl Strategy<Value = Vec<AccountUpdate>> {
    let data = proptest::collection::vec(any::<u8>(), 0..300);
    let account = (any::<[u8; 32]>(), any::<u64>(), any::<bool>(), data);
    let account = account.prop_map(|(pubkey, lamports, executable, data)| AccountUpdate {
        is_signed: executable != (lamports % 2 == 0),
        pubkey,
        lamports,
        rent_epoch: !lamports,
        executable,
        owner: pubkey,
        data,
    });
    proptest::collection::vec(account, 0..20)
}

fn transactions() -> impl Strategy<Value = Vec<TransactionUpdate>> {
    let cost = (
        any::<Option<u64>>(),
        any::<Vec<u8>>(),
        any::<Vec<(u8, u64)>>(),
    );
    let cost = cost.prop_map(|(price, writable, gains)| TransactionCost {
        price,
        writable,
        gains,
    });
    let details = (
        any::<bool>(),
        any::<Vec<[u8; 32]>>(),
        any::<Vec<String>>(),
        any::<Option<Vec<u8>>>(),
        cost,
    );
    let details = details.prop_map(|(is_vote, keys, logs, full, cost)| TransactionDetails {
        is_vote,
        keys,
        logs,
        full,
        cost: Box::new(cost),
    });
    let transaction = (
        any::<u8>(),
        any::<Option<Vec<u8>>>(),
        proptest::option::of(details),
    );
    let transaction = transaction.prop_map(|(byte, error, details)| TransactionUpdate {
        signature: [byte; 64],
        index: u32::from(byte) << 20,
        error,
        details,
    });
    proptest::collection::vec(transaction, 0..8)
}

fn block() -> impl Strategy<Value = Block> {
    let numbers = (
        any::<[u64; 3]>(),
        any::<[u8; 32]>(),
        any::<Option<i64>>(),
        any::<Option<u64>>(),
    );
    let bytes = || proptest::collection::vec(any::<u8>(), 0..40);
    let footer = proptest::option::of(bytes());
    let parts = (bytes(), footer, proptest::collection::vec(bytes(), 0..5));
    let all = (numbers, accounts(), transactions(), parts);
    all.prop_map(|(numbers, accounts, transactions, parts)| {
        let (meta, footer, entries) = parts;
        let ([slot, parent_slot, block_height], blockhash, block_time, root) = numbers;
        Block {
            slot,
            parent_slot,
            blockhash,
            parent_blockhash: blockhash.map(|byte| !byte),
            block_height,
            block_time,
            accounts,
            transactions,
            parts: BlockParts {
                meta,
                footer,
                entries,
            },
            root,
            has_details: block_time.is_some(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn encoded_blocks_decode_to_the_same_block(block in block()) {
        let mut bytes = Vec::new();
        codec::encode(&block, &mut bytes).unwrap();
        let mut rest = bytes.as_slice();
        prop_assert_eq!(codec::decode(&mut rest).unwrap(), block);
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn corrupted_blocks_do_not_panic_and_truncated_blocks_fail(
        block in block(), at in any::<prop::sample::Index>(), byte in any::<u8>(), len in any::<prop::sample::Index>()
    ) {
        let mut bytes = Vec::new();
        codec::encode(&block, &mut bytes).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = codec::decode(&mut bytes.as_slice());
        bytes.truncate(len.index(bytes.len()));
        prop_assert!(codec::decode(&mut bytes.as_slice()).is_err());
    }

    #[test]
    fn a_segment_of_random_bytes_is_truncated_on_open(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let dir = tempdir().unwrap();
        fs::create_dir(dir.path().join("spool")).unwrap();
        fs::write(dir.path().join("spool/0000000001.spool"), &bytes).unwrap();
        let spool = open(&dir);
        prop_assert_eq!(spool.tip().unwrap(), None);
        spool.apply(&chain(6..=7)).unwrap();
        prop_assert_eq!(open(&dir).tip().unwrap().unwrap().slot, 7);
    }
}
