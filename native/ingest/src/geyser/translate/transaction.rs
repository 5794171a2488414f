//! Converts a transaction's status, logs and closed accounts.

use yellowstone_grpc_proto::geyser::{
    SubscribeUpdateTransaction, SubscribeUpdateTransactionStatus,
};
use yellowstone_grpc_proto::prost::Message;

use super::cost::Offer;
use super::fields::{bank_of, fixed, malformed};
use super::taken::Taken;
use crate::geyser::update::{Content, Fault, Update};
use primitives::Pubkey;
use store::{TransactionDetails, TransactionUpdate};

pub(super) fn translate_status(status: SubscribeUpdateTransactionStatus) -> Result<Update, Fault> {
    let slot = status.slot;
    let transaction = TransactionUpdate {
        signature: fixed(slot, "a signature", &status.signature)?,
        index: position(slot, status.index)?,
        error: status.err.map(|error| error.err),
        details: None,
    };
    Ok(Update {
        slot,
        bank: bank_of(status.bank_id),
        content: Content::Transaction(transaction),
    })
}

pub(super) fn translate_transaction(
    update: SubscribeUpdateTransaction,
    taken: Taken,
) -> Result<Vec<Update>, Fault> {
    let (slot, bank) = (update.slot, bank_of(update.bank_id));
    let update_of = |content| Update {
        slot,
        bank,
        content,
    };
    let lacks = |what: &str| malformed(slot, format!("a transaction without {what}"));
    let info = update.transaction.ok_or_else(|| lacks("its body"))?;
    let full = taken.is_full.then(|| info.encode_to_vec());
    let message = info.transaction.and_then(|transaction| transaction.message);
    let message = message.ok_or_else(|| lacks("its message"))?;
    let meta = info.meta.ok_or_else(|| lacks("its meta"))?;
    let static_count = message.account_keys.len();
    let loaded_writable_count = meta.loaded_writable_addresses.len();
    let keys = keys_of(
        slot,
        [
            message.account_keys,
            meta.loaded_writable_addresses,
            meta.loaded_readonly_addresses,
        ],
    )?;
    let mut updates = Vec::new();
    if taken.closes {
        let balances = (meta.pre_balances.as_slice(), meta.post_balances.as_slice());
        let pubkeys = closed(slot, &keys, balances)?;
        if !pubkeys.is_empty() {
            updates.push(update_of(Content::Closed(pubkeys)));
        }
    }
    if taken.transactions {
        let offer = Offer {
            header: message.header.unwrap_or_default(),
            instructions: &message.instructions,
            config: message.config,
            keys: &keys,
            static_count,
            loaded_writable_count,
        };
        let balances = (meta.pre_balances.as_slice(), meta.post_balances.as_slice());
        let cost = offer.cost(meta.err.is_none().then_some(balances));
        let transaction = TransactionUpdate {
            signature: fixed(slot, "a signature", &info.signature)?,
            index: position(slot, info.index)?,
            error: meta.err.map(|error| error.err),
            details: Some(TransactionDetails {
                is_vote: info.is_vote,
                keys,
                logs: if full.is_some() {
                    Vec::new()
                } else {
                    meta.log_messages
                },
                full,
                cost: Box::new(cost),
            }),
        };
        updates.push(update_of(Content::Transaction(transaction)));
    }
    Ok(updates)
}

/// The accounts of lists that follow each other.
fn keys_of(slot: u64, lists: [Vec<Vec<u8>>; 3]) -> Result<Vec<Pubkey>, Fault> {
    let keys = lists.iter().flatten();
    keys.map(|key| fixed(slot, "an account key", key)).collect()
}

/// The position of a transaction in its block.
fn position(slot: u64, index: u64) -> Result<u32, Fault> {
    u32::try_from(index).map_err(|_| malformed(slot, format!("transaction number {index}")))
}

/// Keys whose lamports the transaction reduced to zero.
fn closed(slot: u64, keys: &[Pubkey], balances: (&[u64], &[u64])) -> Result<Vec<Pubkey>, Fault> {
    let (before, after) = balances;
    if before.len() != keys.len() || after.len() != keys.len() {
        // Ignoring it could miss a close.
        return Err(malformed(slot, "a transaction without its balances"));
    }
    let closed = keys.iter().zip(before).zip(after);
    Ok(closed
        .filter(|((_, before), after)| **before > 0 && **after == 0)
        .map(|((key, _), _)| *key)
        .collect())
}
