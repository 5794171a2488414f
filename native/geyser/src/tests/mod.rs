//! Tests of filters, messages, and of a server with its sockets.

mod bench;
mod blocks;
mod filters;
mod messages;
mod owners;
mod requests;
mod source;
mod streams;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use store::testing::{block, number, open, options};
use store::{AccountUpdate, Block, BlockParts, TransactionDetails, TransactionUpdate};
use yellowstone_grpc_proto::geyser::{
    BlockFooterFinalCert, SubscribeUpdateBlockFooter, SubscribeUpdateBlockMeta,
    SubscribeUpdateEntry, SubscribeUpdateTransactionInfo,
};
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::solana::storage::confirmed_block::Rewards;

use crate::content::Content;

/// The content of a slot with these accounts.
fn content_of(accounts: Vec<AccountUpdate>) -> Content {
    read(&block(5, accounts))
}

/// What a feed sends of a block with so many entries.
fn parts(entries: u64) -> BlockParts {
    let footer = SubscribeUpdateBlockFooter {
        bank_hash: vec![6; 32],
        block_final_cert: Some(BlockFooterFinalCert::default()),
        ..SubscribeUpdateBlockFooter::default()
    };
    BlockParts {
        meta: meta(entries).encode_to_vec(),
        footer: Some(footer.encode_to_vec()),
        entries: (0..entries).map(|at| entry(at).encode_to_vec()).collect(),
    }
}

/// Of a block of 70 transactions.
fn meta(entries_count: u64) -> SubscribeUpdateBlockMeta {
    SubscribeUpdateBlockMeta {
        executed_transaction_count: 70,
        entries_count,
        rewards: Some(Rewards::default()),
        ..SubscribeUpdateBlockMeta::default()
    }
}

fn entry(index: u64) -> SubscribeUpdateEntry {
    SubscribeUpdateEntry {
        index,
        num_hashes: 1,
        hash: vec![index as u8; 32],
        ..SubscribeUpdateEntry::default()
    }
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
