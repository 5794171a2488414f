//! Random chains, subscriptions and chunk sizes: the frames equal those of plain loops.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::naive::Naive;
use super::*;
use crate::{LogsOf, TransactionFilter};
use store::testing::strategy::{filter, program, pubkey, update};
use wire::account_json::DataSlice;
use wire::transaction_json::{self, Details, Shape, TransactionView};

#[derive(Debug, Clone)]
enum Step {
    Add(Interest),
    /// Removes one of the subscriptions ever added.
    Remove(prop::sample::Index),
    Block {
        accounts: Vec<AccountUpdate>,
        transactions: Vec<(Option<bool>, Option<TransactionDetails>)>,
        root: Option<u64>,
    },
    Pass,
}

fn view() -> impl Strategy<Value = View> {
    let slice = option::of((0u64..60, 0u64..200));
    (prop::sample::select(&Encoding::ALL[..]), slice).prop_map(|(encoding, slice)| View {
        encoding,
        slice: slice.map(|(offset, length)| DataSlice { offset, length }),
    })
}

fn interest() -> impl Strategy<Value = Interest> {
    let logs = prop_oneof![
        Just(LogsOf::All),
        Just(LogsOf::AllWithVotes),
        pubkey().prop_map(LogsOf::Mentions),
    ];
    let signature = (0u8..12, any::<bool>(), any::<bool>());
    prop_oneof![
        4 => (pubkey(), view()).prop_map(|(pubkey, view)| Interest::Account { pubkey, view }),
        6 => (program(), vec(filter(), 0..4), view()).prop_map(|(program, filters, view)| {
            let filters = Arc::from(filters);
            Interest::Program { program, filters, view }
        }),
        3 => logs.prop_map(Interest::Logs),
        6 => transactions(),
        4 => signature.prop_map(|(n, is_finalized, wants_received)| Interest::Signature {
            signature: signature_of(n),
            is_finalized,
            wants_received,
        }),
        1 => Just(Interest::Slot),
        1 => Just(Interest::Root),
    ]
}

fn transactions() -> impl Strategy<Value = Interest> {
    let keys = || prop::collection::btree_set(pubkey(), 0..4);
    let flag = || option::weighted(0.3, any::<bool>());
    let signature = option::weighted(0.2, (0u8..12).prop_map(signature_of));
    let lists = (keys(), keys(), keys());
    (flag(), flag(), signature, lists, any::<bool>()).prop_map(
        |(is_vote, is_failed, signature, (include, exclude, required), is_named)| {
            let filter = Arc::new(TransactionFilter {
                is_vote,
                is_failed,
                signature,
                include: include.into_iter().collect(),
                exclude: exclude.into_iter().collect(),
                required: required.into_iter().collect(),
            });
            // What it shows of a transaction is tested where that is written.
            let view = TransactionView {
                details: Details::Signatures,
                encoding: transaction_json::Encoding::Base64,
                shows_rewards: false,
                version_max: None,
                shape: if is_named {
                    Shape::Named
                } else {
                    Shape::Positional
                },
            };
            Interest::Transactions { filter, view }
        },
    )
}

fn signature_of(n: u8) -> [u8; 64] {
    super::signature(n)
}

fn details() -> impl Strategy<Value = TransactionDetails> {
    let keys = prop::collection::btree_set(pubkey(), 0..5);
    (
        any::<bool>(),
        keys,
        vec("[a-z\" \\\\\u{0}-\u{1F}é]{0,40}", 0..4),
    )
        .prop_map(|(is_vote, keys, logs)| TransactionDetails {
            is_vote,
            keys: keys.into_iter().collect(),
            logs,
            ..TransactionDetails::default()
        })
}

fn step() -> impl Strategy<Value = Step> {
    let transaction = (option::of(any::<bool>()), option::of(details()));
    prop_oneof![
        5 => interest().prop_map(Step::Add),
        1 => any::<prop::sample::Index>().prop_map(Step::Remove),
        3 => (vec(update(), 0..12), vec(transaction, 0..3), option::of(0u64..20)).prop_map(
            |(accounts, transactions, root)| Step::Block { accounts, transactions, root }
        ),
        2 => Just(Step::Pass),
    ]
}

/// Each signature is in one block only, as on the chain.
fn to_block(slot: u64, next: &mut u8, step: &Step) -> Block {
    let Step::Block {
        accounts,
        transactions,
        root,
    } = step
    else {
        panic!("no block: {step:?}");
    };
    let transactions = transactions.iter().map(|(error, details)| {
        let signature = signature_of(*next);
        *next = next.saturating_add(1);
        TransactionUpdate {
            signature,
            index: 0,
            error: error.map(|is_first| vec![u8::from(is_first), 0, 0, 0]),
            details: details.clone(),
        }
    });
    Block {
        transactions: transactions.collect(),
        root: *root,
        ..block(slot, accounts.clone())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn frames_equal_the_reference(
        steps in vec(step(), 1..60),
        chunk in prop_oneof![Just(1usize), 1usize..3_000, Just(1 << 20)],
    ) {
        let bench = Bench::with(chunk, &options());
        let mut naive = Naive::default();
        let (mut slot, mut next_signature, mut next_id) = (0, 0, 1);
        for step in steps.iter().chain([&Step::Pass]) {
            match step {
                Step::Add(interest) => {
                    bench.add(next_id, interest.clone());
                    naive.add(next_id, interest.clone());
                    next_id += 1;
                }
                Step::Remove(index) if next_id > 1 => {
                    let id = 1 + index.index(next_id as usize - 1) as u32;
                    bench.fanout.remove(id);
                    naive.remove(id);
                }
                Step::Remove(_) => {}
                Step::Block { .. } => {
                    slot += 1;
                    let block = to_block(slot, &mut next_signature, step);
                    bench.apply(&block);
                    naive.apply(&block);
                }
                Step::Pass => {
                    let expected = naive.pass(&bench.temporary.store.snapshot().unwrap());
                    let sent = bench.frames().into_iter().map(|(id, flags, text)| {
                        (id, flags, serde_json::from_str::<Value>(&text).unwrap())
                    });
                    prop_assert_eq!(sent.collect::<Vec<_>>(), expected);
                }
            }
        }
    }
}
