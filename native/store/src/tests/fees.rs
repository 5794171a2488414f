//! Fees of recent slots: what is written is read, and the bounds of their table.

use crate::testing::*;
use crate::{Block, BlockFees, Options, Store, TransactionCost, TransactionDetails};
use crate::{TransactionFees, TransactionUpdate};

pub(super) fn paid(key: u8, price: Option<u64>, gain: u64) -> TransactionUpdate {
    TransactionUpdate {
        signature: [key; 64],
        index: 0,
        error: (gain == 0).then(|| vec![8, 0, 0, 0]),
        details: Some(TransactionDetails {
            keys: vec![[key; 32], [9; 32]],
            cost: Box::new(TransactionCost {
                price,
                writable: vec![0, 200],
                gains: if gain == 0 { vec![] } else { vec![(1, gain)] },
            }),
            ..TransactionDetails::default()
        }),
    }
}

fn fees_block(slot: u64, transactions: Vec<TransactionUpdate>) -> Block {
    Block {
        transactions,
        has_details: true,
        ..block(slot, Vec::new())
    }
}

fn slots(store: &Store) -> Vec<u64> {
    store.snapshot().unwrap().fee_slots().unwrap()
}

#[test]
fn what_is_written_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    store.apply(&block(1, Vec::new())).unwrap();
    assert!(slots(&store).is_empty(), "a feed without details");
    let many = (0..200).map(|n| paid(n, Some(u64::from(n)), 0)).collect();
    store
        .apply_all(&[
            fees_block(2, vec![paid(1, Some(u64::MAX), 7), paid(2, None, 0)]),
            fees_block(3, Vec::new()),
            fees_block(4, many),
        ])
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    let key = |byte| BlockFees::key_of(&[byte; 32]);
    let expected = [
        TransactionFees {
            price: Some(u64::MAX),
            writable: vec![key(1)],
            gains: vec![(key(9), 7)],
            ..TransactionFees::default()
        },
        TransactionFees {
            has_failed: true,
            writable: vec![key(2)],
            ..TransactionFees::default()
        },
    ];
    assert_eq!(snapshot.fee_slots().unwrap(), [4, 3, 2]);
    let transactions = |slot| snapshot.fees(slot).unwrap().unwrap().transactions;
    assert_eq!(transactions(2), expected);
    assert_eq!(transactions(3), []);
    let prices: Vec<_> = transactions(4).iter().map(|paid| paid.price).collect();
    assert_eq!(
        prices,
        (0..200).map(Some).collect::<Vec<_>>(),
        "several chunks"
    );
    assert_eq!(snapshot.fees(1).unwrap(), None);
    drop(snapshot);
    store.apply(&block(5, Vec::new())).unwrap();
    assert!(slots(&store).is_empty(), "details are not sent any more");
}

#[test]
fn slots_before_the_newest_512_are_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    let blocks: Vec<_> = (1..=600)
        .map(|slot| fees_block(slot, vec![paid(1, Some(slot), 1)]))
        .collect();
    store.apply_all(&blocks).unwrap();
    let kept = slots(&store);
    assert_eq!((kept.len(), kept[0], kept[511]), (512, 600, 89));
    assert!(store.snapshot().unwrap().fees(88).unwrap().is_none());
}

fn options() -> Options {
    Options {
        map_bytes: 1 << 30,
        disk_reserve_bytes: 0,
        ..Options::default()
    }
}
