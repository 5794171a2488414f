//! Tests of copies that are made while blocks are applied: each equals the store, row by row.

mod bounds;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;

use super::{TOKEN_PROGRAM, account, assert_sound, block, hash, number, open, options, token_data};
use crate::copy::bounds::Bounds;
use crate::row_codec::{PackedRow, PackedRows};
use crate::tables::TABLES;
use crate::testing::strategy::{program, update};
use crate::{
    AccountUpdate, Block, Changed, Options, Scope, Store, TransactionCost, TransactionDetails,
    TransactionUpdate,
};
use primitives::Pubkey;

const MINT: Pubkey = [0xAA; 32];
/// Beyond it nothing is applied, so that a copy of one row in a step comes to its end.
const BUSY_STEPS: usize = 300;

/// Steps of so many bytes, however long they take.
fn steps_of(bytes: usize) -> Bounds {
    Bounds {
        bytes,
        time: Duration::from_secs(600),
        accounts: 1_000_000,
    }
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Every row of every table.
fn rows_of(store: &Store) -> Vec<(&'static str, Rows)> {
    let snapshot = store.snapshot().unwrap();
    let tables = TABLES.iter().zip(snapshot.tables().each());
    let rows = tables.map(|(table, db)| {
        let rows = db.iter(&snapshot.txn).unwrap().map(|row| {
            let (key, value) = row.unwrap();
            (key.to_vec(), value.to_vec())
        });
        (table.name, rows.collect())
    });
    rows.collect()
}

fn assert_equal(copy: &Path, store: &Store) {
    let copy = Store::open_reader(copy, store.options()).unwrap();
    for ((table, copied), (_, stored)) in rows_of(&copy).into_iter().zip(rows_of(store)) {
        let missing: Vec<_> = stored.iter().filter(|row| !copied.contains(row)).collect();
        let wrong: Vec<_> = copied.iter().filter(|row| !stored.contains(row)).collect();
        assert!(
            copied == stored,
            "{table}: lacks {missing:?}, has {wrong:?}"
        );
    }
    assert_eq!(copy.tip().unwrap(), store.tip().unwrap());
}

/// What happens between two steps.
#[derive(Debug, Clone)]
struct Between {
    blocks: Vec<Vec<AccountUpdate>>,
    /// The slots up to each of them, skipped ones included.
    slots: u64,
    transactions: u8,
    has_details: bool,
    /// Whether the blocks share a commit.
    together: bool,
    is_complete: bool,
    /// What a sweep has read, which the next block corrects.
    correction: Option<AccountUpdate>,
}

fn between() -> impl Strategy<Value = Between> {
    (
        vec(vec(update(), 0..6), 0..3),
        1u64..40,
        0u8..4,
        prop::bool::weighted(0.9),
        any::<bool>(),
        any::<bool>(),
        prop::option::weighted(0.2, update()),
    )
        .prop_map(
            |(blocks, slots, transactions, has_details, together, is_complete, correction)| {
                Between {
                    blocks,
                    slots,
                    transactions,
                    has_details,
                    together,
                    is_complete,
                    correction,
                }
            },
        )
}

fn transaction(slot: u64, n: u8) -> TransactionUpdate {
    TransactionUpdate {
        // The same ones again and again.
        signature: [n.wrapping_mul(slot as u8) % 9; 64],
        index: u32::from(n),
        error: (n == 1).then(|| vec![8, 0, 0, 0]),
        details: Some(TransactionDetails {
            keys: vec![[n; 32]; 40],
            cost: Box::new(TransactionCost {
                price: Some(slot),
                writable: (0..40).collect(),
                gains: vec![(0, slot)],
            }),
            ..TransactionDetails::default()
        }),
    }
}

/// The block after the tip.
fn next_block(tip: u64, slots: u64, accounts: Vec<AccountUpdate>) -> Block {
    let slot = tip + slots;
    Block {
        parent_slot: tip,
        parent_blockhash: hash(tip),
        ..block(slot, accounts)
    }
}

impl Between {
    fn happen(&self, store: &Store) {
        let mut tip = store.tip().unwrap().map_or(0, |tip| tip.slot);
        if let Some(update) = &self.correction {
            let (mut rows, account) = (Vec::new(), update.at(tip));
            let pubkey = &update.pubkey;
            PackedRow { pubkey, account }.write(&mut rows);
            store.compare(PackedRows::new(&rows), 1 << 20).unwrap();
        }
        let mut blocks = Vec::new();
        for accounts in &self.blocks {
            let mut next = next_block(tip, self.slots, accounts.clone());
            tip = next.slot;
            next.transactions = (0..self.transactions)
                .map(|n| transaction(tip, n))
                .collect();
            next.has_details = self.has_details;
            blocks.push(next);
        }
        if self.together {
            store.apply_all(&blocks).unwrap();
        } else {
            for block in &blocks {
                store.apply(block).unwrap();
            }
        }
        store.refill_holders(Instant::now()).unwrap();
        store.set_complete(self.is_complete).unwrap();
    }
}

fn changed() -> impl Strategy<Value = Changed> {
    prop_oneof![
        3 => Just(Changed::All),
        1 => Just(Changed::None),
        1 => program().prop_map(|program| Changed::Programs(vec![program])),
    ]
}

fn scope() -> impl Strategy<Value = Scope> {
    let listed = (
        program(),
        super::strategy::mint(),
        super::strategy::pubkey(),
    );
    prop_oneof![
        2 => Just(Scope::All),
        1 => listed.prop_map(|(program, mint, pubkey)| Scope::Listed {
            programs: vec![program],
            mints: vec![mint],
            pubkeys: vec![pubkey],
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_copy_during_blocks_equals_the_store_row_by_row(
        first in vec(between(), 1..8),
        events in vec(between(), 1..20),
        bytes in prop_oneof![3 => Just(1usize), 1 => 1usize..3_000],
        changed in changed(),
        scope in scope(),
    ) {
        let options = Options { changed, scope, signature_slots_max: 60, ..options() };
        let temporary = open(&options);
        let store = &temporary.store;
        first.iter().for_each(|event| event.happen(store));
        let dir = tempfile::tempdir().unwrap();
        let mut count = 0;
        store
            .copy_by(dir.path(), steps_of(bytes), &mut || {
                if count < BUSY_STEPS {
                    events[count % events.len()].happen(store);
                }
                count += 1;
            })
            .unwrap();
        assert_equal(dir.path(), store);
        assert_sound(&Store::open_writer(dir.path(), &options).unwrap());
    }
}

/// A change of one holder of the mint: a new balance, or a close.
fn holder((n, amount): (u64, Option<u64>)) -> AccountUpdate {
    let data = token_data(&MINT, &[0xBB; 32], amount.unwrap_or(0), 1);
    account(number(n), u64::from(amount.is_some()), TOKEN_PROGRAM, &data)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// More holders than a row has, which leave it, and rows that are refilled without a change.
    #[test]
    fn rows_of_holders_are_followed_through_their_refills(
        events in vec((vec((0u64..260, prop::option::weighted(0.4, 0u64..900)), 0..90), 0usize..3), 1..12),
        bytes in 1usize..4_000,
    ) {
        let temporary = open(&options());
        let store = &temporary.store;
        store.apply(&block(1, (0..260).map(|n| holder((n, Some(n)))).collect())).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut count = 0;
        store
            .copy_by(dir.path(), steps_of(bytes), &mut || {
                if count < BUSY_STEPS {
                    let (changes, refills) = &events[count % events.len()];
                    let changes = changes.iter().copied().map(holder).collect();
                    let tip = store.tip().unwrap().unwrap().slot;
                    store.apply(&next_block(tip, 1, changes)).unwrap();
                    for slot in 0..*refills as u64 {
                        store.refill_holders(Instant::now() + Duration::from_secs(60)).unwrap();
                        store.apply(&next_block(tip + 1 + slot, 1, Vec::new())).unwrap();
                    }
                }
                count += 1;
            })
            .unwrap();
        assert_equal(dir.path(), store);
    }
}

/// Applies `first` after one step and `then` after the next, whichever they are, and compares each
/// copy.
fn at_every_step(first: &dyn Fn(&Store), then: &dyn Fn(&Store)) {
    let mut step = 0;
    loop {
        let temporary = open(&options());
        let store = &temporary.store;
        let holders = (0..200).map(|n| holder((n, Some(n))));
        store.apply(&block(1, holders.collect())).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut count = 0;
        store
            .copy_by(dir.path(), steps_of(2_000), &mut || {
                if count == step {
                    first(store);
                } else if count == step + 1 {
                    then(store);
                }
                count += 1;
            })
            .unwrap();
        assert_equal(dir.path(), store);
        if count < step {
            break;
        }
        step += 1;
    }
    assert!(step > 30, "{step} steps");
}

#[test]
fn a_row_that_is_refilled_without_a_change_is_followed() {
    // Of a hundred in the row, fewer than sixty stay.
    let close = |store: &Store| {
        let closed = (150..200).map(|n| holder((n, None)));
        store.apply(&block(2, closed.collect())).unwrap();
    };
    let refill = |store: &Store| {
        let deadline = Instant::now() + Duration::from_secs(60);
        store.refill_holders(deadline).unwrap();
        store.apply(&block(3, Vec::new())).unwrap();
    };
    at_every_step(&close, &refill);
}

#[test]
fn an_account_that_was_a_holder_between_two_steps_is_followed() {
    let come_and_go = |store: &Store| {
        // The row ends without its smallest entry.
        store
            .apply(&block(2, vec![holder((900, Some(9_000)))]))
            .unwrap();
        store.apply(&block(3, vec![holder((900, None))])).unwrap();
    };
    at_every_step(&come_and_go, &|_| ());
}

/// Steps of a copy that each wait for a commit.
const FOLLOWED: u64 = 20;

/// The changes of a slot of a busy store, equal in each call.
fn busy_block(slot: u64) -> Block {
    let one = |n: u64| {
        let id = n.wrapping_mul(slot * 7 + 3) % 1_500;
        let data = token_data(&number(id % 9), &number(n % 5), n ^ slot, 1);
        account(number(id), (n + slot) % 6, TOKEN_PROGRAM, &data)
    };
    Block {
        transactions: (0..6).map(|n| transaction(slot, n)).collect(),
        has_details: true,
        ..block(slot, (0..60).map(one).collect())
    }
}

#[test]
fn a_copy_beside_a_thread_that_writes_equals_a_store_of_its_slot() {
    let (temporary, same) = (open(&options()), open(&options()));
    let store = &temporary.store;
    let apply = |store: &Store, slot| store.apply(&busy_block(slot)).map(drop).unwrap();
    (1..=40).for_each(|slot| apply(store, slot));
    let is_over = AtomicBool::new(false);
    let dirs: Vec<_> = (0..5).map(|_| tempfile::tempdir().unwrap()).collect();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let slots = (41..).take_while(|_| !is_over.load(Ordering::Relaxed));
            slots.for_each(|slot| apply(store, slot));
        });
        let copy = |dir: &tempfile::TempDir| {
            let mut steps = 0;
            store.copy_by(dir.path(), steps_of(3_000), &mut || {
                steps += 1;
                let seen = store.last_commit();
                while steps <= FOLLOWED && store.last_commit() == seen && !writer.is_finished() {
                    std::thread::yield_now();
                }
            })
        };
        let copied: Vec<_> = dirs.iter().map(copy).collect();
        is_over.store(true, Ordering::Relaxed);
        copied.into_iter().for_each(|copied| copied.unwrap());
    });
    (1..=40).for_each(|slot| apply(&same.store, slot));
    let mut slot = 40;
    for dir in &dirs {
        let copy = Store::open_reader(dir.path(), &options()).unwrap();
        let of = copy.tip().unwrap().unwrap().slot;
        drop(copy);
        assert!(of >= slot + FOLLOWED, "slot {of} after {slot}");
        (slot + 1..=of).for_each(|slot| apply(&same.store, slot));
        slot = of;
        assert_equal(dir.path(), &same.store);
    }
}
