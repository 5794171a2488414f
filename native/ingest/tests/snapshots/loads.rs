//! Real archives as stores: through the sort and the tables of a load, to exactly what they hold.

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

/// A load that holds these archives, and the last one's end.
fn loader_of(dir: &Path, names: &[(&str, u8)]) -> Option<(Loader, ArchiveEnd)> {
    let load = LoadOptions {
        sort_memory_bytes: SORT_MEMORY_BYTES_MIN,
        transaction_bytes: 1 << 20,
        disk_reserve_bytes: 0,
    };
    let mut loader = Loader::create(&dir.join("work"), &Scope::All, &load).unwrap();
    let mut end = None;
    for (name, order) in names {
        let path = fixtures::path(&format!("snapshots/{name}.tar.zst"))?;
        let progress = Arc::new(Progress::default());
        let place = path.to_str().unwrap();
        // It also holds the sum of lamports against the manifest's.
        end = Some(
            load_archive(&mut loader, place, *order, &progress)
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

/// Every account that a store holds.
fn held(store: &Store) -> BTreeMap<Pubkey, Account> {
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

/// The newest of each address in the lists that came with the archives, closed ones left out.
fn listed_in(names: &[&str]) -> BTreeMap<String, Value> {
    let mut newest = BTreeMap::new();
    // Archives in their order, and within one each later slot behind the earlier ones.
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
    let shown: BTreeMap<String, Value> = held(store)
        .into_iter()
        .map(|(key, account)| (encode_pubkey(&key).to_string(), listed(&account)))
        .collect();
    assert_eq!(shown, listed_in(names));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn the_pair_loads_to_exactly_what_is_listed() {
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
fn the_incremental_one_brings_a_store_of_the_full_one_up_to_date() {
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
fn an_archive_of_agave_loads_to_its_accounts() {
    let dir = TempDir::new().unwrap();
    let Some(store) = store_of(dir.path(), "agave", &[(AGAVE, 0)]) else {
        return;
    };
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let (held, (_, entries, _)) = (held(&store), read(AGAVE).unwrap());
    let latest_versions = latest_versions([&entries[..]]);
    assert_eq!(held.len(), latest_versions.len());
    for (key, account) in latest_versions {
        assert_eq!(listed(&held[&key]), listed(account));
    }
    // And from outside: the dumps that it was made of.
    let known = fixtures::accounts().unwrap();
    let found = known.iter().filter_map(|account| {
        let held = held.get(&account.pubkey)?;
        let is_same = held.lamports == account.lamports
            && held.owner == account.owner
            && held.executable == account.executable
            && held.rent_epoch == account.rent_epoch
            && held.data == account.data;
        is_same.then_some(())
    });
    let count = found.count();
    assert!(count > 300, "{count} of {}", known.len());
}
