//! Tests of updates of a store's copy, and of killed loads.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::tests::{BASE, Version, assert_holds, cases, expected, load_into, pushed, small};
use super::{Base, Loaded};
use crate::progress::Progress;
use primitives::token::TOKEN_PROGRAM;
use store::testing::{account, mint_data, number, options, strategy, token_data};
use store::{Options, Scope, Store};
use sys::error::Result;

const OLD: Base = Base {
    slot: 10,
    parent_slot: 9,
    root: 10,
    ..BASE
};

/// Builds a store of the first versions and updates it with the others.
fn updated(
    dir: &Path,
    options: &Options,
    before: &[Version],
    after: &[Version],
    from_slot: u64,
) -> Result<Loaded> {
    let load = |name: &str, versions| pushed(&dir.join(name), &options.scope, &small(), versions);
    let progress = Progress::default();
    let copy = dir.join("copy");
    load("first", before).finish(&copy, options, &OLD, &progress)?;
    let base = (from_slot, &BASE);
    load("second", after).update(&copy, &dir.join("store"), options, base, &progress)
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn an_updated_copy_has_all_changes(
        programs in prop::option::of(vec(strategy::program(), 1..3)),
        before in vec((1u64..=10, strategy::update()), 0..80),
        after in vec((9u64..20, strategy::update()), 0..80),
    ) {
        let scope = programs.map_or(Scope::All, |programs| Scope::Listed {
            programs,
            mints: vec![],
            pubkeys: vec![],
        });
        let options = Options { scope, ..options() };
        let of = |order, versions: Vec<_>| -> Vec<Version> {
            let versions = versions.into_iter();
            versions.map(|(slot, update)| (slot, order, update)).collect()
        };
        // An archive of the changes after slot 8 holds all of them, including closed accounts.
        let again = before.iter().filter(|(slot, _)| *slot > 8).cloned();
        let after = again.chain(after).collect();
        let (before, after) = (of(0, before), of(1, after));
        let dir = TempDir::new().unwrap();
        updated(dir.path(), &options, &before, &after, 8).unwrap();
        let model = expected(&options.scope, &[before, after].concat());
        assert_holds(&dir.path().join("store"), &options, &model);
    }
}

#[test]
fn a_known_slot_may_have_other_content() {
    let program = [80; 32];
    let before = vec![(10, 0, account(number(1), 1, program, &[]))];
    let after = vec![
        (10, 1, account(number(1), 1, program, &[0; 4])),
        (11, 1, account(number(2), 1, program, &[])),
    ];
    let dir = TempDir::new().unwrap();
    updated(dir.path(), &options(), &before, &after, 8).unwrap();
    let model = expected(&Scope::All, &[before, after].concat());
    assert_holds(&dir.path().join("store"), &options(), &model);
}

#[test]
fn a_mint_outside_the_scope_is_kept_up_to_date_with_its_accounts() {
    let scope = Scope::Listed {
        programs: vec![],
        mints: vec![],
        pubkeys: vec![number(1)],
    };
    let options = Options { scope, ..options() };
    let holder = account(
        number(1),
        1,
        TOKEN_PROGRAM,
        &token_data(&number(2), &number(3), 5, 1),
    );
    let mint = |lamports| account(number(2), lamports, TOKEN_PROGRAM, &mint_data());
    let before = [(5, 0, holder), (5, 0, mint(1))];
    let after = [
        (15, 1, mint(7)),
        (15, 1, account(number(4), 1, TOKEN_PROGRAM, &mint_data())),
    ];
    let dir = TempDir::new().unwrap();
    let loaded = updated(dir.path(), &options, &before, &after, 10).unwrap();
    assert_eq!(loaded.accounts, 1);
    let model = expected(&options.scope, &[&before[..], &after[..]].concat());
    assert_eq!(model.accounts.len(), 2);
    assert_holds(&dir.path().join("store"), &options, &model);
}

