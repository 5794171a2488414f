//! What is passed through: batches of a source's updates, their queue, and what is asked of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use ingest::geyser::Kinds;
use proptest::prelude::*;
use tonic::Code;
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::subscribe_update_deshred::UpdateOneof as DeshredOneof;
use yellowstone_grpc_proto::geyser::*;
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::prost_types::Timestamp;
use yellowstone_grpc_proto::solana::storage::confirmed_block::{
    Message as TransactionMessage, Transaction, TransactionStatusMeta,
};

use crate::filter::Filters;
use crate::filter::Served;
use crate::filter::transactions::Kept;
use crate::source::{BYTES_MAX, Batches, Call, Deshred, End, Hub, Passing, Processed};

const ALL: Kinds = Kinds {
    accounts: true,
    transactions: true,
    blocks_meta: true,
};

fn stamp(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp { seconds, nanos: 7 })
}

fn update(of: UpdateOneof) -> SubscribeUpdate {
    SubscribeUpdate {
        filters: vec!["of the source".to_string()],
        created_at: stamp(5),
        update_oneof: Some(of),
    }
}

fn account(key: u8, slot: u64, data: Vec<u8>, more: (Option<u64>, bool, u64)) -> SubscribeUpdate {
    let (bank_id, is_signed, number) = more;
    update(UpdateOneof::Account(SubscribeUpdateAccount {
        account: Some(SubscribeUpdateAccountInfo {
            pubkey: vec![key; 32],
            owner: vec![key; 32],
            lamports: number,
            executable: is_signed,
            rent_epoch: number,
            data,
            write_version: number,
            txn_signature: is_signed.then(|| vec![9; 64]),
        }),
        slot,
        is_startup: false,
        bank_id,
    }))
}

fn signed(keys: &[u8]) -> Option<Transaction> {
    Some(Transaction {
        signatures: vec![vec![1; 64]],
        message: Some(TransactionMessage {
            account_keys: keys.iter().map(|&key| vec![key; 32]).collect(),
            ..TransactionMessage::default()
        }),
    })
}

fn transaction(keys: &[u8], slot: u64, bank_id: u64) -> SubscribeUpdate {
    update(UpdateOneof::Transaction(SubscribeUpdateTransaction {
        transaction: Some(SubscribeUpdateTransactionInfo {
            signature: vec![1; 64],
            is_vote: false,
            transaction: signed(keys),
            meta: Some(TransactionStatusMeta::default()),
            index: 3,
        }),
        slot,
        bank_id,
    }))
}

fn slot(slot: u64, status: i32) -> SubscribeUpdate {
    update(UpdateOneof::Slot(SubscribeUpdateSlot {
        slot,
        parent: Some(slot / 2),
        status,
        dead_error: None,
        bank_id: Some(slot),
    }))
}

fn any_update() -> impl Strategy<Value = SubscribeUpdate> {
    let number = prop_oneof![Just(0), any::<u64>()];
    let more = (proptest::option::of(any::<u64>()), any::<bool>(), number);
    prop_oneof![
        (
            0..4u8,
            any::<u64>(),
            proptest::collection::vec(any::<u8>(), 0..300),
            more
        )
            .prop_map(|(key, slot, data, more)| account(key, slot, data, more)),
        (
            proptest::collection::vec(0..4u8, 0..5),
            any::<u64>(),
            any::<u64>()
        )
            .prop_map(|(keys, slot, bank)| transaction(&keys, slot, bank)),
        (any::<u64>(), 0..7).prop_map(|(number, status)| slot(number, status)),
        any::<u64>().prop_map(
            |slot| update(UpdateOneof::BlockMeta(SubscribeUpdateBlockMeta {
                slot,
                ..SubscribeUpdateBlockMeta::default()
            }))
        ),
    ]
}

fn everything() -> Filters {
    let slots = SubscribeRequestFilterSlots {
        interslot_updates: Some(true),
        ..SubscribeRequestFilterSlots::default()
    };
    let request = SubscribeRequest {
        accounts: [("a".into(), SubscribeRequestFilterAccounts::default())].into(),
        transactions: [("a".into(), SubscribeRequestFilterTransactions::default())].into(),
        slots: [("a".into(), slots)].into(),
        blocks_meta: [("a".into(), SubscribeRequestFilterBlocksMeta {})].into(),
        commitment: Some(CommitmentLevel::Processed as i32),
        ..SubscribeRequest::default()
    };
    let served = Served {
        scope: store::Scope::All,
        kept: Kept::Full,
    };
    Filters::parse(&request, &served, 10).unwrap()
}

