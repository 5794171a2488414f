//! Loads that are killed and continued by another process.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

use super::checkpoint::{Checkpoint, Checkpoints};
use super::tests::{BASE, Version, assert_holds, cases, expected, scope, small};
use super::{LoadOptions, Loader, load_archive};
use crate::archive::tests::writer::{Bank, Row, archive};
use crate::progress::Progress;
use primitives::encoding::encode_pubkey;
use store::testing::{account, number, options, strategy};
use store::{Options, Scope};

const FULL: u64 = 20;
const INCREMENTAL: u64 = 40;
/// Of a run: more of them than of checkpoints is never read again.
const RUN_BYTES: u64 = 2_000;

fn kept() -> LoadOptions {
    LoadOptions {
        checkpoint_every: Some(Duration::ZERO),
        ..small()
    }
}

/// The archives of versions by their order, in the order of the versions.
struct Archives {
    dir: TempDir,
    paths: [PathBuf; 2],
    bytes: [Vec<u8>; 2],
}

impl Archives {
    fn of(versions: &[Version]) -> Archives {
        let dir = TempDir::new().unwrap();
        let hash = encode_pubkey(&[7; 32]);
        let names = [
            format!("snapshot-{FULL}-{hash}.tar"),
            format!("incremental-snapshot-{FULL}-{INCREMENTAL}-{hash}.tar"),
        ];
        let paths = names.map(|name| dir.path().join(name));
        let bytes = [(0, FULL), (1, INCREMENTAL)].map(|(order, slot)| {
            let of = versions.iter().filter(|version| version.1 == order);
            let storages: Vec<_> = of
                .zip(0..)
                .map(|((slot, _, update), id)| {
                    let row = Row {
                        pubkey: update.pubkey,
                        lamports: update.lamports,
                        rent_epoch: update.rent_epoch,
                        owner: update.owner,
                        executable: update.executable,
                        data: update.data.clone(),
                    };
                    (*slot, id, vec![row])
                })
                .collect();
            archive(&Bank::at(slot), &storages)
        });
        let archives = Archives { dir, paths, bytes };
        archives.write(None);
        archives
    }

