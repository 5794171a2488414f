//! Tests with real archives: a full and an incremental one with contents files, and one written by
//! Agave 3.1 with the fixture accounts.

mod loads;
#[path = "../../src/archive/tests/writer.rs"]
#[allow(dead_code)]
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ingest::archive::{
    ArchiveEnd, ArchiveKind, ArchiveLimits, ArchiveName, SourceOptions, open_source, read_archive,
};
use ingest::progress::Progress;
use primitives::Pubkey;
use primitives::encoding::{decode_pubkey, encode_pubkey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const FULL: &str = "snapshot-1-5pgMpQj4MZYWauD1VnoNfmGAdUQCe6VVCSCQMNbDoxf7";
const INCREMENTAL: &str = "incremental-snapshot-1-4-43FT6mnmRW9XbxpCzqH3ogYexHXboG7d8vmf3gBLvLrR";
const AGAVE: &str = "snapshot-100-263kKRshEBC8GpeUL2DRWvQBxmr7pLTFdiNa8bzqbkYY";

struct Account {
    slot: u64,
    pubkey: Pubkey,
    lamports: u64,
    rent_epoch: u64,
    owner: Pubkey,
    executable: bool,
    data: Vec<u8>,
}

/// All entries in file order.
fn read(name: &str) -> Option<(ArchiveName, Vec<Account>, ArchiveEnd)> {
    fixtures::path(&format!("snapshots/{name}.tar.zst")).map(|path| read_at(&path))
}

fn read_at(path: &Path) -> (ArchiveName, Vec<Account>, ArchiveEnd) {
    let progress = Arc::new(Progress::default());
    let location = path.to_str().unwrap();
    let source = open_source(location, &SourceOptions::default(), &progress).unwrap();
    let (expected_bytes, mut accounts) = (source.bytes.unwrap(), Vec::new());
    let limits = ArchiveLimits::default();
    let end = read_archive(source.reader, &limits, &progress, &mut |entry| {
        accounts.push(Account {
            slot: entry.slot,
            pubkey: *entry.pubkey,
            lamports: entry.lamports,
            rent_epoch: entry.rent_epoch,
            owner: *entry.owner,
            executable: entry.executable,
            data: entry.data.to_vec(),
        });
        Ok(())
    });
    let read_bytes = progress
        .bytes_read
        .load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(read_bytes, expected_bytes);
    (source.name, accounts, end.unwrap())
}

/// The account in the format of the contents file, without its position in the archive.
fn listed(account: &Account) -> Value {
    let digest = Sha256::digest(&account.data);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "slot": account.slot,
        "pubkey": encode_pubkey(&account.pubkey).to_string(),
        "lamports": account.lamports,
        "owner": encode_pubkey(&account.owner).to_string(),
        "executable": account.executable,
        "rentEpoch": account.rent_epoch,
        "space": account.data.len(),
        "data_sha256": hex,
    })
}

fn contents(name: &str) -> Option<Vec<Value>> {
    let path = fixtures::path(&format!("snapshots/{name}.contents.json"))?;
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let without_place = |account: &Value| {
        let mut account = account.clone();
        for field in ["file", "offset", "write_version"] {
            account.as_object_mut().unwrap().remove(field);
        }
        account
    };
    Some(
        file["accounts"]
            .as_array()
            .unwrap()
            .iter()
            .map(without_place)
            .collect(),
    )
}

/// The newest version of each pubkey, without tombstones.
fn latest_versions<'a>(
    archives: impl IntoIterator<Item = &'a [Account]>,
) -> BTreeMap<Pubkey, &'a Account> {
    let mut newest = BTreeMap::new();
    for account in archives.into_iter().flatten() {
        let newest_version: &mut &Account = newest.entry(account.pubkey).or_insert(account);
        if account.slot >= newest_version.slot {
            *newest_version = account;
        }
    }
    newest.retain(|_, account| account.lamports > 0);
    newest
}

fn lamports(accounts: &BTreeMap<Pubkey, &Account>) -> u64 {
    accounts.values().map(|account| account.lamports).sum()
}

#[test]
fn a_full_and_an_incremental_archive_contain_the_listed_accounts() {
    let (Some(full), Some(incremental)) = (read(FULL), read(INCREMENTAL)) else {
        return;
    };
    for (name, accounts, count) in [(FULL, &full.1, 21), (INCREMENTAL, &incremental.1, 6)] {
        let shown: Vec<Value> = accounts.iter().map(listed).collect();
        assert_eq!(shown.len(), count);
        assert_eq!(shown, contents(name).unwrap(), "{name}");
    }
    assert_eq!((full.0.kind, full.0.slot), (ArchiveKind::Full, 1));
    assert_eq!(incremental.0.kind, ArchiveKind::Incremental { base: 1 });
    let (first, second) = (&full.2.manifest, &incremental.2.manifest);
    assert_eq!(
        (first.slot, first.parent_slot, first.block_height),
        (1, 0, 1)
    );
    assert_eq!(
        (second.slot, second.parent_slot, second.block_height),
        (4, 3, 4)
    );
    // The manifest's capitalization, before and after the incremental archive.
    assert_eq!(
        lamports(&latest_versions([&full.1[..]])),
        first.capitalization
    );
    let both = latest_versions([&full.1[..], &incremental.1]);
    assert_eq!(lamports(&both), second.capitalization);
    for (pubkey, lamports) in [
        (
            "AddG3VVsQZLZsdHqGyzn5j8n5wGWgxzhD64pwKVLrWyC",
            4_000_000_000,
        ),
        (
            "E4qLByCfNXn5Uu3BWsvwQcujMt1mDFQM6DQasAF8DC6U",
            999_978_999_985_000,
        ),
    ] {
        assert_eq!(both[&decode_pubkey(pubkey).unwrap()].lamports, lamports);
    }
    // The RecentBlockhashes sysvar must start with the same blockhashes: 32 bytes of hash, 8 bytes
    // of fee per entry.
    let recent = &both[&decode_pubkey("SysvarRecentB1ockHashes11111111111111111111").unwrap()];
    assert_eq!(recent.data[8..40], second.blockhash);
    for at in [8, 48] {
        let hash: [u8; 32] = recent.data[at..at + 32].try_into().unwrap();
        assert!(second.recent_blockhashes.contains(&hash));
    }
}

