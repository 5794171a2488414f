//! Tests that load real archives into stores and compare all accounts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ingest::archive::ArchiveEnd;
use ingest::load::{Base, LoadOptions, Loader, SORT_MEMORY_BYTES_MIN, load_archive};
use ingest::progress::Progress;
use primitives::Pubkey;
use primitives::encoding::encode_pubkey;
use serde_json::Value;
use store::{Options, Scope, Store};
use tempfile::TempDir;

use super::{AGAVE, Account, FULL, INCREMENTAL, contents, latest_versions, listed, read};

fn options() -> Options {
    Options {
        map_bytes: 256 << 20,
        disk_reserve_bytes: 0,
        ..Options::default()
    }
}

fn base_of(end: &ArchiveEnd) -> Base {
    let manifest = &end.manifest;
    Base {
        slot: manifest.slot,
        parent_slot: manifest.parent_slot,
        blockhash: manifest.blockhash,
        block_height: manifest.block_height,
        block_time: None,
        root: manifest.slot,
    }
}

/// A loader with these archives, and the end of the last archive.
fn loader_of(dir: &Path, names: &[(&str, u8)]) -> Option<(Loader, ArchiveEnd)> {
    let load = LoadOptions {
        sort_memory_bytes: SORT_MEMORY_BYTES_MIN,
        transaction_bytes: 1 << 20,
        disk_reserve_bytes: 0,
        checkpoint_every: None,
    };
    let mut loader = Loader::create(&dir.join("work"), &Scope::All, &load).unwrap();
    let mut end = None;
    for (name, order) in names {
        let path = fixtures::path(&format!("snapshots/{name}.tar.zst"))?;
        let progress = Arc::new(Progress::default());
        let location = path.to_str().unwrap();
        // This also compares the sum of lamports with the manifest.
        end = Some(
            load_archive(&mut loader, location, *order, &progress)
                .unwrap()
                .1,
        );
    }
    Some((loader, end?))
}

fn store_of(dir: &Path, name: &str, archives: &[(&str, u8)]) -> Option<Store> {
    let (loader, end) = loader_of(dir, archives)?;
    let store_dir = dir.join(name);
    let progress = Progress::default();
    loader
        .finish(&store_dir, &options(), &base_of(&end), &progress)
        .unwrap();
    Some(Store::open_writer(&store_dir, &options()).unwrap())
}

/// All accounts of a store.
fn stored(store: &Store) -> BTreeMap<Pubkey, Account> {
    let snapshot = store.snapshot().unwrap();
    let keys = snapshot.keys_after(None, usize::MAX, usize::MAX).unwrap();
    let account = |pubkey: Pubkey| {
        let found = snapshot.account(&pubkey).unwrap().unwrap();
        let account = Account {
            slot: found.slot,
            pubkey,
            lamports: found.lamports,
            rent_epoch: found.rent_epoch,
            owner: *found.owner,
            executable: found.executable,
            data: found.data.to_vec(),
        };
        (pubkey, account)
    };
    keys.into_iter().map(account).collect()
}

/// The newest version of each address in the archives' contents files, without closed accounts.
fn listed_in(names: &[&str]) -> BTreeMap<String, Value> {
    let mut newest = BTreeMap::new();
    // Archives in order, and within each archive by slot.
    for name in names {
        let mut rows = contents(name).unwrap();
        rows.sort_by_key(|row| row["slot"].as_u64());
        for row in rows {
            newest.insert(row["pubkey"].as_str().unwrap().to_owned(), row);
        }
    }
    newest.retain(|_, row| row["lamports"].as_u64() != Some(0));
    newest
}

fn assert_listed(store: &Store, names: &[&str]) {
    let shown: BTreeMap<String, Value> = stored(store)
        .into_iter()
        .map(|(key, account)| (encode_pubkey(&key).to_string(), listed(&account)))
        .collect();
    assert_eq!(shown, listed_in(names));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_full_and_an_incremental_archive_load_to_the_listed_accounts() {
    let dir = TempDir::new().unwrap();
    let Some(full) = store_of(dir.path(), "full", &[(FULL, 0)]) else {
        return;
    };
    assert_listed(&full, &[FULL]);
    assert_eq!(full.tip().unwrap().map(|tip| tip.slot), Some(1));
    let pair = [(FULL, 0), (INCREMENTAL, 1)];
    let both = store_of(dir.path(), "both", &pair).unwrap();
    assert_listed(&both, &[FULL, INCREMENTAL]);
    let tip = both.tip().unwrap().unwrap();
    assert_eq!((tip.slot, tip.parent_slot, tip.block_height), (4, 3, 4));
}

#[test]
fn an_incremental_archive_updates_a_store_of_the_full_archive() {
    let dir = TempDir::new().unwrap();
    let Some(copy) = store_of(dir.path(), "copy", &[(FULL, 0)]) else {
        return;
    };
    drop(copy);
    let (loader, end) = loader_of(dir.path(), &[(INCREMENTAL, 0)]).unwrap();
    let (copy, store) = (dir.path().join("copy"), dir.path().join("store"));
    let base = (1, &base_of(&end));
    loader
        .update(&copy, &store, &options(), base, &Progress::default())
        .unwrap();
    let store = Store::open_writer(&store, &options()).unwrap();
    assert_listed(&store, &[FULL, INCREMENTAL]);
    assert_eq!(store.tip().unwrap().map(|tip| tip.slot), Some(4));
}

#[test]
fn an_agave_archive_loads_to_its_accounts() {
    let dir = TempDir::new().unwrap();
    let Some(store) = store_of(dir.path(), "agave", &[(AGAVE, 0)]) else {
        return;
    };
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let (stored, (_, entries, _)) = (stored(&store), read(AGAVE).unwrap());
    let latest_versions = latest_versions([&entries[..]]);
    assert_eq!(stored.len(), latest_versions.len());
    for (key, account) in latest_versions {
        assert_eq!(listed(&stored[&key]), listed(account));
    }
    // Compare with the account dumps from which the archive was built.
    let known = fixtures::accounts().unwrap();
    let found = known.iter().filter_map(|account| {
        let stored = stored.get(&account.pubkey)?;
        let is_same = stored.lamports == account.lamports
            && stored.owner == account.owner
            && stored.executable == account.executable
            && stored.rent_epoch == account.rent_epoch
            && stored.data == account.data;
        is_same.then_some(())
    });
    let count = found.count();
    assert!(count > 300, "{count} of {}", known.len());
}
