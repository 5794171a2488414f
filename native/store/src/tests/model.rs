//! Tests on random blocks: the store equals a map, its indexes a recomputation, and its pages a
//! scan, with every plan.

use proptest::collection::vec;
use proptest::prelude::*;

use super::history::feed;
use super::{account, assert_sound, block, long_budget, open, options};
use crate::indexes::programs;
use crate::pages::plan::{ScanPlan, candidates};
use crate::testing::naive::{Model, end_of};
use crate::testing::strategy::{blocks, mint, program_query, pubkey, wallet};
use crate::{
    AccountUpdate, Changed, Options, OwnerFilter, OwnerQuery, PageEnd, ProgramQuery, Snapshot,
    Store,
};
use primitives::Pubkey;
use primitives::token::TokenProgram;

fn apply_all(store: &Store, blocks: &[Vec<AccountUpdate>]) -> Model {
    let mut model = Model::default();
    for (slot, updates) in (1..).zip(blocks) {
        let applied = store.apply(&block(slot, updates.clone())).unwrap();
        assert!(applied.is_new && applied.out_of_scope == 0);
        model.apply(slot, updates);
    }
    model
}

fn page_by(
    snapshot: &Snapshot<'_>,
    plan: &ScanPlan,
    query: &ProgramQuery,
) -> (Vec<Pubkey>, PageEnd) {
    let mut rows = Vec::new();
    let visit = &mut |key: &Pubkey, _: crate::AccountRef<'_>| {
        rows.push(*key);
        Ok(())
    };
    let end = snapshot
        .program_page_by(plan, query, &mut long_budget(), visit)
        .unwrap();
    (rows, end)
}

/// Every plan that is valid for a query.
fn plans(snapshot: &Snapshot<'_>, query: &ProgramQuery) -> Vec<ScanPlan> {
    let mut plans = candidates(query);
    plans.extend([
        ScanPlan::ByProgram,
        ScanPlan::Walk,
        snapshot.plan(query).unwrap(),
    ]);
    let row = programs::read(snapshot.tables(), &snapshot.txn, &query.program).unwrap();
    let watched = &snapshot.store.options().changed;
    plans.extend(
        query
            .changed_since
            .filter(|since| *since >= row.changed_floor && watched.covers(&query.program))
            .map(|since| ScanPlan::Changed { since }),
    );
    plans
}

fn assert_pages(snapshot: &Snapshot<'_>, model: &Model, queries: &[ProgramQuery]) {
    for query in queries {
        let expected = end_of(&model.program(query), query.limit);
        for plan in plans(snapshot, query) {
            assert_eq!(
                page_by(snapshot, &plan, query),
                expected,
                "{plan:?} of {query:?}"
            );
        }
    }
}

fn assert_owner_pages(snapshot: &Snapshot<'_>, model: &Model, queries: &[OwnerQuery]) {
    for query in queries {
        let mut rows = Vec::new();
        let visit = &mut |key: &Pubkey, _: crate::AccountRef<'_>| {
            rows.push(*key);
            Ok(())
        };
        let end = snapshot
            .owner_page(query, &mut long_budget(), visit)
            .unwrap();
        assert_eq!(
            (rows, end),
            end_of(&model.owner(query), query.limit),
            "{query:?}"
        );
    }
}

fn owner_query() -> impl Strategy<Value = OwnerQuery> {
    let filter = prop_oneof![
        mint().prop_map(OwnerFilter::Mint),
        Just(OwnerFilter::Program(TokenProgram::Token)),
        Just(OwnerFilter::Program(TokenProgram::Token2022)),
    ];
    (wallet(), filter, 1usize..8, proptest::option::of(pubkey())).prop_map(
        |(wallet, filter, limit, after)| OwnerQuery {
            wallet,
            filter,
            limit,
            after,
        },
    )
}

fn watched() -> impl Strategy<Value = Changed> {
    prop_oneof![
        4 => Just(Changed::All),
        1 => Just(Changed::None),
        1 => Just(Changed::Programs(vec![*TokenProgram::Token.id()])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_store_equals_the_model(
        blocks in blocks(),
        changed in watched(),
        queries in vec(program_query(), 24),
        owner_queries in vec(owner_query(), 12),
    ) {
        let temporary = open(&Options { changed, ..options() });
        let model = apply_all(&temporary.store, &blocks);
        assert_sound(&temporary.store);
        let snapshot = temporary.store.snapshot().unwrap();
        model.assert_in(&snapshot);
        assert_pages(&snapshot, &model, &queries);
        assert_owner_pages(&snapshot, &model, &owner_queries);
        for key in model.accounts.keys() {
            for program in TokenProgram::ALL {
                let largest = snapshot.holders(program, key, 20).unwrap().unwrap();
                prop_assert_eq!(largest, model.holders(program, key));
            }
        }
    }

    #[test]
    fn many_blocks_in_one_transaction_give_the_same_store(blocks in blocks(), known in 0usize..4) {
        let (one, many) = (open(&options()), open(&options()));
        let model = apply_all(&one.store, &blocks);
        // Blocks already applied are skipped.
        let numbered = (1..).zip(&blocks);
        let all: Vec<_> = numbered.map(|(slot, updates)| block(slot, updates.clone())).collect();
        many.store.apply_all(&all[..known.min(all.len())]).unwrap();
        many.store.apply_all(&all).unwrap();
        assert_sound(&many.store);
        model.assert_in(&many.store.snapshot().unwrap());
        prop_assert_eq!(one.store.tip().unwrap(), many.store.tip().unwrap());
        // If an account is written twice in one transaction, `changed` gets only the later row, so
        // it may reach further back.
        let entries = [&one, &many].map(|of| {
            let mut entries = of.store.stats().unwrap().entries;
            entries.retain(|(table, _)| *table != "changed");
            entries
        });
        prop_assert_eq!(&entries[0], &entries[1]);
        // The changes of each slot are equal, even if a later slot changed an account again.
        for slot in 1..=blocks.len() as u64 {
            let [of_one, of_many] = [&one, &many].map(|of| feed(&of.store, slot));
            prop_assert_eq!(of_one, of_many);
        }
    }

    #[test]
    fn joined_pages_equal_one_scan(blocks in blocks(), query in program_query()) {
        let temporary = open(&options());
        let model = apply_all(&temporary.store, &blocks);
        let snapshot = temporary.store.snapshot().unwrap();
        let (mut joined, mut next) = (Vec::new(), ProgramQuery { after: None, ..query.clone() });
        loop {
            let (rows, end) = page_by(&snapshot, &snapshot.plan(&next).unwrap(), &next);
            joined.extend(rows);
            match end.last {
                Some(last) => next.after = Some(last),
                None => break,
            }
        }
        prop_assert_eq!(joined, model.program(&ProgramQuery { after: None, ..query }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn accounts_grow_and_shrink(
        lengths in vec(
            prop_oneof![0usize..5_000, 0usize..300_000, 10_000_000usize..=10_485_760],
            2..6,
        ),
    ) {
        let temporary = open(&options());
        let mut model = Model::default();
        for (slot, length) in (1..).zip(lengths) {
            let data: Vec<u8> = (0..length).map(|i| (i as u8) ^ (slot as u8)).collect();
            let beside = account([2; 32], slot, [9; 32], b"beside");
            let updates = [account([1; 32], 1, [9; 32], &data), beside];
            temporary.store.apply(&block(slot, updates.to_vec())).unwrap();
            model.apply(slot, &updates);
            model.assert_in(&temporary.store.snapshot().unwrap());
        }
        assert_sound(&temporary.store);
    }
}
