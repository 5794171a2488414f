//! From the protocol's messages to [`Update`]s: every field of a fixed length is checked here, once.

use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::{
    SlotStatus, SubscribeUpdate, SubscribeUpdateAccount, SubscribeUpdateAccountInfo,
    SubscribeUpdateBlock, SubscribeUpdateBlockMeta, SubscribeUpdateSlot,
    SubscribeUpdateTransaction, SubscribeUpdateTransactionStatus,
};
use yellowstone_grpc_proto::prost_types::Timestamp;

use super::config::{GeyserConfig, Transactions};
use super::plan::Plan;
use super::slots::{BlockMeta, Fault, SlotState, Update};
use crate::Pubkey;
use crate::store::{AccountUpdate, TransactionDetails, TransactionUpdate};

/// What is taken from a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Itself, for the store's feed. Off where it was asked for because of its closes only.
    pub transactions: bool,
    /// The accounts that it left without lamports.
    pub closes: bool,
}

impl Taken {
    pub fn of(config: &GeyserConfig) -> Taken {
        let transactions = config.transactions;
        Taken {
            transactions: !matches!(transactions, Transactions::None | Transactions::Status),
            closes: config.plan.resolve(&config.accounts) == Plan::Narrow,
        }
    }
}

/// What a message asks of the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Update(Update),
    /// One after the other.
    Updates(Vec<Update>),
    /// The server wants to see traffic.
    Ping,
    /// Nothing: a kind that was not asked for, or that changes no account.
    Other,
}

/// Checks one message. Account data is moved, not copied.
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
    translate_state(slot, account).map(Some)
}

fn translate_state(slot: u64, account: SubscribeUpdateAccountInfo) -> Result<Update, Fault> {
    Ok(Update::Account {
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
    })
}