/// What a stream of these filters sends of updates, as bytes.
fn pass<C: Call>(updates: Vec<C::Update>, filters: &Filters, is_deshred: bool) -> Vec<Vec<u8>> {
    let resident = Arc::new(AtomicUsize::new(0));
    let mut batches = Batches::new(&resident);
    for update in updates {
        C::take(update, &mut batches).unwrap();
    }
    let mut sent = Vec::new();
    for batch in batches.take() {
        let mut passing = block_on(Passing::of(filters, Arc::new(batch), is_deshred));
        while let Some(update) = passing.next(filters) {
            let mut bytes = Vec::new();
            update.encode(&mut bytes);
            assert_eq!(bytes.len(), update.byte_count());
            sent.push(bytes);
        }
    }
    assert_eq!(resident.load(Ordering::Relaxed), 0, "all is given back");
    sent
}

proptest! {
    #[test]
    fn updates_pass_in_order_and_unchanged_but_for_their_filters(
        updates in proptest::collection::vec(any_update(), 0..600)
    ) {
        let sent = pass::<Processed>(updates.clone(), &everything(), false);
        let sent: Vec<_> = sent.iter().map(|one| SubscribeUpdate::decode(&one[..]).unwrap()).collect();
        let wanted: Vec<_> = updates
            .into_iter()
            .map(|update| SubscribeUpdate { filters: vec!["a".to_string()], ..update })
            .collect();
        prop_assert_eq!(sent, wanted);
    }

    #[test]
    fn bytes_that_are_no_update_end_a_stream_and_nothing_else(
        bytes in proptest::collection::vec(any::<u8>(), 0..200)
    ) {
        let resident = Arc::new(AtomicUsize::new(0));
        let mut batches = Batches::new(&resident);
        if let Ok(update) = SubscribeUpdate::decode(&bytes[..]) {
            let _ = Processed::take(update, &mut batches);
        }
        if let Ok(update) = SubscribeUpdateDeshred::decode(&bytes[..]) {
            let _ = Deshred::take(update, &mut batches);
        }
    }
}

fn deshred(of: DeshredOneof) -> SubscribeUpdateDeshred {
    SubscribeUpdateDeshred {
        filters: vec!["of the source".to_string()],
        created_at: stamp(6),
        update_oneof: Some(of),
    }
}

fn early(keys: &[u8], writable: u8, readonly: u8) -> SubscribeUpdateDeshred {
    deshred(DeshredOneof::DeshredTransaction(
        SubscribeUpdateDeshredTransaction {
            transaction: Some(SubscribeUpdateDeshredTransactionInfo {
                signature: vec![2; 64],
                transaction: signed(keys),
                loaded_writable_addresses: vec![vec![writable; 32]],
                loaded_readonly_addresses: vec![vec![readonly; 32]],
                completed_data_set_ending_shred_index_exclusive: 9,
                ..SubscribeUpdateDeshredTransactionInfo::default()
            }),
            slot: 8,
        },
    ))
}

#[test]
fn transactions_before_their_execution_are_chosen_by_loaded_addresses_too() {
    let parent = deshred(DeshredOneof::DeshredUpdateParent(
        SubscribeUpdateDeshredUpdateParent {
            slot: 8,
            parent_slot: 6,
            ..SubscribeUpdateDeshredUpdateParent::default()
        },
    ));
    let key = |n: u8| primitives::encoding::encode_pubkey(&[n; 32]);
    let filter = SubscribeRequestFilterDeshredTransactions {
        account_include: vec![key(3), key(4)],
        account_exclude: vec![key(5)],
        ..SubscribeRequestFilterDeshredTransactions::default()
    };
    let all = SubscribeRequestFilterDeshredTransactions {
        include_update_parent: Some(true),
        ..SubscribeRequestFilterDeshredTransactions::default()
    };
    let request = SubscribeDeshredRequest {
        deshred_transactions: [("all".to_string(), all), ("some".to_string(), filter)].into(),
        ..SubscribeDeshredRequest::default()
    };
    let filters = Filters::parse_deshred(&request, 2).unwrap();
    let updates = vec![
        early(&[1], 3, 2),
        early(&[1], 2, 4),
        early(&[3], 5, 2),
        early(&[1], 2, 2),
        parent,
    ];
    let sent = pass::<Deshred>(updates.clone(), &filters, true);
    let decoded = |one: &Vec<u8>| SubscribeUpdateDeshred::decode(&one[..]).unwrap();
    let sent: Vec<_> = sent.iter().map(decoded).collect();
    let some: [&[&str]; 5] = [
        &["all", "some"],
        &["all", "some"],
        &["all"],
        &["all"],
        &["all"],
    ];
    let wanted = updates
        .into_iter()
        .zip(some)
        .map(|(update, names)| SubscribeUpdateDeshred {
            filters: names.iter().map(|name| name.to_string()).collect(),
            ..update
        });
    assert_eq!(sent, wanted.collect::<Vec<_>>());
    let refused = Filters::parse_deshred(&request, 1).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}

