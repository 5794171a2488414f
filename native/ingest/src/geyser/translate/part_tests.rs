//! Tests of what a block has beside its changes.

use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::*;
use yellowstone_grpc_proto::prost::Message as _;
use yellowstone_grpc_proto::solana::storage::confirmed_block::{
    BlockHeight, NumPartitions, Rewards,
};

use super::*;
use crate::geyser::update::{Content, Update};

const ALL: Taken = Taken {
    is_full: false,
    transactions: true,
    closes: false,
};

fn wrap(update: UpdateOneof) -> SubscribeUpdate {
    SubscribeUpdate {
        update_oneof: Some(update),
        ..SubscribeUpdate::default()
    }
}

fn of_bank_3(content: Content) -> Message {
    let (slot, bank) = (7, Some(3));
    Message::Update(Update {
        slot,
        bank,
        content,
    })
}

#[test]
fn what_a_block_has_beside_its_changes_is_kept_without_slot_and_bank() {
    let rewards = Rewards {
        num_partitions: Some(NumPartitions { num_partitions: 3 }),
        ..Rewards::default()
    };
    let zero = "11111111111111111111111111111111";
    let meta = SubscribeUpdateBlockMeta {
        slot: 7,
        blockhash: zero.into(),
        parent_blockhash: zero.into(),
        parent_slot: 6,
        block_height: Some(BlockHeight { block_height: 5 }),
        rewards: Some(rewards.clone()),
        executed_transaction_count: 9,
        entries_count: 4,
        bank_id: 3,
        ..SubscribeUpdateBlockMeta::default()
    };
    let counts = SubscribeUpdateBlockMeta {
        rewards: Some(rewards),
        executed_transaction_count: 9,
        entries_count: 4,
        ..SubscribeUpdateBlockMeta::default()
    };
    let Ok(Message::Update(update)) = translate(wrap(UpdateOneof::BlockMeta(meta)), ALL) else {
        panic!("no update")
    };
    assert_eq!(update.bank, Some(3));
    assert!(matches!(update.content, Content::Meta(meta) if meta.kept == counts.encode_to_vec()));
    let entry = SubscribeUpdateEntry {
        index: 2,
        num_hashes: 1,
        hash: vec![8; 32],
        ..SubscribeUpdateEntry::default()
    };
    let of_bank = SubscribeUpdateEntry {
        slot: 7,
        bank_id: 3,
        ..entry.clone()
    };
    let found = translate(wrap(UpdateOneof::Entry(of_bank.clone())), ALL).unwrap();
    let content = Content::Entry {
        index: 2,
        entry: entry.encode_to_vec(),
    };
    assert_eq!(found, of_bank_3(content));
    let short = SubscribeUpdateEntry {
        hash: vec![8; 31],
        ..of_bank
    };
    assert!(translate(wrap(UpdateOneof::Entry(short)), ALL).is_err());
    let footer = SubscribeUpdateBlockFooter {
        bank_hash: vec![1; 32],
        ..SubscribeUpdateBlockFooter::default()
    };
    let of_bank = SubscribeUpdateBlockFooter {
        slot: 7,
        bank_id: 3,
        ..footer.clone()
    };
    let found = translate(wrap(UpdateOneof::BlockFooter(of_bank)), ALL).unwrap();
    let content = Content::Footer(footer.encode_to_vec());
    assert_eq!(found, of_bank_3(content));
}
