//! From the protocol's messages to [`Update`]s: every field of a fixed length is checked here, once.

use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::{
    SlotStatus, SubscribeUpdate, SubscribeUpdateAccount, SubscribeUpdateBlockMeta,
    SubscribeUpdateSlot, SubscribeUpdateTransaction, SubscribeUpdateTransactionStatus,
};
use yellowstone_grpc_proto::prost_types::Timestamp;

use super::slots::{BlockMeta, Fault, SlotState, Update};
use crate::Pubkey;
use crate::store::{AccountUpdate, TransactionDetails, TransactionUpdate};

/// What a message asks of the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Update(Update),
    /// The server wants to see traffic.
    Ping,
    /// Nothing: a kind that was not asked for, or that changes no account.
    Other,
}

/// Checks one message. Account data is moved, not copied.
pub fn translate(update: SubscribeUpdate) -> Result<Message, Fault> {
    let created_ms = update.created_at.and_then(to_ms);
    let update = match update.update_oneof {
        Some(UpdateOneof::Account(account)) => translate_account(account)?,
        Some(UpdateOneof::BlockMeta(meta)) => translate_meta(meta, created_ms).map(Some)?,
        Some(UpdateOneof::Transaction(update)) => translate_transaction(update).map(Some)?,
        Some(UpdateOneof::TransactionStatus(status)) => translate_status(status).map(Some)?,
        Some(UpdateOneof::Slot(slot)) => translate_slot(&slot),
        Some(UpdateOneof::Ping(_)) => return Ok(Message::Ping),
        _ => None,
    };
    Ok(update.map_or(Message::Other, Message::Update))
}

fn translate_account(update: SubscribeUpdateAccount) -> Result<Option<Update>, Fault> {
    let slot = update.slot;
    // A start-up copy belongs to no block. Validators no longer send any.
    if update.is_startup {
        return Ok(None);
    }
    let account = update
        .account
        .ok_or_else(|| malformed(slot, "an account update without one"))?;
    let update = Update::Account {
        slot,
        write_version: account.write_version,
        account: AccountUpdate {
            pubkey: fixed(slot, "a pubkey", &account.pubkey)?,
            lamports: account.lamports,
            rent_epoch: account.rent_epoch,
            executable: account.executable,
            owner: fixed(slot, "an owner", &account.owner)?,
            data: account.data,
        },
    };
    Ok(Some(update))
}

fn translate_meta(
    meta: SubscribeUpdateBlockMeta,
    created_ms: Option<u64>,
) -> Result<Update, Fault> {
    let slot = meta.slot;
    // Without a height no lastValidBlockHeight could be answered.
    let height = meta
        .block_height
        .ok_or_else(|| malformed(slot, "a block without its height"))?;
    Ok(Update::Meta(BlockMeta {
        slot,
        parent_slot: meta.parent_slot,
        blockhash: decode_hash(slot, "a blockhash", &meta.blockhash)?,
        parent_blockhash: decode_hash(slot, "a parent blockhash", &meta.parent_blockhash)?,
        block_height: height.block_height,
        block_time: meta.block_time.map(|time| time.timestamp),
        created_ms,
    }))
}

fn translate_status(status: SubscribeUpdateTransactionStatus) -> Result<Update, Fault> {
    let slot = status.slot;
    Ok(Update::Transaction {
        slot,
        index: status.index,
        transaction: TransactionUpdate {
            signature: fixed(slot, "a signature", &status.signature)?,
            error: status.err.map(|error| error.err),
            details: None,
        },
    })
}

fn translate_transaction(update: SubscribeUpdateTransaction) -> Result<Update, Fault> {
    let slot = update.slot;
    let lacks = |what: &str| malformed(slot, format!("a transaction without {what}"));
    let info = update.transaction.ok_or_else(|| lacks("its body"))?;
    let message = info.transaction.and_then(|transaction| transaction.message);
    let message = message.ok_or_else(|| lacks("its message"))?;
    let meta = info.meta.ok_or_else(|| lacks("its meta"))?;
    let keys = [
        message.account_keys,
        meta.loaded_writable_addresses,
        meta.loaded_readonly_addresses,
    ];
    let keys: Result<Vec<Pubkey>, Fault> = keys
        .iter()
        .flatten()
        .map(|key| fixed(slot, "an account key", key))
        .collect();
    Ok(Update::Transaction {
        slot,
        index: info.index,
        transaction: TransactionUpdate {
            signature: fixed(slot, "a signature", &info.signature)?,
            error: meta.err.map(|error| error.err),
            details: Some(TransactionDetails {
                is_vote: info.is_vote,
                keys: keys?,
                logs: meta.log_messages,
            }),
        },
    })
}

fn translate_slot(update: &SubscribeUpdateSlot) -> Option<Update> {
    let state = match SlotStatus::try_from(update.status) {
        Ok(SlotStatus::SlotConfirmed) => SlotState::Confirmed,
        Ok(SlotStatus::SlotFinalized) => SlotState::Finalized,
        Ok(SlotStatus::SlotCreatedBank) => SlotState::CreatedBank,
        Ok(SlotStatus::SlotDead) => SlotState::Dead,
        // PROCESSED is earlier than anything here, and an unknown status is a newer server's.
        _ => return None,
    };
    Some(Update::Slot {
        slot: update.slot,
        state,
    })
}

