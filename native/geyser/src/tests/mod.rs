//! Tests of filters, messages, and of a server with its sockets.

mod bench;
mod blocks;
mod filters;
mod messages;
mod owners;
mod streams;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use store::testing::{block, number, open, options};
use store::{AccountUpdate, Block, TransactionDetails, TransactionUpdate};
use yellowstone_grpc_proto::geyser::SubscribeUpdateTransactionInfo;
use yellowstone_grpc_proto::prost::Message;

use crate::content::Content;

/// The content of a slot with these accounts.
fn content_of(accounts: Vec<AccountUpdate>) -> Content {
    read(&block(5, accounts))
}

/// A whole transaction with these keys, by its place.
fn transaction(at: usize, keys: &[u64], has_failed: bool) -> TransactionUpdate {
    let info = SubscribeUpdateTransactionInfo {
        signature: vec![at as u8; 64],
        index: at as u64,
        ..SubscribeUpdateTransactionInfo::default()
    };
    TransactionUpdate {
        signature: [at as u8; 64],
        index: at as u32,
        error: has_failed.then(|| vec![8, 0, 0, 0]),
        details: Some(TransactionDetails {
            keys: keys.iter().map(|&n| number(n)).collect(),
            full: Some(info.encode_to_vec()),
            ..TransactionDetails::default()
        }),
    }
}

/// The content of a slot with transactions of these keys, which have failed or not.
fn transactions_of(rows: &[(Vec<u64>, bool)]) -> Content {
    let rows = rows.iter().enumerate();
    let transactions = rows.map(|(at, (keys, has_failed))| transaction(at, keys, *has_failed));
    read(&Block {
        transactions: transactions.collect(),
        ..block(5, vec![])
    })
}

fn read(block: &Block) -> Content {
    let temporary = open(&options());
    temporary.store.apply(block).unwrap();
    let snapshot = temporary.store.snapshot().unwrap();
    let resident = Arc::new(AtomicUsize::new(0));
    Content::read(&snapshot, 5, &resident).unwrap().unwrap()
}
