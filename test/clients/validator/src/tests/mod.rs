//! The order of a feed, and what a client of the server reads.

mod chain;
mod server;

use yellowstone_grpc_proto::geyser::{
    SubscribeUpdateAccountInfo, SubscribeUpdateBlockMeta, SubscribeUpdateTransactionInfo,
};
use yellowstone_grpc_proto::solana::storage::confirmed_block::BlockHeight;

use crate::item::{Event, Level, Transaction};

fn account(slot: u64, key: u8, write_version: u64) -> Event {
    let info = SubscribeUpdateAccountInfo {
        pubkey: vec![key; 32],
        owner: vec![9; 32],
        lamports: write_version,
        write_version,
        ..SubscribeUpdateAccountInfo::default()
    };
    Event::Account {
        slot,
        info,
        is_startup: false,
    }
}

fn transaction(slot: u64, index: u64) -> Event {
    let info = SubscribeUpdateTransactionInfo {
        signature: vec![index as u8; 64],
        index,
        ..SubscribeUpdateTransactionInfo::default()
    };
    let transaction = Transaction {
        info,
        keys: vec![[1; 32]],
    };
    Event::Transaction { slot, transaction }
}

fn meta(slot: u64, parent_slot: u64, executed_transaction_count: u64) -> Event {
    Event::Meta(SubscribeUpdateBlockMeta {
        slot,
        parent_slot,
        blockhash: format!("hash{slot}"),
        parent_blockhash: format!("hash{parent_slot}"),
        executed_transaction_count,
        block_height: Some(BlockHeight { block_height: slot }),
        ..SubscribeUpdateBlockMeta::default()
    })
}

fn created(slot: u64, parent: u64) -> Event {
    Event::Created {
        slot,
        parent: Some(parent),
    }
}

fn reached(slot: u64, level: Level) -> Event {
    Event::Level {
        slot,
        parent: None,
        level,
    }
}