fn fixed<const N: usize>(slot: u64, field: &str, bytes: &[u8]) -> Result<[u8; N], Fault> {
    bytes
        .try_into()
        .map_err(|_| malformed(slot, format!("{field} of {} bytes, not {N}", bytes.len())))
}

fn decode_hash(slot: u64, field: &str, text: &str) -> Result<[u8; 32], Fault> {
    let mut hash = [0; 32];
    five8::decode_32(text, &mut hash)
        .map_err(|_| malformed(slot, format!("{field} that is not 32 bytes in base58")))?;
    Ok(hash)
}

fn malformed(slot: u64, what: impl Into<String>) -> Fault {
    Fault::Malformed {
        slot,
        what: what.into(),
    }
}

fn to_ms(stamp: Timestamp) -> Option<u64> {
    let seconds_ms = u64::try_from(stamp.seconds).ok()?.checked_mul(1_000)?;
    seconds_ms.checked_add(u64::try_from(stamp.nanos).ok()? / 1_000_000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use yellowstone_grpc_proto::geyser::{
        SubscribeUpdateAccountInfo, SubscribeUpdateTransactionInfo,
    };
    use yellowstone_grpc_proto::prost::Message as _;
    use yellowstone_grpc_proto::solana::storage::confirmed_block::{
        BlockHeight, Message, Transaction, TransactionStatusMeta,
    };

    use super::*;

    fn wrap(update: UpdateOneof) -> SubscribeUpdate {
        SubscribeUpdate {
            update_oneof: Some(update),
            ..SubscribeUpdate::default()
        }
    }

    #[test]
    fn a_field_of_another_length_is_named() {
        let account = |pubkey: usize, owner: usize| {
            wrap(UpdateOneof::Account(SubscribeUpdateAccount {
                account: Some(SubscribeUpdateAccountInfo {
                    pubkey: vec![1; pubkey],
                    owner: vec![2; owner],
                    ..SubscribeUpdateAccountInfo::default()
                }),
                slot: 7,
                ..SubscribeUpdateAccount::default()
            }))
        };
        let meta = |blockhash: &str, parent: &str| {
            wrap(UpdateOneof::BlockMeta(SubscribeUpdateBlockMeta {
                slot: 7,
                blockhash: blockhash.into(),
                parent_blockhash: parent.into(),
                block_height: Some(BlockHeight { block_height: 5 }),
                ..SubscribeUpdateBlockMeta::default()
            }))
        };
        let transaction = |signature: usize, key: usize| {
            let message = Message {
                account_keys: vec![vec![1; 32], vec![2; key]],
                ..Message::default()
            };
            let transaction = Transaction {
                message: Some(message),
                ..Transaction::default()
            };
            wrap(UpdateOneof::Transaction(SubscribeUpdateTransaction {
                slot: 7,
                transaction: Some(SubscribeUpdateTransactionInfo {
                    signature: vec![3; signature],
                    transaction: Some(transaction),
                    meta: Some(TransactionStatusMeta::default()),
                    ..SubscribeUpdateTransactionInfo::default()
                }),
                ..SubscribeUpdateTransaction::default()
            }))
        };
        let bare = wrap(UpdateOneof::Transaction(SubscribeUpdateTransaction {
            slot: 7,
            ..SubscribeUpdateTransaction::default()
        }));
        let zero = "11111111111111111111111111111111";
        let cases = [
            (account(32, 32), None),
            (transaction(64, 32), None),
            (transaction(63, 32), Some("a signature of 63 bytes, not 64")),
            (
                transaction(64, 31),
                Some("an account key of 31 bytes, not 32"),
            ),
            (bare, Some("a transaction without its body")),
            (account(31, 32), Some("a pubkey of 31 bytes, not 32")),
            (account(33, 32), Some("a pubkey of 33 bytes, not 32")),
            (account(32, 0), Some("an owner of 0 bytes, not 32")),
            (meta(zero, zero), None),
            (
                meta("", zero),
                Some("a blockhash that is not 32 bytes in base58"),
            ),
            (
                meta(zero, "l0"),
                Some("a parent blockhash that is not 32 bytes in base58"),
            ),
        ];
        for (update, expected) in cases {
            let expected = expected.map(|what| Fault::Malformed {
                slot: 7,
                what: what.to_string(),
            });
            assert_eq!(translate(update).err(), expected);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(update) = SubscribeUpdate::decode(bytes.as_slice()) {
                let _ = translate(update);
            }
        }

        #[test]
        fn any_account_fields_have_an_answer(
            pubkey in prop::collection::vec(any::<u8>(), 0..40),
            owner in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let is_valid = pubkey.len() == 32 && owner.len() == 32;
            let account = SubscribeUpdateAccountInfo {
                pubkey, owner, ..SubscribeUpdateAccountInfo::default()
            };
            let update = SubscribeUpdateAccount {
                account: Some(account), slot: 1, ..SubscribeUpdateAccount::default()
            };
            prop_assert_eq!(translate(wrap(UpdateOneof::Account(update))).is_ok(), is_valid);
        }
    }
}
