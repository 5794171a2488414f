//! Converts one message.

use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::{
    SlotStatus, SubscribeUpdate, SubscribeUpdateAccount, SubscribeUpdateAccountInfo,
    SubscribeUpdateBlock, SubscribeUpdateBlockFooter, SubscribeUpdateBlockMeta,
    SubscribeUpdateEntry, SubscribeUpdateSlot,
};
use yellowstone_grpc_proto::prost::Message as _;
use yellowstone_grpc_proto::prost_types::Timestamp;

use super::fields::{bank_of, fixed, malformed};
use super::taken::Taken;
use super::transaction::{translate_status, translate_transaction};
use crate::geyser::update::{BlockMeta, Content, Fault, SlotState, Update};
use store::AccountUpdate;

/// A converted message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Update(Update),
    /// Several updates, in order.
    Updates(Vec<Update>),
    /// The server expects an answer.
    Ping,
    /// Ignored: not requested, or changes no account.
    Other,
}

/// Checks and converts one message. Account data is moved, not copied.
pub fn translate(update: SubscribeUpdate, taken: Taken) -> Result<Message, Fault> {
    let created_ms = update.created_at.and_then(to_ms);
    let update = match update.update_oneof {
        Some(UpdateOneof::Account(account)) => translate_account(account)?,
        Some(UpdateOneof::BlockMeta(meta)) => translate_meta(meta, created_ms).map(Some)?,
        Some(UpdateOneof::Block(block)) => {
            return translate_block(block, created_ms).map(Message::Updates);
        }
        Some(UpdateOneof::Transaction(update)) => {
            return translate_transaction(update, taken).map(Message::Updates);
        }
        Some(UpdateOneof::TransactionStatus(status)) => translate_status(status).map(Some)?,
        Some(UpdateOneof::Slot(slot)) => translate_slot(&slot),
        Some(UpdateOneof::Entry(entry)) => Some(translate_entry(entry)?),
        Some(UpdateOneof::BlockFooter(footer)) => Some(translate_footer(footer)),
        Some(UpdateOneof::EntryUpdateParent(change)) => Some(Update {
            slot: change.slot,
            bank: bank_of(change.cleared_bank_id),
            content: Content::Status(SlotState::Abandoned),
        }),
        Some(UpdateOneof::Ping(_)) => return Ok(Message::Ping),
        _ => None,
    };
    Ok(update.map_or(Message::Other, Message::Update))
}

fn translate_account(update: SubscribeUpdateAccount) -> Result<Option<Update>, Fault> {
    let slot = update.slot;
    // A startup copy belongs to no block. Current validators do not send any.
    if update.is_startup {
        return Ok(None);
    }
    let account = update
        .account
        .ok_or_else(|| malformed(slot, "an account update without one"))?;
    translate_state(slot, bank_of(update.bank_id), account).map(Some)
}

/// Its slot and its bank are those of the block that it becomes a part of.
fn translate_entry(mut entry: SubscribeUpdateEntry) -> Result<Update, Fault> {
    let (slot, bank, index) = (entry.slot, bank_of(entry.bank_id), entry.index);
    let _: [u8; 32] = fixed(slot, "the hash of an entry", &entry.hash)?;
    (entry.slot, entry.bank_id) = (0, 0);
    Ok(Update {
        slot,
        bank,
        content: Content::Entry {
            index,
            entry: entry.encode_to_vec(),
        },
    })
}

fn translate_footer(mut footer: SubscribeUpdateBlockFooter) -> Update {
    let (slot, bank) = (footer.slot, bank_of(footer.bank_id));
    (footer.slot, footer.bank_id) = (0, 0);
    Update {
        slot,
        bank,
        content: Content::Footer(footer.encode_to_vec()),
    }
}

