//! The validator's transactions and metadata as messages of the feed.

use agave_geyser_plugin_interface::geyser_plugin_interface::ReplicaTransactionInfoV3;
use solana_message::{MessageHeader, VersionedMessage, compiled_instruction::CompiledInstruction};
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_status::{
    InnerInstructions, Reward, RewardType, TransactionStatusMeta, TransactionTokenBalance,
};
use yellowstone_grpc_proto::geyser::SubscribeUpdateTransactionInfo;
use yellowstone_grpc_proto::solana::storage::confirmed_block as proto;

use crate::item::{Key, Transaction};

pub fn transaction(info: &ReplicaTransactionInfoV3) -> Transaction {
    let loaded = &info.transaction_status_meta.loaded_addresses;
    let message = &info.transaction.message;
    let keys = message.static_account_keys().iter();
    let keys = keys.chain(&loaded.writable).chain(&loaded.readonly);
    let keys: Vec<Key> = keys.map(|key| key.to_bytes()).collect();
    Transaction {
        info: SubscribeUpdateTransactionInfo {
            signature: info.signature.as_ref().to_vec(),
            is_vote: info.is_vote,
            transaction: Some(signed(info.transaction)),
            meta: Some(meta(info.transaction_status_meta)),
            index: info.index as u64,
        },
        keys,
    }
}

fn signed(transaction: &VersionedTransaction) -> proto::Transaction {
    let signatures = transaction.signatures.iter();
    proto::Transaction {
        signatures: signatures
            .map(|signature| signature.as_ref().to_vec())
            .collect(),
        message: Some(message(&transaction.message)),
    }
}

fn message(message: &VersionedMessage) -> proto::Message {
    let lookups = message.address_table_lookups().unwrap_or_default().iter();
    let config = match message {
        VersionedMessage::V1(message) => Some(proto::TransactionConfig {
            priority_fee: message.config.priority_fee,
            compute_unit_limit: message.config.compute_unit_limit,
            loaded_accounts_data_size_limit: message.config.loaded_accounts_data_size_limit,
            heap_size: message.config.heap_size,
        }),
        VersionedMessage::Legacy(_) | VersionedMessage::V0(_) => None,
    };
    proto::Message {
        header: Some(header(message.header())),
        account_keys: bytes_of(message.static_account_keys()),
        recent_blockhash: message.recent_blockhash().to_bytes().to_vec(),
        instructions: message.instructions().iter().map(instruction).collect(),
        versioned: !matches!(message, VersionedMessage::Legacy(_)),
        address_table_lookups: lookups
            .map(|lookup| proto::MessageAddressTableLookup {
                account_key: lookup.account_key.to_bytes().to_vec(),
                writable_indexes: lookup.writable_indexes.clone(),
                readonly_indexes: lookup.readonly_indexes.clone(),
            })
            .collect(),
        config,
    }
}

fn header(header: &MessageHeader) -> proto::MessageHeader {
    proto::MessageHeader {
        num_required_signatures: header.num_required_signatures.into(),
        num_readonly_signed_accounts: header.num_readonly_signed_accounts.into(),
        num_readonly_unsigned_accounts: header.num_readonly_unsigned_accounts.into(),
    }
}

fn instruction(instruction: &CompiledInstruction) -> proto::CompiledInstruction {
    proto::CompiledInstruction {
        program_id_index: instruction.program_id_index.into(),
        accounts: instruction.accounts.clone(),
        data: instruction.data.clone(),
    }
}

fn bytes_of<K: AsRef<[u8]>>(keys: &[K]) -> Vec<Vec<u8>> {
    keys.iter().map(|key| key.as_ref().to_vec()).collect()
}

fn meta(meta: &TransactionStatusMeta) -> proto::TransactionStatusMeta {
    let error = meta.status.as_ref().err();
    let inner = meta.inner_instructions.as_deref();
    let logs = meta.log_messages.clone();
    let return_data = meta.return_data.as_ref();
    proto::TransactionStatusMeta {
        err: error.map(|error| proto::TransactionError {
            err: wincode::serialize(error).unwrap_or_default(),
        }),
        fee: meta.fee,
        pre_balances: meta.pre_balances.clone(),
        post_balances: meta.post_balances.clone(),
        inner_instructions_none: inner.is_none(),
        inner_instructions: inner
            .unwrap_or_default()
            .iter()
            .map(inner_instructions)
            .collect(),
        log_messages_none: logs.is_none(),
        log_messages: logs.unwrap_or_default(),
        pre_token_balances: token_balances(meta.pre_token_balances.as_deref()),
        post_token_balances: token_balances(meta.post_token_balances.as_deref()),
        rewards: rewards(meta.rewards.as_deref().unwrap_or_default()),
        loaded_writable_addresses: bytes_of(&meta.loaded_addresses.writable),
        loaded_readonly_addresses: bytes_of(&meta.loaded_addresses.readonly),
        return_data_none: return_data.is_none(),
        return_data: return_data.map(|returned| proto::ReturnData {
            program_id: returned.program_id.to_bytes().to_vec(),
            data: returned.data.clone(),
        }),
        compute_units_consumed: meta.compute_units_consumed,
        cost_units: meta.cost_units,
    }
}

fn inner_instructions(inner: &InnerInstructions) -> proto::InnerInstructions {
    let instructions = inner
        .instructions
        .iter()
        .map(|inner| proto::InnerInstruction {
            program_id_index: inner.instruction.program_id_index.into(),
            accounts: inner.instruction.accounts.clone(),
            data: inner.instruction.data.clone(),
            stack_height: inner.stack_height,
        });
    proto::InnerInstructions {
        index: inner.index.into(),
        instructions: instructions.collect(),
    }
}

fn token_balances(balances: Option<&[TransactionTokenBalance]>) -> Vec<proto::TokenBalance> {
    let balances = balances.unwrap_or_default().iter();
    let balances = balances.map(|balance| proto::TokenBalance {
        account_index: balance.account_index.into(),
        mint: balance.mint.clone(),
        ui_token_amount: Some(proto::UiTokenAmount {
            ui_amount: balance.ui_token_amount.ui_amount.unwrap_or_default(),
            decimals: balance.ui_token_amount.decimals.into(),
            amount: balance.ui_token_amount.amount.clone(),
            ui_amount_string: balance.ui_token_amount.ui_amount_string.clone(),
        }),
        owner: balance.owner.clone(),
        program_id: balance.program_id.clone(),
    });
    balances.collect()
}

pub fn rewards(rewards: &[Reward]) -> Vec<proto::Reward> {
    let rewards = rewards.iter().map(|reward| proto::Reward {
        pubkey: reward.pubkey.clone(),
        lamports: reward.lamports,
        post_balance: reward.post_balance,
        reward_type: match reward.reward_type {
            None => proto::RewardType::Unspecified,
            Some(RewardType::Fee) => proto::RewardType::Fee,
            Some(RewardType::Rent) => proto::RewardType::Rent,
            Some(RewardType::Staking) => proto::RewardType::Staking,
            Some(RewardType::Voting) => proto::RewardType::Voting,
            Some(RewardType::DeactivatedStake) => proto::RewardType::DeactivatedStake,
        }
        .into(),
        commission: reward
            .commission
            .map(|it| it.to_string())
            .unwrap_or_default(),
        commission_bps: reward
            .commission_bps
            .map(|it| it.to_string())
            .unwrap_or_default(),
    });
    rewards.collect()
}
