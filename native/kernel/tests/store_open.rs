//! Opening stores: identity, refusal, durability, the chain of blocks, and the bounds of what is kept.

use std::path::Path;

use kernel::Pubkey;
use kernel::error::Error;
use kernel::store::{AccountUpdate, Block, Changed, Options, Scope, Store};

fn options() -> Options {
    Options {
        map_bytes: 1 << 30,
        disk_reserve_bytes: 0,
        ..Options::default()
    }
}

fn hash(slot: u64) -> [u8; 32] {
    let mut hash = [7; 32];
    hash[0..8].copy_from_slice(&slot.to_be_bytes());
    hash
}

fn block(slot: u64, accounts: Vec<AccountUpdate>) -> Block {
    Block {
        slot,
        parent_slot: slot - 1,
        blockhash: hash(slot),
        parent_blockhash: hash(slot - 1),
        block_height: slot,
        block_time: Some(1_000 + slot as i64),
        accounts,
        signatures: Vec::new(),
    }
}

fn account(key: u8, lamports: u64, owner: Pubkey, data: &[u8]) -> AccountUpdate {
    AccountUpdate {
        pubkey: [key; 32],
        lamports,
        rent_epoch: u64::MAX,
        executable: false,
        owner,
        data: data.to_vec(),
    }
}

fn refusal(dir: &Path, options: &Options) -> String {
    let texts = [
        Store::open_writer(dir, options),
        Store::open_reader(dir, options),
    ]
    .map(|opened| match opened {
        Err(Error::StoreUnusable(text)) => text,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    });
    assert_eq!(texts[0], texts[1]);
    texts[0].clone()
}

#[test]
fn what_is_applied_survives_and_reads_back_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    assert_eq!(store.tip().unwrap(), None);
    let update = account(9, u64::MAX, [4; 32], &[1, 2, 3]);
    let applied = store.apply(&block(5, vec![update.clone()])).unwrap();
    assert_eq!(
        (
            applied.is_new,
            applied.accounts,
            applied.deleted,
            applied.bytes
        ),
        (true, 1, 0, 3)
    );
    drop(store);
    let store = Store::open_reader(dir.path(), &options()).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!((snapshot.slot(), snapshot.unix_timestamp()), (5, 1_005));
    let found = snapshot.account(&[9; 32]).unwrap().unwrap();
    assert_eq!(
        (found.slot, found.lamports, found.rent_epoch),
        (5, u64::MAX, u64::MAX)
    );
    assert_eq!(
        (found.owner, found.data, found.executable),
        (&[4; 32], &[1, 2, 3][..], false)
    );
    assert_eq!(snapshot.account(&[8; 32]).unwrap(), None);
    assert_eq!(
        snapshot
            .block_of_hash(&hash(5), 150)
            .unwrap()
            .map(|block| block.slot),
        Some(5)
    );
}

#[test]
fn a_block_that_does_not_follow_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    store
        .apply(&block(5, vec![account(1, 1, [4; 32], &[])]))
        .unwrap();
    for (slot, parent_slot, parent_blockhash) in [(7, 6, hash(6)), (6, 5, hash(4)), (9, 4, hash(4))]
    {
        let wrong = Block {
            parent_slot,
            parent_blockhash,
            ..block(slot, vec![account(2, 1, [4; 32], &[])])
        };
        match store.apply(&wrong) {
            Err(Error::NotNextBlock(found)) => assert_eq!((found.tip_slot, found.slot), (5, slot)),
            other => panic!("{other:?}"),
        }
        assert_eq!(store.tip().unwrap().unwrap().slot, 5);
        assert_eq!(store.snapshot().unwrap().account(&[2; 32]).unwrap(), None);
    }
    for known in [5, 4, 1] {
        let again = store
            .apply(&block(known, vec![account(2, 1, [4; 32], &[])]))
            .unwrap();
        assert!(!again.is_new);
        assert_eq!(store.snapshot().unwrap().account(&[2; 32]).unwrap(), None);
    }
    // Skipped slots are no gap: the parent is what counts.
    store
        .apply(&Block {
            parent_slot: 5,
            parent_blockhash: hash(5),
            ..block(9, vec![])
        })
        .unwrap();
    assert_eq!(store.tip().unwrap().unwrap().slot, 9);
}

#[test]
fn another_identity_is_refused_with_the_fix() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(
        Store::open_reader(dir.path(), &options()),
        Err(Error::StoreUnusable(text)) if text.contains("start the indexer")
    ));
    drop(Store::open_writer(dir.path(), &options()).unwrap());
    let listed = |programs| Scope::Listed {
        programs,
        mints: Vec::new(),
        pubkeys: Vec::new(),
    };
    let scoped = Options {
        scope: listed(vec![[1; 32]]),
        ..options()
    };
    assert!(refusal(dir.path(), &scoped).contains("another scope: set the scope back"));
    let unwatched = Options {
        changed: Changed::None,
        ..options()
    };
    assert!(refusal(dir.path(), &unwatched).contains("`changed`: set the list back"));
    drop(Store::open_writer(dir.path(), &options()).unwrap());

    let dir = tempfile::tempdir().unwrap();
    let one = Options {
        scope: listed(vec![[1; 32], [2; 32]]),
        ..options()
    };
    let same = Options {
        scope: listed(vec![[2; 32], [1; 32], [2; 32]]),
        ..options()
    };
    drop(Store::open_writer(dir.path(), &one).unwrap());
    drop(Store::open_writer(dir.path(), &same).unwrap());

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("data.mdb"), vec![1; 16384]).unwrap();
    assert!(refusal(dir.path(), &options()).contains("not a Slotline store"));
}
