//! Tests of loads against a model of the store, with little memory so that all runs are short.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

use super::{Base, LoadOptions, Loaded, Loader};
use crate::progress::Progress;
use primitives::Pubkey;
use primitives::token::{self, CLOCK_SYSVAR, TOKEN_2022_PROGRAM, TOKEN_PROGRAM, TokenProgram};
use store::testing::naive::Model;
use store::testing::{account, block, hash, mint_data, number, options, strategy, token_data};
use store::{AccountUpdate, Options, Scope, Store};
use sys::error::{Error, Result};

/// A version of an account: slot, source and content.
pub(super) type Version = (u64, u8, AccountUpdate);

pub(super) const BASE: Base = Base {
    slot: 50,
    parent_slot: 48,
    blockhash: [3; 32],
    block_height: 40,
    block_time: Some(7),
    root: 50,
};

pub(super) fn small() -> LoadOptions {
    LoadOptions {
        sort_memory_bytes: 6_000,
        transaction_bytes: 3_000,
        disk_reserve_bytes: 0,
        checkpoint_every: None,
    }
}

pub(super) fn pushed(
    work: &Path,
    scope: &Scope,
    load: &LoadOptions,
    versions: &[Version],
) -> Loader {
    let mut loader = Loader::create(work, scope, load).unwrap();
    for (slot, order, update) in versions {
        let account = update.at(*slot);
        loader.push(*order, &update.pubkey, &account).unwrap();
    }
    loader
}

pub(super) fn load_into(dir: &Path, options: &Options, versions: &[Version]) -> Result<Loaded> {
    let loader = pushed(&dir.join("work"), &options.scope, &small(), versions);
    loader.finish(&dir.join("store"), options, &BASE, &Progress::default())
}

/// The newest versions of what a scope keeps, computed in the simplest way.
pub(super) fn expected(scope: &Scope, versions: &[Version]) -> Model {
    let mut newest: BTreeMap<Pubkey, (u64, u8, usize, &AccountUpdate)> = BTreeMap::new();
    for (position, (slot, order, update)) in versions.iter().enumerate() {
        let version = (*slot, *order, position, update);
        let stored = newest.entry(update.pubkey).or_insert(version);
        if (version.0, version.1, version.2) >= (stored.0, stored.1, stored.2) {
            *stored = version;
        }
    }
    let alive = || newest.values().filter(|version| version.3.lamports > 0);
    let covers =
        |update: &AccountUpdate| scope.covers_account(&update.pubkey, &update.owner, &update.data);
    let needed: Vec<(TokenProgram, Pubkey)> = alive()
        .filter(|version| covers(version.3) && token::is_account(&version.3.data))
        .filter_map(|version| {
            TokenProgram::of(&version.3.owner).zip(token::mint_of(&version.3.data).copied())
        })
        .collect();
    let mut model = Model::default();
    for (slot, _, _, update) in alive() {
        let is_needed = token::is_mint(&update.data)
            && TokenProgram::of(&update.owner)
                .is_some_and(|program| needed.contains(&(program, update.pubkey)));
        if covers(update) || is_needed {
            model
                .accounts
                .insert(update.pubkey, (*slot, (*update).clone()));
        }
    }
    model
}

