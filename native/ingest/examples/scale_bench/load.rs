//! Writes a snapshot archive of the set and loads it into a store.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ingest::archive::{ArchiveLimits, read_archive};
use ingest::load::{Base, LoadOptions, Loader, load_archive};
use ingest::progress::Progress;
use store::Options;

use crate::data::{Set, row};
use crate::writer::{Bank, Tar, hash_of};
use crate::{machine, report};

pub const SLOT: u64 = 1_000_000;
/// Accounts per storage: files and frames of 6 MB, as validators write them.
const STORAGE_ACCOUNTS: u64 = 20_000;

pub fn write_archive(dir: &Path, set: &Set) -> PathBuf {
    let begun = Instant::now();
    let hash = primitives::encoding::encode_pubkey(&hash_of(SLOT));
    let path = dir.join(format!("snapshot-{SLOT}-{hash}.tar.zst"));
    let mut out = BufWriter::new(File::create(&path).expect("a file"));
    let mut frame = |tar: &[u8]| {
        let packed = zstd::bulk::compress(tar, 1).expect("memory");
        out.write_all(&packed).expect("space on the disk");
    };
    let mut head = Tar::new(Vec::new());
    head.begin(&Bank::at(SLOT)).expect("memory");
    frame(&head.into_inner());
    for first in (0..set.accounts()).step_by(STORAGE_ACCOUNTS as usize) {
        let rows: Vec<_> = (first..set.accounts().min(first + STORAGE_ACCOUNTS))
            .map(|n| row(set.account(n)))
            .collect();
        let mut tar = Tar::new(Vec::new());
        let slot = SLOT - 1 - first / STORAGE_ACCOUNTS;
        tar.storage(slot, first / STORAGE_ACCOUNTS, &rows)
            .expect("memory");
        frame(&tar.into_inner());
    }
    frame(&Tar::new(Vec::new()).finish().expect("memory"));
    // A downloaded archive is already on disk, so flush here, outside the timed load.
    let file = out.into_inner().expect("space on the disk");
    file.sync_all().expect("space on the disk");
    eprintln!(
        "archive of {} accounts: {:.1} s",
        set.accounts(),
        begun.elapsed().as_secs_f64()
    );
    path
}

pub fn load(archive: &Path, dir: &Path, store_dir: &Path, set: &Set, options: &Options) {
    let begun = Instant::now();
    let mut seen = 0;
    let file = File::open(archive).expect("the archive");
    read_archive(
        file,
        &ArchiveLimits::default(),
        &Progress::default(),
        &mut |_| {
            seen += 1;
            Ok(())
        },
    )
    .expect("a sound archive");
    assert_eq!(seen, set.accounts());
    let rate = seen as f64 / begun.elapsed().as_secs_f64();
    report("archive read", rate, "accounts/s", "higher", None);

    let (begun, before) = (Instant::now(), machine::usage());
    let (load_options, progress) = (LoadOptions::default(), Arc::new(Progress::default()));
    let mut loader =
        Loader::create(&dir.join("work"), &options.scope, &load_options).expect("a loader");
    let location = archive.to_str().expect("a readable path");
    let (_, end) = load_archive(&mut loader, location, 0, &progress).expect("a sound archive");
    let sorted = begun.elapsed();
    let base = Base {
        slot: end.manifest.slot,
        parent_slot: end.manifest.parent_slot,
        blockhash: end.manifest.blockhash,
        block_height: end.manifest.block_height,
        block_time: None,
        root: end.manifest.slot,
    };
    let loaded = loader
        .finish(store_dir, options, &base, &progress)
        .expect("a store");
    assert_eq!(loaded.accounts, set.accounts());
    let (took, busy) = (begun.elapsed(), machine::usage().busy - before.busy);
    let accounts = set.accounts() as f64;
    eprintln!(
        "loaded in {:.1} s, of it {:.1} s of reading and sorting",
        took.as_secs_f64(),
        sorted.as_secs_f64()
    );
    let rate = accounts / took.as_secs_f64();
    report("bootstrap", rate, "accounts/s", "higher", Some(300_000.0));
    let micros = busy.as_secs_f64() * 1e6 / accounts;
    report("bootstrap processor", micros, "µs/account", "lower", None);
    let peak = machine::peak_bytes() as f64 / f64::from(1 << 20);
    report(
        "bootstrap memory, mapped pages included",
        peak,
        "MiB",
        "lower",
        None,
    );
    let bytes = machine::file_bytes(store_dir) as f64;
    report(
        "file after load",
        bytes / accounts,
        "bytes/account",
        "lower",
        None,
    );
    let ratio = bytes / set.raw_bytes() as f64;
    report(
        "file after load against raw bytes",
        ratio,
        "×",
        "lower",
        Some(1.6),
    );
    let runs = loaded.run_bytes as f64 / accounts;
    report("disk for sorting", runs, "bytes/account", "lower", None);
}