/// Every account, then the marker.
fn translate_block(
    block: SubscribeUpdateBlock,
    created_ms: Option<u64>,
) -> Result<Vec<Update>, Fault> {
    let slot = block.slot;
    // Each block writes sysvars: one without accounts comes from a server that leaves them out.
    if block.accounts.is_empty() && block.updated_account_count > 0 {
        return Err(malformed(slot, "a block without its accounts"));
    }
    let accounts = block.accounts.into_iter();
    let mut updates = accounts
        .map(|account| translate_state(slot, account))
        .collect::<Result<Vec<_>, Fault>>()?;
    let meta = SubscribeUpdateBlockMeta {
        slot,
        blockhash: block.blockhash,
        block_time: block.block_time,
        block_height: block.block_height,
        parent_slot: block.parent_slot,
        parent_blockhash: block.parent_blockhash,
        ..SubscribeUpdateBlockMeta::default()
    };
    updates.push(translate_meta(meta, created_ms)?);
    Ok(updates)
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

fn translate_transaction(
    update: SubscribeUpdateTransaction,
    taken: Taken,
) -> Result<Vec<Update>, Fault> {
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
    let keys = keys
        .iter()
        .flatten()
        .map(|key| fixed(slot, "an account key", key))
        .collect::<Result<Vec<Pubkey>, Fault>>()?;
    let mut updates = Vec::new();
    if taken.closes {
        let balances = (meta.pre_balances.as_slice(), meta.post_balances.as_slice());
        let pubkeys = closed(slot, &keys, balances)?;
        if !pubkeys.is_empty() {
            updates.push(Update::Closed { slot, pubkeys });
        }
    }
    if taken.transactions {
        let transaction = TransactionUpdate {
            signature: fixed(slot, "a signature", &info.signature)?,
            error: meta.err.map(|error| error.err),
            details: Some(TransactionDetails {
                is_vote: info.is_vote,
                keys,
                logs: meta.log_messages,
            }),
        };
        updates.push(Update::Transaction {
            slot,
            index: info.index,
            transaction,
        });
    }
    Ok(updates)
}

/// The keys that had lamports before and have none after.
fn closed(slot: u64, keys: &[Pubkey], balances: (&[u64], &[u64])) -> Result<Vec<Pubkey>, Fault> {
    let (before, after) = balances;
    if before.len() != keys.len() || after.len() != keys.len() {
        // Passing it over could miss a close.
        return Err(malformed(slot, "a transaction without its balances"));
    }
    let closed = keys.iter().zip(before).zip(after);
    Ok(closed
        .filter(|((_, before), after)| **before > 0 && **after == 0)
        .map(|((key, _), _)| *key)
        .collect())
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
    use yellowstone_grpc_proto::geyser::SubscribeUpdateTransactionInfo;
    use yellowstone_grpc_proto::prost::Message as _;
    use yellowstone_grpc_proto::solana::storage::confirmed_block::{
        BlockHeight, Message as Message_, Transaction, TransactionStatusMeta,
    };

    use super::*;

    const ALL: Taken = Taken {
        transactions: true,
        closes: false,
    };
    const CLOSES: Taken = Taken {
        transactions: false,
        closes: true,
    };

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
            let message = Message_ {
                account_keys: vec![vec![1; 32], vec![2; key]],
                ..Message_::default()
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
            assert_eq!(translate(update, ALL).err(), expected);
        }
    }

    fn block(accounts: usize, updated: u64) -> SubscribeUpdate {
        let account = SubscribeUpdateAccountInfo {
            pubkey: vec![1; 32],
            owner: vec![2; 32],
            ..SubscribeUpdateAccountInfo::default()
        };
        let zero = "11111111111111111111111111111111";
        wrap(UpdateOneof::Block(SubscribeUpdateBlock {
            slot: 7,
            parent_slot: 6,
            blockhash: zero.into(),
            parent_blockhash: zero.into(),
            block_height: Some(BlockHeight { block_height: 5 }),
            accounts: vec![account; accounts],
            updated_account_count: updated,
            ..SubscribeUpdateBlock::default()
        }))
    }

    #[test]
    fn a_block_is_its_accounts_and_then_its_marker() {
        let Ok(Message::Updates(updates)) = translate(block(2, 2), ALL) else {
            panic!("no updates")
        };
        assert!(matches!(
            updates[..],
            [
                Update::Account { slot: 7, .. },
                Update::Account { slot: 7, .. },
                Update::Meta(BlockMeta {
                    slot: 7,
                    parent_slot: 6,
                    block_height: 5,
                    ..
                })
            ]
        ));
        let bare = translate(block(0, 2), ALL).err();
        assert!(matches!(bare, Some(Fault::Malformed { what, .. }) if what.contains("accounts")));
        assert!(
            translate(block(0, 0), ALL).is_ok(),
            "an empty block of a dev chain"
        );
    }

    fn transfer(before: Vec<u64>, after: Vec<u64>) -> SubscribeUpdate {
        let message = Message_ {
            account_keys: vec![vec![1; 32], vec![2; 32]],
            ..Message_::default()
        };
        wrap(UpdateOneof::Transaction(SubscribeUpdateTransaction {
            slot: 7,
            transaction: Some(SubscribeUpdateTransactionInfo {
                signature: vec![3; 64],
                transaction: Some(Transaction {
                    message: Some(message),
                    ..Transaction::default()
                }),
                meta: Some(TransactionStatusMeta {
                    pre_balances: before,
                    post_balances: after,
                    loaded_writable_addresses: vec![vec![4; 32]],
                    ..TransactionStatusMeta::default()
                }),
                ..SubscribeUpdateTransactionInfo::default()
            }),
            ..SubscribeUpdateTransaction::default()
        }))
    }

    #[test]
    fn what_a_transaction_emptied_is_closed() {
        let closed = |before, after| translate(transfer(before, after), CLOSES);
        let one = |key: u8| {
            let pubkeys = vec![[key; 32]];
            Ok(Message::Updates(vec![Update::Closed { slot: 7, pubkeys }]))
        };
        assert_eq!(closed(vec![9, 9, 9], vec![9, 0, 9]), one(2));
        assert_eq!(closed(vec![9, 9, 9], vec![9, 9, 0]), one(4), "a loaded key");
        // Nothing was there, or nothing went.
        assert_eq!(
            closed(vec![9, 0, 1], vec![1, 0, 9]),
            Ok(Message::Updates(vec![]))
        );
        assert!(
            closed(vec![9, 9], vec![9, 0]).is_err(),
            "a balance is missing"
        );
        assert!(
            translate(transfer(vec![], vec![]), ALL).is_ok(),
            "not looked at"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(update) = SubscribeUpdate::decode(bytes.as_slice()) {
                let _ = translate(update.clone(), ALL);
                let _ = translate(update, CLOSES);
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
            prop_assert_eq!(translate(wrap(UpdateOneof::Account(update)), ALL).is_ok(), is_valid);
        }
    }
}
