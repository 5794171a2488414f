//! Tests of opening stores: what persists, what is rejected, and the error messages.

use std::path::Path;

use super::{account, block, hash, number, open, options};
use crate::rows::record;
use crate::{ACCOUNT_DATA_BYTES_MAX, Block, Changed, Options, Scope, Store};
use primitives::token::CLOCK_SYSVAR;
use proptest::prelude::*;
use sys::error::Error;

fn refusal(dir: &Path, options: &Options) -> String {
    let texts = [
        Store::open_writer(dir, options),
        Store::open_reader(dir, options),
    ]
    .map(|opened| match opened {
        Err(Error::StoreUnusable(text)) => text,
        Err(Error::StoreOutdated(text)) => {
            assert!(text.ends_with("or start the service, which rebuilds it"));
            text
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    });
    assert_eq!(texts[0], texts[1]);
    texts[0].clone()
}

#[test]
fn applied_blocks_persist_and_read_back_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    assert_eq!(store.tip().unwrap(), None);
    let update = account([9; 32], u64::MAX, [4; 32], &[1, 2, 3]);
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
            .block_of_hash(&hash(5), snapshot.tip().unwrap(), 150)
            .unwrap()
            .map(|block| block.slot),
        Some(5)
    );
}

#[test]
fn a_block_that_does_not_follow_the_tip_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    store
        .apply(&block(5, vec![account([1; 32], 1, [4; 32], &[])]))
        .unwrap();
    for (slot, parent_slot, parent_blockhash) in [(7, 6, hash(6)), (6, 5, hash(4)), (9, 4, hash(4))]
    {
        let wrong = Block {
            parent_slot,
            parent_blockhash,
            ..block(slot, vec![account([2; 32], 1, [4; 32], &[])])
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
            .apply(&block(known, vec![account([2; 32], 1, [4; 32], &[])]))
            .unwrap();
        assert!(!again.is_new);
        assert_eq!(store.snapshot().unwrap().account(&[2; 32]).unwrap(), None);
    }
    // Skipped slots are not a gap: only the parent slot matters.
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
fn a_different_identity_is_rejected_with_the_fix() {
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

#[test]
fn another_schema_is_rejected_with_the_fix() {
    for (schema, is_outdated) in [(9u32, false), (1, true)] {
        let temporary = open(&options());
        let mut txn = temporary.store.env.write_txn().unwrap();
        let meta = temporary.store.tables.meta;
        meta.put(&mut txn, b"schema", &schema.to_be_bytes())
            .unwrap();
        txn.commit().unwrap();
        let dir = temporary.dir;
        drop(temporary.store);
        let text = refusal(dir.path(), &options());
        assert!(text.contains(&format!("schema {schema}")));
        assert_eq!(text.ends_with("rebuilds it"), is_outdated);
    }
}

#[test]
fn blocks_are_rejected_when_the_disk_is_full_or_an_account_too_large() {
    let temporary = open(&Options {
        disk_reserve_bytes: u64::MAX,
        ..options()
    });
    let refused = temporary.store.apply(&block(1, vec![]));
    assert!(matches!(refused, Err(Error::DiskReserve(bytes)) if bytes > 0));
    assert_eq!(temporary.store.tip().unwrap(), None);

    let temporary = open(&options());
    let giant = account(number(1), 1, [9; 32], &vec![0; ACCOUNT_DATA_BYTES_MAX + 1]);
    let refused = temporary
        .store
        .apply(&block(1, vec![account(number(0), 1, [9; 32], &[]), giant]));
    assert!(matches!(refused, Err(Error::Internal(text)) if text.contains("10485761")));
    assert_eq!(temporary.store.tip().unwrap(), None);
    assert_eq!(
        temporary
            .store
            .snapshot()
            .unwrap()
            .account(&number(0))
            .unwrap(),
        None
    );
}

#[test]
fn a_full_map_is_reported_and_a_larger_map_continues() {
    let small = Options {
        map_bytes: 1 << 20,
        ..options()
    };
    let temporary = open(&small);
    let grow = |slot| block(slot, vec![account(number(slot), 1, [9; 32], &[7; 50_000])]);
    let failed = (1..100).find_map(|slot| {
        let refused = temporary.store.apply(&grow(slot)).err()?;
        Some((slot, refused))
    });
    let Some((slot, Error::StoreStopped(text))) = failed else {
        panic!("{failed:?}");
    };
    assert!(text.contains("raise store.mapBytes"), "{text}");
    assert!(slot > 3);
    // Repeated attempts: a failed one leaves nothing behind.
    assert!(temporary.store.apply(&grow(slot)).is_err());
    assert_eq!(
        temporary.store.tip().unwrap().map(|tip| tip.slot),
        Some(slot - 1)
    );
    assert_eq!(temporary.store.check().unwrap(), Vec::<String>::new());
    let dir = temporary.dir;
    drop(temporary.store);
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    store.apply(&grow(slot)).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn disk_errors_are_distinguished() {
    let of = |code| Error::from(heed::Error::Io(std::io::Error::from_raw_os_error(code)));
    for code in [libc::ENOSPC, libc::EDQUOT, libc::EFBIG] {
        assert!(matches!(of(code), Error::StoreStopped(text) if text.contains("disk is full")));
    }
    for code in [libc::EROFS, libc::EACCES, libc::EPERM] {
        assert!(matches!(of(code), Error::StoreStopped(text) if text.contains("only be read")));
    }
    assert!(matches!(of(libc::EIO), Error::StoreStopped(text) if text.contains("broken")));
    assert!(matches!(of(libc::EINVAL), Error::Internal(_)));
    let panic = Error::from(heed::Error::Mdb(heed::MdbError::Panic));
    assert!(matches!(panic, Error::StoreBroken(_)));
}

#[test]
fn disk_blocks_of_reader_slots_are_allocated() {
    use std::os::unix::fs::MetadataExt;
    let temporary = open(&options());
    let lock = std::fs::metadata(temporary.dir.path().join("lock.mdb")).unwrap();
    assert!(lock.blocks() * 512 >= lock.len());
}

#[test]
fn time_comes_from_the_clock_then_the_block_then_is_zero() {
    let temporary = open(&options());
    assert_eq!(temporary.store.snapshot().unwrap().unix_timestamp(), 0);
    temporary
        .store
        .apply(&Block {
            block_time: None,
            ..block(1, vec![])
        })
        .unwrap();
    assert_eq!(temporary.store.snapshot().unwrap().unix_timestamp(), 0);
    temporary.store.apply(&block(2, vec![])).unwrap();
    assert_eq!(temporary.store.snapshot().unwrap().unix_timestamp(), 1_002);
    let mut clock = vec![0; 40];
    clock[32..].copy_from_slice(&(-5i64).to_le_bytes());
    temporary
        .store
        .apply(&block(3, vec![account(CLOCK_SYSVAR, 1, [1; 32], &clock)]))
        .unwrap();
    assert_eq!(temporary.store.snapshot().unwrap().unix_timestamp(), -5);
}

proptest! {
    #[test]
    fn any_bytes_decode_or_are_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        match record::decode(&bytes) {
            Ok(account) => {
                prop_assert_eq!(&record::encode_head(&account)[25..], &bytes[25..57]);
                prop_assert_eq!(account.data, &bytes[57..]);
                let _ = crate::rows::keys::Indexed::of(&account);
            }
            Err(_) => prop_assert!(bytes.len() < 57),
        }
        let _ = (record::decode_block(1, &bytes), crate::indexes::holder_row::Row::decode(&bytes));
        let _ = crate::indexes::programs::ProgramRow::decode(&bytes);
    }
}