#[test]
fn an_update_that_does_not_continue_the_store_is_refused() {
    let one: Vec<Version> = vec![(11, 1, account(number(1), 1, [8; 32], b"one"))];
    let dir = TempDir::new().unwrap();
    let error = updated(dir.path(), &options(), &[], &one, 11).unwrap_err();
    assert!(error.detail().contains("does not continue"), "{error}");
    assert!(!dir.path().join("store").exists());
}

const CHILD: &str = "SLOTLINE_TEST_LOAD";

/// The versions of a load, equal in both processes.
fn many() -> Vec<Version> {
    let one = |n: u64| {
        let data = token_data(&number(n % 50), &number(n % 900), n, 1);
        let pubkey = number(n.wrapping_mul(7_919) % 9_000);
        (n % 30, 0, account(pubkey, n % 6, TOKEN_PROGRAM, &data))
    };
    (0..20_000).map(one).collect()
}

/// Not a separate test: the load that the test below kills.
#[test]
fn loading() {
    let Some(dir) = std::env::var_os(CHILD) else {
        return;
    };
    load_into(&PathBuf::from(dir), &options(), &many()).unwrap();
}

#[test]
fn a_killed_load_leaves_a_whole_store_or_none() {
    let is_soak = std::env::var_os("SLOTLINE_SOAK").is_some_and(|value| value == "full");
    let rounds: u64 = if is_soak { 200 } else { 6 };
    let versions = many();
    let model = expected(&Scope::All, &versions);
    let start = Instant::now();
    let dir = TempDir::new().unwrap();
    load_into(dir.path(), &options(), &versions).unwrap();
    let whole = start.elapsed().as_micros() as u64;
    for round in 0..rounds {
        // Some kills come after the load's end, so that complete stores occur too.
        let micros = whole * 5 / 4 * (round + 1) / rounds;
        let dir = TempDir::new().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "load::update_tests::loading"])
            .env(CHILD, dir.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(micros));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = dir.path().join("store");
        if !store.exists() {
            // The remains of the killed load do not block a new one.
            load_into(dir.path(), &options(), &versions).unwrap();
        }
        assert_holds(&store, &options(), &model);
        let left = std::fs::read_dir(dir.path().join("work")).unwrap();
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn subscribers_cannot_continue_over_a_gap() {
    let one: Vec<Version> = vec![(11, 1, account(number(1), 1, [8; 32], b"one"))];
    let dir = TempDir::new().unwrap();
    updated(dir.path(), &options(), &one, &one, 10).unwrap();
    let store = Store::open_writer(&dir.path().join("store"), &options()).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.block(OLD.slot).unwrap(), None);
    assert_eq!(snapshot.feed_oldest_slot().unwrap(), None);
}

#[test]
fn a_store_of_another_fork_is_not_updated() {
    let one: Vec<Version> = vec![(11, 1, account(number(1), 1, [8; 32], b"one"))];
    let update = |recent: Vec<[u8; 32]>, known: Option<[u8; 32]>| {
        let dir = TempDir::new().unwrap();
        let (copy, store) = (dir.path().join("copy"), dir.path().join("store"));
        let load = |name: &str| pushed(&dir.path().join(name), &Scope::All, &small(), &one);
        let progress = Progress::default();
        load("first")
            .finish(&copy, &options(), &OLD, &progress)
            .unwrap();
        let mut second = load("second");
        second.expect_tip_in(recent);
        known.into_iter().for_each(|hash| second.accept_tip(hash));
        second.update(&copy, &store, &options(), (10, &BASE), &progress)
    };
    let update_among = |recent| update(recent, None);
    let update_knowing = |recent, known| update(recent, Some(known));
    let error = update_among(vec![number(1), number(2)]).unwrap_err();
    let reason = "the store ends with slot 10, which is not among the last 2 blocks";
    assert!(error.detail().contains(reason), "{error}");
    update_among(vec![number(1), OLD.blockhash]).unwrap();
    update_knowing(vec![number(1)], number(2)).unwrap_err();
    update_knowing(vec![number(1)], OLD.blockhash).unwrap();
}