#[test]
fn an_agave_archive_contains_the_fixture_accounts() {
    let (Some((name, accounts, end)), Some(known)) = (read(AGAVE), fixtures::accounts()) else {
        return;
    };
    assert_eq!((name.slot, end.manifest.slot, end.storages), (100, 100, 2));
    assert_eq!(end.cut_storages, 0);
    let newest_version = latest_versions([&accounts[..]]);
    assert_eq!(lamports(&newest_version), end.manifest.capitalization);
    // The archive was built without sysvars, features, configs, native programs and empty accounts.
    let index = fixtures::path("accounts-index.json").unwrap();
    let index: Vec<Value> = serde_json::from_slice(&std::fs::read(index).unwrap()).unwrap();
    let left_out: BTreeSet<Pubkey> = index
        .iter()
        .filter(|row| {
            matches!(
                row["kind"].as_str(),
                Some("sysvar" | "feature" | "config" | "native-loader")
            )
        })
        .map(|row| decode_pubkey(row["pubkey"].as_str().unwrap()).unwrap())
        .collect();
    let (mut compared, mut absent) = (0, Vec::new());
    for account in known
        .iter()
        .filter(|a| a.lamports > 0 && !left_out.contains(&a.pubkey))
    {
        let Some(found) = newest_version.get(&account.pubkey) else {
            absent.push(encode_pubkey(&account.pubkey).to_string());
            continue;
        };
        let key = encode_pubkey(&account.pubkey);
        assert!(found.data == account.data, "{key}");
        assert_eq!(found.lamports, account.lamports, "{key}");
        assert_eq!(found.owner, account.owner, "{key}");
        assert_eq!(found.executable, account.executable, "{key}");
        assert_eq!(found.rent_epoch, account.rent_epoch, "{key}");
        compared += 1;
    }
    assert_eq!(absent, Vec::<String>::new());
    assert!(compared > 300, "{compared}");
}

/// The account in the outside reader's output format.
fn line(account: &Account) -> String {
    let listed = listed(account);
    let text = |field: &str| listed[field].to_string().replace('"', "");
    [
        "slot",
        "pubkey",
        "lamports",
        "rentEpoch",
        "owner",
        "executable",
        "data_sha256",
    ]
    .map(text)
    .join(" ")
}

/// Compares the accounts of every real archive and of a generated one with the output of a reader
/// that uses Agave's code. `test/soak/snapshots.ts` builds that reader.
#[test]
fn an_outside_reader_agrees() {
    let reader = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../target/snapshot-reader/debug/snapshot-reader");
    if !reader.exists() {
        println!("skipped: the outside reader is not built");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let written = dir.path().join(format!("{FULL}.tar.zst"));
    let storages: Vec<_> = (0..30).map(|n| (n % 7, n, rows(n))).collect();
    let tar = writer::archive(&writer::Bank::at(7), &storages);
    std::fs::write(&written, zstd::encode_all(tar.as_slice(), 1).unwrap()).unwrap();
    let real = [FULL, INCREMENTAL, AGAVE]
        .iter()
        .filter_map(|name| fixtures::path(&format!("snapshots/{name}.tar.zst")));
    let mut compared = 0;
    for path in real.chain([written]) {
        let (_, accounts, _) = read_at(&path);
        let outside = Command::new(&reader).arg(&path).output().unwrap();
        let errors = String::from_utf8_lossy(&outside.stderr).into_owned();
        assert!(outside.status.success(), "{errors}");
        let outside = String::from_utf8(outside.stdout).unwrap();
        assert!(
            accounts
                .iter()
                .map(line)
                .eq(outside.lines().map(str::to_owned)),
            "{path:?}"
        );
        compared += accounts.len();
    }
    println!("{compared} accounts compared");
    assert!(compared >= 30 * 20);
}

fn rows(storage: u64) -> Vec<writer::Row> {
    let row = |n: u64| writer::Row {
        pubkey: writer::hash_of(storage << 8 | n),
        lamports: n % 5,
        rent_epoch: u64::MAX - n,
        owner: [n as u8; 32],
        executable: n.is_multiple_of(3),
        data: vec![n as u8; (storage * n) as usize],
    };
    (1..=20).map(row).collect()
}