pub(super) fn assert_holds(dir: &Path, options: &Options, model: &Model) {
    let store = Store::open_writer(dir, options).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    model.assert_in(&store.snapshot().unwrap());
    assert_eq!(store.tip().unwrap(), Some(BASE));
    // The chain continues from its base, on every index.
    let mut next = block(51, vec![account(number(1), 1, TOKEN_PROGRAM, &[0; 165])]);
    (next.parent_slot, next.parent_blockhash) = (BASE.slot, BASE.blockhash);
    assert!(store.apply(&next).unwrap().is_new);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

pub(super) fn scope() -> impl Strategy<Value = Scope> {
    let list = |of: BoxedStrategy<Pubkey>| vec(of, 0..3);
    prop_oneof![
        1 => Just(Scope::All),
        3 => (
            list(strategy::program().boxed()),
            list(strategy::mint().boxed()),
            list(strategy::pubkey().boxed()),
        )
            .prop_map(|(programs, mints, pubkeys)| Scope::Listed { programs, mints, pubkeys }),
    ]
}

/// Runs `count` cases, or `PROPTEST_CASES` if set. Failing cases are saved beside the crate's
/// sources.
pub(super) fn cases(count: u32) -> ProptestConfig {
    match std::env::var("PROPTEST_CASES") {
        // The default reads it.
        Ok(_) => ProptestConfig::default(),
        Err(_) => ProptestConfig::with_cases(count),
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn the_newest_versions_are_loaded(
        scope in scope(),
        versions in vec((1u64..12, 0u8..2, strategy::update()), 0..160),
    ) {
        let dir = TempDir::new().unwrap();
        let options = Options { scope, ..options() };
        let loaded = load_into(dir.path(), &options, &versions).unwrap();
        let model = expected(&options.scope, &versions);
        prop_assert_eq!(loaded.accounts, model.accounts.len() as u64);
        assert_holds(&dir.path().join("store"), &options, &model);
    }

    #[test]
    fn the_order_of_sources_does_not_change_the_store(
        versions in vec((1u64..200, strategy::update()), 1..60),
        indexes in vec(any::<Index>(), 60),
    ) {
        // Slots are unique, so positions do not matter.
        let mut slots = std::collections::BTreeSet::new();
        let versions: Vec<Version> = versions
            .into_iter()
            .filter(|(slot, _)| slots.insert(*slot))
            .map(|(slot, update)| (slot, 0, update))
            .collect();
        let mut shuffled = versions.clone();
        for (i, other) in indexes.iter().enumerate().take(versions.len()) {
            let other = other.index(versions.len());
            shuffled.swap(i, other);
        }
        let dir = TempDir::new().unwrap();
        load_into(dir.path(), &options(), &shuffled).unwrap();
        assert_holds(&dir.path().join("store"), &options(), &expected(&Scope::All, &versions));
    }
}

#[test]
fn an_account_that_left_the_scope_is_not_restored() {
    let scope = Scope::Listed {
        programs: vec![TOKEN_PROGRAM],
        mints: vec![],
        pubkeys: vec![],
    };
    let options = Options { scope, ..options() };
    let stored = account(number(1), 5, TOKEN_PROGRAM, b"stored");
    let left = account(number(1), 5, [9; 32], b"left");
    let closed = account(number(1), 0, [0; 32], b"");
    for newer in [left, closed] {
        for versions in [
            [(7, 0, stored.clone()), (9, 1, newer.clone())],
            [(9, 0, newer.clone()), (7, 1, stored.clone())],
            [(7, 1, newer.clone()), (7, 0, stored.clone())],
        ] {
            let dir = TempDir::new().unwrap();
            let loaded = load_into(dir.path(), &options, &versions).unwrap();
            assert_eq!((loaded.accounts, loaded.superseded), (0, 1));
        }
    }
}

#[test]
fn long_accounts_and_large_programs_and_mints_are_complete() {
    let (mint, program) = (number(70_000), [8; 32]);
    let mut versions: Vec<Version> = (0..300)
        .map(|n| {
            let data = token_data(&mint, &number(n % 7), n * n % 91, 1);
            (n % 40, 0, account(number(n), 1, TOKEN_2022_PROGRAM, &data))
        })
        .collect();
    // Slot 45 alone has more rows than a log keeps.
    versions.extend((0..51_000).map(|n| {
        let slot = if n < 400 { 46 + n % 4 } else { 45 };
        (slot, 0, account(number(1_000 + n), 1, program, &[1; 9]))
    }));
    let long: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
    versions.push((9, 0, account(number(80_000), 3, program, &long)));
    versions.push((9, 0, account(mint, 3, TOKEN_2022_PROGRAM, &mint_data())));
    versions.push((9, 0, account(CLOCK_SYSVAR, 3, program, &[5; 40])));
    let dir = TempDir::new().unwrap();
    load_into(dir.path(), &options(), &versions).unwrap();
    let store_dir = dir.path().join("store");
    assert_holds(&store_dir, &options(), &expected(&Scope::All, &versions));
    let store = Store::open_writer(&store_dir, &options()).unwrap();
    let rows = |wanted: &str| {
        let entries = store.stats().unwrap().entries;
        entries.iter().find(|(name, _)| *name == wanted).unwrap().1
    };
    // 400 of the program, those of Token-2022 after slot 0, and the changes of the block after the
    // base.
    assert_eq!((rows("changed"), rows("holders")), (400 + 293 + 1, 1));
}

#[test]
fn a_dry_run_gives_an_upper_bound_of_the_store_size() {
    let versions: Vec<Version> = (0..20_000)
        .map(|n| {
            let data = token_data(&hash(n % 700), &hash(n % 5_000), n, 1);
            (
                n % 40,
                0,
                account(hash(n ^ 0xABCD_0000), 1, TOKEN_PROGRAM, &data),
            )
        })
        .collect();
    let dir = TempDir::new().unwrap();
    let loaded = load_into(dir.path(), &options(), &versions).unwrap();
    let loader = pushed(&dir.path().join("dry"), &Scope::All, &small(), &versions);
    let counts = loader.counts();
    assert_eq!((counts.versions, counts.kept), (20_000, 20_000));
    let dry = loader.finish_dry(&Progress::default()).unwrap();
    assert_eq!(
        (dry.accounts, dry.data_bytes),
        (loaded.accounts, loaded.data_bytes)
    );
    assert_eq!(dry.run_bytes, loaded.run_bytes);
    assert!(dry.file_bytes >= loaded.file_bytes, "{dry:?} {loaded:?}");
    assert!(
        dry.file_bytes < loaded.file_bytes * 13 / 10,
        "{dry:?} {loaded:?}"
    );
    // Account, three keys and a mint: the size of the rows themselves.
    let raw = loaded.accounts * (32 + 57 + 165 + 64 + 65 + 65 + 32);
    assert!(loaded.file_bytes < raw * 16 / 10, "{loaded:?}, raw {raw}");
}

#[test]
fn a_failed_load_leaves_no_store() {
    let versions: Vec<Version> = (0..20_000)
        .map(|n| (n, 0, account(hash(n), 1, [8; 32], &[1; 200])))
        .collect();
    let narrow = Options {
        map_bytes: 1 << 20,
        ..options()
    };
    let full = Options {
        disk_reserve_bytes: u64::MAX,
        ..options()
    };
    let cases = [(narrow, "storeStopped"), (full, "diskReserve")];
    for (options, name) in cases {
        let dir = TempDir::new().unwrap();
        let error = load_into(dir.path(), &options, &versions).unwrap_err();
        assert_eq!(error.name(), name);
        assert!(!dir.path().join("store").exists());
    }
    let dir = TempDir::new().unwrap();
    let loader = pushed(&dir.path().join("work"), &Scope::All, &small(), &versions);
    let progress = Progress::default();
    progress.cancel();
    let ended = loader.finish(&dir.path().join("store"), &options(), &BASE, &progress);
    assert!(matches!(ended, Err(Error::Cancelled)));
    assert!(!dir.path().join("store").exists());
    let no_space = LoadOptions {
        disk_reserve_bytes: u64::MAX,
        ..small()
    };
    let refused = Loader::create(&dir.path().join("work"), &Scope::All, &no_space);
    assert!(matches!(refused.err(), Some(Error::DiskReserve(_))));
}

#[test]
fn an_existing_store_is_not_replaced() {
    let dir = TempDir::new().unwrap();
    let one = |n| vec![(1, 0, account(number(n), 1, [8; 32], b"one"))];
    load_into(dir.path(), &options(), &one(1)).unwrap();
    let error = load_into(dir.path(), &options(), &one(2)).unwrap_err();
    assert!(error.detail().contains("cannot be called"), "{error}");
    let store = dir.path().join("store");
    assert_holds(&store, &options(), &expected(&Scope::All, &one(1)));
}

#[test]
fn accounts_with_another_sum_than_their_bank_are_refused() {
    let versions: Vec<Version> = vec![
        (1, 0, account(number(1), 10, [8; 32], b"one")),
        (2, 0, account(number(1), 7, [8; 32], b"one")),
        (1, 0, account(number(2), 5, [8; 32], b"two")),
        (2, 0, account(number(3), 0, [8; 32], b"")),
    ];
    let listed = Scope::Listed {
        programs: vec![[8; 32]],
        mints: vec![],
        pubkeys: vec![],
    };
    // 0 means unknown. The sum of a bank does not apply to a scope.
    for (scope, said, is_sound) in [
        (Scope::All, 12, true),
        (Scope::All, 0, true),
        (Scope::All, 11, false),
        (Scope::All, 22, false),
        (listed, 11, true),
    ] {
        let dir = TempDir::new().unwrap();
        let options = Options {
            scope: scope.clone(),
            ..options()
        };
        let progress = Progress::default();
        let loader = || {
            let work = dir.path().join("work");
            let mut loader = pushed(&work, &scope, &small(), &versions);
            loader.expect_lamports(said);
            loader
        };
        let dry = loader().finish_dry(&progress);
        let store = dir.path().join("store");
        let made = loader().finish(&store, &options, &BASE, &progress);
        assert_eq!(store.exists(), is_sound, "{scope:?} {said}");
        for answer in [dry, made] {
            match answer {
                Ok(loaded) => assert!(is_sound && loaded.lamports == 12, "{scope:?} {said}"),
                Err(error) => assert_eq!(
                    (error.detail(), is_sound),
                    (
                        format!("its accounts hold 12 lamports together, and its bank says {said}"),
                        false
                    )
                ),
            }
        }
    }
}