    /// Writes the archives, both together cut after some bytes.
    fn write(&self, cut: Option<usize>) {
        let mut left = cut.unwrap_or(usize::MAX);
        for (path, bytes) in self.paths.iter().zip(&self.bytes) {
            let count = bytes.len().min(left);
            left -= count;
            fs::write(path, &bytes[..count]).unwrap();
        }
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Reads until an archive is cut, and ends as a killed process does: what was written after the
    /// checkpoint is still there.
    fn be_killed(&self, scope: &Scope) {
        let mut loader = Loader::create(&self.work(), scope, &kept()).unwrap();
        let progress = Arc::new(Progress::default());
        let read = self.paths.iter().zip(0..).try_for_each(|(path, order)| {
            load_archive(&mut loader, path.to_str().unwrap(), order, &progress).map(drop)
        });
        drop(loader);
        if read.is_err() {
            let runs = OpenOptions::new().append(true).open(self.runs());
            runs.unwrap().write_all(&[0xFF; 100]).unwrap();
        }
    }

    fn runs(&self) -> PathBuf {
        self.work().join("accounts")
    }

    fn checkpoint(&self, scope: &Scope) -> Option<Checkpoint> {
        Checkpoints::new(&self.work(), scope, Duration::ZERO).read("accounts")
    }

    /// Reads the rest, and makes the store. Returns how many entries were read for it.
    fn finish(&self, options: &Options) -> u64 {
        let mut loader = Loader::create(&self.work(), &options.scope, &kept()).unwrap();
        let progress = Arc::new(Progress::default());
        for (path, order) in self.paths.iter().zip(0..) {
            load_archive(&mut loader, path.to_str().unwrap(), order, &progress).unwrap();
        }
        let counts = loader.counts();
        let checkpoint = self.checkpoint(&options.scope).unwrap();
        let lengths = checkpoint.spans.iter().map(|span| span.end - span.start);
        assert_eq!(lengths.sum::<u64>(), counts.run_bytes, "sorted once each");
        let store = self.dir.path().join("store");
        loader.finish(&store, options, &BASE, &progress).unwrap();
        progress.read()[1]
    }

    fn assert_holds(&self, options: &Options, versions: &[Version]) {
        let model = expected(&options.scope, versions);
        assert_holds(&self.dir.path().join("store"), options, &model);
    }
}

/// Versions of accounts of 300 bytes: six make a run.
fn plain(count: u64, order: u8, first: u64) -> Vec<Version> {
    let of = |n| account(number(first + n), 1 + n, [8; 32], &[n as u8; 200]);
    let slot = |n| 1 + n % 9 + 20 * u64::from(order);
    (0..count).map(|n| (slot(n), order, of(n))).collect()
}

/// In the order of their archives, which cannot have the end of an account without an address.
fn sorted(mut versions: Vec<Version>) -> Vec<Version> {
    versions.retain(|(_, _, update)| update.lamports > 0 || update.pubkey != [0; 32]);
    versions.sort_by_key(|version| version.1);
    versions
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_load_that_is_killed_at_any_byte_makes_the_same_store(
        scope in scope(),
        versions in vec((1u64..12, 0u8..2, strategy::update()), 0..160),
        cuts in vec(any::<Index>(), 0..4),
    ) {
        let versions = sorted(versions);
        let archives = Archives::of(&versions);
        let options = Options { scope, ..options() };
        for cut in cuts {
            let bytes = archives.bytes.iter().map(Vec::len).sum::<usize>();
            archives.write(Some(cut.index(bytes)));
            archives.be_killed(&options.scope);
        }
        archives.write(None);
        archives.finish(&options);
        archives.assert_holds(&options, &versions);
    }
}

#[test]
fn archives_that_were_read_are_not_opened_again() {
    let versions = sorted([plain(40, 0, 0), plain(40, 1, 20)].concat());
    let archives = Archives::of(&versions);
    let [full, incremental] = archives.bytes.each_ref().map(Vec::len);
    archives.write(Some(full + incremental / 2));
    archives.be_killed(&Scope::All);
    archives.write(None);
    fs::remove_file(&archives.paths[0]).unwrap();
    archives.be_killed(&Scope::All);
    fs::remove_file(&archives.paths[1]).unwrap();
    // A process that was killed while it wrote the store.
    fs::create_dir(archives.work().join("store")).unwrap();
    fs::write(archives.work().join("store/data.mdb"), b"half").unwrap();
    assert_eq!(archives.finish(&options()), 0);
    archives.assert_holds(&options(), &versions);
}

#[test]
fn an_archive_that_was_cut_is_read_again_and_not_sorted_again() {
    let versions = plain(600, 0, 0);
    let archives = Archives::of(&versions);
    archives.write(Some(archives.bytes[0].len() / 2));
    archives.be_killed(&Scope::All);
    let checkpoint = archives.checkpoint(&Scope::All).unwrap();
    assert!(checkpoint.part.is_some());
    assert!(checkpoint.run_bytes() > 30 * RUN_BYTES, "{checkpoint:?}");
    let before = fs::read(archives.runs()).unwrap();
    archives.write(None);
    assert_eq!(archives.finish(&options()), 600);
    let kept = usize::try_from(checkpoint.run_bytes()).unwrap();
    let runs = fs::read(archives.runs()).unwrap();
    assert_eq!(runs[..kept], before[..kept]);
    archives.assert_holds(&options(), &versions);
}

#[test]
fn without_checkpoints_nothing_is_left_of_a_killed_load() {
    let archives = Archives::of(&plain(100, 0, 0));
    archives.be_killed(&Scope::All);
    assert!(archives.checkpoint(&Scope::All).is_some());
    let loader = Loader::create(&archives.work(), &Scope::All, &small()).unwrap();
    assert!(loader.ended_archive(0).is_none());
    let left = fs::read_dir(archives.work()).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn another_archive_under_the_same_name_is_read_from_its_start() {
    let versions = plain(600, 0, 0);
    let others = plain(600, 0, 300);
    let swapped: Vec<Version> = versions.iter().rev().cloned().collect();
    let shorter = versions[..60].to_vec();
    for other in [others, swapped, shorter] {
        let archives = Archives::of(&versions);
        archives.write(Some(archives.bytes[0].len() / 2));
        archives.be_killed(&Scope::All);
        assert!(archives.checkpoint(&Scope::All).unwrap().part.is_some());
        let replacement = Archives::of(&other);
        fs::copy(&replacement.paths[0], &archives.paths[0]).unwrap();
        fs::write(&archives.paths[1], &archives.bytes[1]).unwrap();
        archives.finish(&options());
        archives.assert_holds(&options(), &other);
    }
}

#[test]
fn another_incremental_archive_keeps_what_was_read_before_it() {
    let versions = sorted([plain(100, 0, 0), plain(600, 1, 50)].concat());
    let archives = Archives::of(&versions);
    let cut = archives.bytes[0].len() + archives.bytes[1].len() / 2;
    archives.write(Some(cut));
    archives.be_killed(&Scope::All);
    let ended = archives.checkpoint(&Scope::All).unwrap().ended;
    let newer = Archives::of(&plain(90, 1, 900));
    let name = newer.paths[1].to_str().unwrap();
    let hash = |seed| encode_pubkey(&[seed; 32]);
    let other = PathBuf::from(name.replace(&hash(7), &hash(9)));
    fs::rename(name, &other).unwrap();
    fs::remove_file(&archives.paths[0]).unwrap();
    let mut loader = Loader::create(&archives.work(), &Scope::All, &kept()).unwrap();
    let progress = Arc::new(Progress::default());
    for (path, order) in [&archives.paths[0], &other].into_iter().zip(0..) {
        load_archive(&mut loader, path.to_str().unwrap(), order, &progress).unwrap();
    }
    assert_eq!(loader.counts().versions, 190);
    let checkpoint = archives.checkpoint(&Scope::All).unwrap();
    assert_eq!(checkpoint.ended.archives[0], ended.archives[0]);
    let length = fs::metadata(archives.runs()).unwrap().len();
    assert_eq!(
        length,
        loader.counts().run_bytes,
        "nothing of the older one"
    );
    let store = archives.dir.path().join("store");
    let loaded = loader.finish(&store, &options(), &BASE, &progress).unwrap();
    assert_eq!((loaded.accounts, loaded.superseded), (190, 0));
}

#[test]
fn a_damaged_checkpoint_begins_again() {
    let versions = plain(100, 0, 0);
    type Damage<'d> = (&'d str, &'d dyn Fn(&Archives));
    let damage: [Damage<'_>; 6] = [
        ("flipped", &|of| {
            change(&of.work().join("checkpoint"), |b| b[60] ^= 1)
        }),
        ("cut", &|of| {
            change(&of.work().join("checkpoint"), |b| b.truncate(50))
        }),
        ("empty", &|of| {
            change(&of.work().join("checkpoint"), Vec::clear)
        }),
        ("zeros", &|of| {
            change(&of.work().join("checkpoint"), |b| *b = vec![0; 1 << 20])
        }),
        ("runs cut", &|of| change(&of.runs(), |b| b.truncate(200))),
        ("runs gone", &|of| fs::remove_file(of.runs()).unwrap()),
    ];
    for (name, damage) in damage {
        let archives = Archives::of(&versions);
        archives.be_killed(&Scope::All);
        damage(&archives);
        assert_eq!(archives.checkpoint(&Scope::All), None, "{name}");
        assert_eq!(archives.finish(&options()), 100, "{name}");
        archives.assert_holds(&options(), &versions);
    }
}

#[test]
fn a_checkpoint_of_another_scope_is_not_continued() {
    let archives = Archives::of(&plain(100, 0, 0));
    archives.be_killed(&Scope::All);
    let listed = |programs: Vec<[u8; 32]>, pubkeys| Scope::Listed {
        programs,
        mints: vec![],
        pubkeys,
    };
    for scope in [
        listed(vec![], vec![]),
        listed(vec![[8; 32]], vec![]),
        listed(vec![], vec![[8; 32]]),
    ] {
        assert_eq!(archives.checkpoint(&scope), None, "{scope:?}");
        archives.be_killed(&scope);
        assert!(archives.checkpoint(&scope).is_some(), "{scope:?}");
    }
}

fn change(path: &Path, how: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    how(&mut bytes);
    fs::write(path, bytes).unwrap();
}