fn translate_state(
    slot: u64,
    bank: Option<u64>,
    account: SubscribeUpdateAccountInfo,
) -> Result<Update, Fault> {
    let content = Content::Account {
        write_version: account.write_version,
        account: AccountUpdate {
            is_signed: account.txn_signature.is_some(),
            pubkey: fixed(slot, "a pubkey", &account.pubkey)?,
            lamports: account.lamports,
            rent_epoch: account.rent_epoch,
            executable: account.executable,
            owner: fixed(slot, "an owner", &account.owner)?,
            data: account.data,
        },
    };
    Ok(Update {
        slot,
        bank,
        content,
    })
}

/// Returns all accounts, then the block metadata.
fn translate_block(
    block: SubscribeUpdateBlock,
    created_ms: Option<u64>,
) -> Result<Vec<Update>, Fault> {
    let slot = block.slot;
    // No account filter was asked for, so a server that sends fewer has lost or omitted some.
    let (sent, announced) = (block.accounts.len() as u64, block.updated_account_count);
    if sent < announced {
        let what = format!("a block with {sent} of the {announced} accounts that it announces");
        return Err(malformed(slot, what));
    }
    let accounts = block.accounts.into_iter();
    let mut updates = accounts
        .map(|account| translate_state(slot, bank_of(block.bank_id), account))
        .collect::<Result<Vec<_>, Fault>>()?;
    let meta = SubscribeUpdateBlockMeta {
        slot,
        blockhash: block.blockhash,
        block_time: block.block_time,
        block_height: block.block_height,
        parent_slot: block.parent_slot,
        parent_blockhash: block.parent_blockhash,
        bank_id: block.bank_id,
        rewards: block.rewards,
        executed_transaction_count: block.executed_transaction_count,
        entries_count: block.entries_count,
    };
    updates.push(translate_meta(meta, created_ms)?);
    Ok(updates)
}

fn translate_meta(
    meta: SubscribeUpdateBlockMeta,
    created_ms: Option<u64>,
) -> Result<Update, Fault> {
    let slot = meta.slot;
    // lastValidBlockHeight requires the block height.
    let height = meta
        .block_height
        .ok_or_else(|| malformed(slot, "a block without its height"))?;
    let bank = bank_of(meta.bank_id);
    let kept = SubscribeUpdateBlockMeta {
        rewards: meta.rewards,
        executed_transaction_count: meta.executed_transaction_count,
        entries_count: meta.entries_count,
        ..SubscribeUpdateBlockMeta::default()
    };
    let content = Content::Meta(BlockMeta {
        slot,
        parent_slot: meta.parent_slot,
        blockhash: decode_hash(slot, "a blockhash", &meta.blockhash)?,
        parent_blockhash: decode_hash(slot, "a parent blockhash", &meta.parent_blockhash)?,
        block_height: height.block_height,
        block_time: meta.block_time.map(|time| time.timestamp),
        kept: kept.encode_to_vec(),
        created_ms,
    });
    Ok(Update {
        slot,
        bank,
        content,
    })
}

fn translate_slot(update: &SubscribeUpdateSlot) -> Option<Update> {
    let state = match SlotStatus::try_from(update.status) {
        Ok(SlotStatus::SlotConfirmed) => SlotState::Confirmed,
        Ok(SlotStatus::SlotFinalized) => SlotState::Finalized,
        Ok(SlotStatus::SlotCreatedBank) => SlotState::CreatedBank,
        Ok(SlotStatus::SlotDead) => SlotState::Dead,
        // PROCESSED precedes all statuses used here. Unknown statuses come from newer servers.
        _ => return None,
    };
    Some(Update {
        slot: update.slot,
        bank: bank_of(update.bank_id),
        content: Content::Status(state),
    })
}

fn decode_hash(slot: u64, field: &str, text: &str) -> Result<[u8; 32], Fault> {
    let mut hash = [0; 32];
    five8::decode_32(text, &mut hash)
        .map_err(|_| malformed(slot, format!("{field} that is not 32 bytes in base58")))?;
    Ok(hash)
}

fn to_ms(stamp: Timestamp) -> Option<u64> {
    let seconds_ms = u64::try_from(stamp.seconds).ok()?.checked_mul(1_000)?;
    seconds_ms.checked_add(u64::try_from(stamp.nanos).ok()? / 1_000_000)
}
