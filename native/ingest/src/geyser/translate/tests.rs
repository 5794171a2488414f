//! Tests of message conversion with valid, malformed and random input.

use proptest::prelude::*;
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::*;
use yellowstone_grpc_proto::prost::Message as _;
use yellowstone_grpc_proto::solana::storage::confirmed_block::{
    BlockHeight, Message as Message_, Transaction, TransactionStatusMeta,
};

use super::*;
use crate::geyser::update::{BlockMeta, Content, Fault, Update};
use store::TransactionUpdate;

const ALL: Taken = Taken {
    is_full: false,
    transactions: true,
    closes: false,
};
const CLOSES: Taken = Taken {
    is_full: false,
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
fn a_field_of_wrong_length_is_named_in_the_error() {
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
fn a_block_becomes_account_updates_followed_by_its_metadata() {
    let Ok(Message::Updates(updates)) = translate(block(2, 2), ALL) else {
        panic!("no updates")
    };
    assert!(matches!(
        updates[..],
        [
            Update {
                slot: 7,
                content: Content::Account { .. },
                ..
            },
            Update {
                slot: 7,
                content: Content::Account { .. },
                ..
            },
            Update {
                content: Content::Meta(BlockMeta {
                    slot: 7,
                    parent_slot: 6,
                    block_height: 5,
                    ..
                }),
                ..
            }
        ]
    ));
    for sent in [0, 1] {
        let lost = translate(block(sent, 2), ALL).err();
        let reason = format!("a block with {sent} of the 2 accounts that it announces");
        assert!(matches!(lost, Some(Fault::Malformed { what, .. }) if what == reason));
    }
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
fn a_whole_transaction_is_stored_as_it_came_without_a_second_copy_of_its_logs() {
    let info = SubscribeUpdateTransactionInfo {
        signature: vec![3; 64],
        index: 4,
        transaction: Some(Transaction {
            signatures: vec![vec![3; 64]],
            message: Some(Message_::default()),
        }),
        meta: Some(TransactionStatusMeta {
            log_messages: vec!["line".to_string()],
            ..TransactionStatusMeta::default()
        }),
        ..SubscribeUpdateTransactionInfo::default()
    };
    let update = || {
        wrap(UpdateOneof::Transaction(SubscribeUpdateTransaction {
            slot: 7,
            transaction: Some(info.clone()),
            ..SubscribeUpdateTransaction::default()
        }))
    };
    for is_full in [false, true] {
        let taken = Taken { is_full, ..ALL };
        let Message::Updates(updates) = translate(update(), taken).unwrap() else {
            panic!("not updates");
        };
        let [Update { content, .. }] = &updates[..] else {
            panic!("{updates:?}");
        };
        let Content::Transaction(TransactionUpdate { details, .. }) = content else {
            panic!("{content:?}");
        };
        let details = details.as_ref().unwrap();
        assert_eq!(details.logs.len(), usize::from(!is_full));
        let full = details
            .full
            .as_deref()
            .map(|bytes| SubscribeUpdateTransactionInfo::decode(bytes).unwrap());
        assert_eq!(full, is_full.then(|| info.clone()));
    }
}

#[test]
fn accounts_emptied_by_a_transaction_are_closed() {
    let closed = |before, after| translate(transfer(before, after), CLOSES);
    let one = |key: u8| {
        Ok(Message::Updates(vec![Update {
            slot: 7,
            bank: None,
            content: Content::Closed(vec![[key; 32]]),
        }]))
    };
    assert_eq!(closed(vec![9, 9, 9], vec![9, 0, 9]), one(2));
    assert_eq!(closed(vec![9, 9, 9], vec![9, 9, 0]), one(4), "a loaded key");
    // The balance was zero before, or is not zero after.
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
        "not examined"
    );
}

/// One message of each kind that is converted.
fn valid_messages() -> Vec<SubscribeUpdate> {
    let account = SubscribeUpdateAccountInfo {
        pubkey: vec![1; 32],
        owner: vec![2; 32],
        data: vec![3; 40],
        ..SubscribeUpdateAccountInfo::default()
    };
    let status = SubscribeUpdateTransactionStatus {
        slot: 7,
        signature: vec![4; 64],
        ..SubscribeUpdateTransactionStatus::default()
    };
    vec![
        wrap(UpdateOneof::Account(SubscribeUpdateAccount {
            account: Some(account),
            slot: 7,
            ..SubscribeUpdateAccount::default()
        })),
        block(2, 2),
        transfer(vec![5, 5], vec![10, 0]),
        wrap(UpdateOneof::TransactionStatus(status)),
    ]
}

proptest! {
    #[test]
    fn changed_messages_do_not_panic(
        kind in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let messages = valid_messages();
        let mut bytes = kind.get(&messages).encode_to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(update) = SubscribeUpdate::decode(bytes.as_slice()) {
            for taken in [ALL, CLOSES] {
                let Ok(Message::Updates(updates)) = translate(update.clone(), taken) else {
                    continue;
                };
                let closed = updates.iter().filter(|update| matches!(update.content, Content::Closed(_)));
                prop_assert!(closed.count() <= usize::from(taken.closes));
            }
        }
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(update) = SubscribeUpdate::decode(bytes.as_slice()) {
            let _ = translate(update.clone(), ALL);
            let _ = translate(update, CLOSES);
        }
    }

    #[test]
    fn accounts_are_valid_only_with_fields_of_32_bytes(
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
