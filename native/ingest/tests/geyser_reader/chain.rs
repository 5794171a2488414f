//! Messages of a synthetic chain: slot N follows slot N − 1, and each slot writes one account.

use std::time::SystemTime;

use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::*;
use yellowstone_grpc_proto::solana::storage::confirmed_block::{
    BlockHeight, Message, Transaction, TransactionError, TransactionStatusMeta, UnixTimestamp,
};

use crate::server::Step;

pub fn hash(slot: u64) -> [u8; 32] {
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&slot.to_be_bytes());
    hash
}

fn base58(bytes: &[u8; 32]) -> String {
    let mut text = [0; 44];
    let length = five8::encode_32(bytes, &mut text);
    String::from_utf8(text[..usize::from(length)].to_vec()).unwrap()
}

fn send(update: UpdateOneof) -> Step {
    Step::Send(Box::new(SubscribeUpdate {
        filters: vec!["all".into()],
        created_at: Some(SystemTime::now().into()),
        update_oneof: Some(update),
    }))
}

pub fn account_of(slot: u64, pubkey: Vec<u8>, data: Vec<u8>) -> Step {
    send(UpdateOneof::Account(SubscribeUpdateAccount {
        account: Some(SubscribeUpdateAccountInfo {
            pubkey,
            lamports: slot,
            owner: vec![9; 32],
            rent_epoch: u64::MAX,
            data,
            write_version: 1,
            ..SubscribeUpdateAccountInfo::default()
        }),
        slot,
        ..SubscribeUpdateAccount::default()
    }))
}

pub fn account(slot: u64, data: usize) -> Step {
    account_of(slot, vec![slot as u8; 32], vec![slot as u8; data])
}

pub fn status(slot: u64, status: SlotStatus) -> Step {
    let status = status.into();
    send(UpdateOneof::Slot(SubscribeUpdateSlot {
        slot,
        status,
        ..SubscribeUpdateSlot::default()
    }))
}

pub fn transaction_status(slot: u64, error: Option<Vec<u8>>) -> Step {
    send(UpdateOneof::TransactionStatus(
        SubscribeUpdateTransactionStatus {
            slot,
            signature: vec![slot as u8; 64],
            err: error.map(|err| TransactionError { err }),
            ..SubscribeUpdateTransactionStatus::default()
        },
    ))
}

/// A transaction with two static keys and two loaded keys.
pub fn transaction(slot: u64, error: Option<Vec<u8>>, logs: &[&str]) -> Step {
    let message = Message {
        account_keys: vec![vec![1; 32], vec![2; 32]],
        ..Message::default()
    };
    let transaction = Transaction {
        message: Some(message),
        ..Transaction::default()
    };
    let meta = TransactionStatusMeta {
        err: error.map(|err| TransactionError { err }),
        log_messages: logs.iter().map(ToString::to_string).collect(),
        loaded_writable_addresses: vec![vec![3; 32]],
        loaded_readonly_addresses: vec![vec![4; 32]],
        ..TransactionStatusMeta::default()
    };
    send(UpdateOneof::Transaction(SubscribeUpdateTransaction {
        slot,
        transaction: Some(SubscribeUpdateTransactionInfo {
            signature: vec![slot as u8; 64],
            transaction: Some(transaction),
            meta: Some(meta),
            ..SubscribeUpdateTransactionInfo::default()
        }),
        ..SubscribeUpdateTransaction::default()
    }))
}

pub fn ping() -> Step {
    send(UpdateOneof::Ping(SubscribeUpdatePing::default()))
}

pub fn meta(slot: u64) -> Step {
    send(UpdateOneof::BlockMeta(SubscribeUpdateBlockMeta {
        slot,
        blockhash: base58(&hash(slot)),
        block_time: Some(UnixTimestamp {
            timestamp: 1_700_000_000,
        }),
        block_height: Some(BlockHeight {
            block_height: slot - 1,
        }),
        parent_slot: slot - 1,
        parent_blockhash: base58(&hash(slot - 1)),
        ..SubscribeUpdateBlockMeta::default()
    }))
}

/// A complete slot with one account of `data` bytes.
pub fn block_of(slot: u64, data: usize) -> Vec<Step> {
    vec![
        account(slot, data),
        meta(slot),
        status(slot, SlotStatus::SlotConfirmed),
    ]
}

pub fn block(slot: u64) -> Vec<Step> {
    block_of(slot, 100)
}

/// Complete slots in order.
pub fn blocks(slots: std::ops::RangeInclusive<u64>) -> Vec<Step> {
    slots.flat_map(block).collect()
}

/// The steps, then an open stream without messages.
pub fn then_hang(mut steps: Vec<Step>) -> Vec<Step> {
    steps.push(Step::Hang);
    steps
}