fn batches_of(hub: &Hub, slots: std::ops::Range<u64>, bytes: usize) {
    let mut batches = Batches::new(&hub.resident);
    for slot in slots {
        let update = account(slot as u8, slot, vec![1; bytes], (None, false, 1));
        Processed::take(update, &mut batches).unwrap();
    }
    hub.push(batches.take());
}

#[test]
fn a_stream_that_is_behind_ends_and_others_go_on() {
    let hub = Arc::new(Hub::default());
    let mut slow = hub.follow(ALL).unwrap();
    let mut quick = hub.follow(ALL).unwrap();
    for slot in 0..100 {
        batches_of(&hub, slot..slot + 1, 1 << 20);
        assert_eq!(quick.next().unwrap().unwrap().content.slot, slot);
    }
    let kept = hub.resident.load(Ordering::Relaxed);
    assert!(kept <= BYTES_MAX + (2 << 20), "{kept}");
    assert!(hub.held_bytes() < 2 << 20, "{}", hub.held_bytes());
    assert_eq!(
        slow.next().unwrap_err().message(),
        "lagged to receive geyser messages"
    );
    hub.end(End::Interrupted(99));
    assert_eq!(quick.next().unwrap_err().code(), Code::DataLoss);
    // What is larger than the queue is passed, too.
    let mut last = hub.follow(ALL).unwrap();
    batches_of(&hub, 5..6, BYTES_MAX + 1);
    assert!(last.next().unwrap().is_some() && last.next().unwrap().is_none());
    hub.clear();
    drop((slow, quick, last));
    assert_eq!(hub.resident.load(Ordering::Relaxed), 0);
}

#[test]
fn the_source_is_asked_for_what_streams_need_and_not_for_what_it_refuses() {
    let hub = Arc::new(Hub::default());
    assert_eq!(hub.wanted(), None);
    let metas = Kinds {
        blocks_meta: true,
        ..Kinds::default()
    };
    let mut first = hub.follow(metas).unwrap();
    let second = hub.follow(ALL).unwrap();
    assert_eq!(hub.wanted(), Some(ALL));
    drop(second);
    assert_eq!(hub.wanted(), Some(metas));
    first.need(Kinds::default()).unwrap();
    assert_eq!(hub.wanted(), Some(Kinds::default()));
    // A source that does not allow all accounts: the others go on.
    let third = hub.follow(ALL).unwrap();
    hub.bar(ALL);
    let allowed = Kinds {
        accounts: false,
        ..ALL
    };
    assert_eq!(hub.wanted(), Some(allowed));
    assert_eq!(
        first.need(ALL).unwrap_err().code(),
        Code::FailedPrecondition
    );
    assert_eq!(
        hub.follow(ALL).unwrap_err().code(),
        Code::FailedPrecondition
    );
    drop((first, third));
    assert_eq!(hub.wanted(), None);
    // One that does not allow the level: of a stream that waits for it, too.
    let mut fourth = hub.follow(Kinds::default()).unwrap();
    let mut fifth = hub.follow(Kinds::default()).unwrap();
    hub.end(End::Unreachable);
    assert_eq!(fourth.next().unwrap_err().code(), Code::Unavailable);
    hub.bar(Kinds::default());
    assert_eq!(fifth.next().unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(
        hub.follow(Kinds::default()).unwrap_err().code(),
        Code::FailedPrecondition
    );
    drop((fourth, fifth));
    hub.bar_call(std::time::Duration::from_secs(9));
    assert_eq!(hub.follow(metas).unwrap_err().code(), Code::Unimplemented);
}
