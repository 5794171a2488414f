//! From the feed's protobuf to Agave's types.

use solana_account_decoder_client_types::token::UiTokenAmount;
use solana_message::compiled_instruction::CompiledInstruction;
use solana_message::v0::{self, LoadedAddresses, MessageAddressTableLookup};
use solana_message::{Message, MessageHeader, VersionedMessage, v1};
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_context::transaction::TransactionReturnData;
use solana_transaction_status::{
    InnerInstruction, InnerInstructions, Reward, RewardType, TransactionStatusMeta,
    TransactionTokenBalance, TransactionWithStatusMeta, VersionedTransactionWithStatusMeta,
};
use yellowstone_grpc_proto::geyser::SubscribeUpdateTransactionInfo;
use yellowstone_grpc_proto::solana::storage::confirmed_block as proto;

/// `None` if it is no transaction of a block.
pub fn to_transaction(info: SubscribeUpdateTransactionInfo) -> Option<TransactionWithStatusMeta> {
    let transaction = info.transaction?;
    let signatures = transaction.signatures.iter().map(|bytes| {
        let bytes: [u8; 64] = bytes.as_slice().try_into().ok()?;
        Some(bytes.into())
    });
    Some(TransactionWithStatusMeta::Complete(
        VersionedTransactionWithStatusMeta {
            transaction: VersionedTransaction {
                signatures: signatures.collect::<Option<_>>()?,
                message: to_message(transaction.message?)?,
            },
            meta: to_meta(info.meta?)?,
        },
    ))
}

fn to_message(message: proto::Message) -> Option<VersionedMessage> {
    let header = message.header?;
    let header = MessageHeader {
        num_required_signatures: byte(header.num_required_signatures)?,
        num_readonly_signed_accounts: byte(header.num_readonly_signed_accounts)?,
        num_readonly_unsigned_accounts: byte(header.num_readonly_unsigned_accounts)?,
    };
    let account_keys = keys(&message.account_keys)?;
    let blockhash: [u8; 32] = message.recent_blockhash.as_slice().try_into().ok()?;
    let instructions = message.instructions.into_iter().map(|instruction| {
        Some(CompiledInstruction {
            program_id_index: byte(instruction.program_id_index)?,
            accounts: instruction.accounts,
            data: instruction.data,
        })
    });
    let instructions = instructions.collect::<Option<Vec<_>>>()?;
    if let Some(config) = message.config {
        return Some(VersionedMessage::V1(v1::Message {
            header,
            config: v1::TransactionConfig {
                priority_fee: config.priority_fee,
                compute_unit_limit: config.compute_unit_limit,
                loaded_accounts_data_size_limit: config.loaded_accounts_data_size_limit,
                heap_size: config.heap_size,
            },
            lifetime_specifier: blockhash.into(),
            account_keys,
            instructions,
        }));
    }
    if !message.versioned {
        return Some(VersionedMessage::Legacy(Message {
            header,
            account_keys,
            recent_blockhash: blockhash.into(),
            instructions,
        }));
    }
    let lookups = message.address_table_lookups.into_iter().map(|lookup| {
        Some(MessageAddressTableLookup {
            account_key: key(&lookup.account_key)?,
            writable_indexes: lookup.writable_indexes,
            readonly_indexes: lookup.readonly_indexes,
        })
    });
    Some(VersionedMessage::V0(v0::Message {
        header,
        account_keys,
        recent_blockhash: blockhash.into(),
        instructions,
        address_table_lookups: lookups.collect::<Option<_>>()?,
    }))
}

fn to_meta(meta: proto::TransactionStatusMeta) -> Option<TransactionStatusMeta> {
    let inner = meta.inner_instructions.into_iter().map(to_inner);
    let inner = inner.collect::<Option<Vec<_>>>()?;
    let return_data = match meta.return_data {
        Some(data) if !meta.return_data_none => Some(TransactionReturnData {
            program_id: key(&data.program_id)?,
            data: data.data,
        }),
        _ => None,
    };
    let rewards = meta.rewards.into_iter().map(to_reward);
    Some(TransactionStatusMeta {
        status: match meta.err {
            Some(error) => Err(bincode::deserialize(&error.err).ok()?),
            None => Ok(()),
        },
        fee: meta.fee,
        pre_balances: meta.pre_balances,
        post_balances: meta.post_balances,
        inner_instructions: (!meta.inner_instructions_none).then_some(inner),
        log_messages: (!meta.log_messages_none).then_some(meta.log_messages),
        pre_token_balances: Some(to_balances(meta.pre_token_balances)?),
        post_token_balances: Some(to_balances(meta.post_token_balances)?),
        rewards: Some(rewards.collect::<Option<_>>()?),
        loaded_addresses: LoadedAddresses {
            writable: keys(&meta.loaded_writable_addresses)?,
            readonly: keys(&meta.loaded_readonly_addresses)?,
        },
        return_data,
        compute_units_consumed: meta.compute_units_consumed,
        cost_units: meta.cost_units,
    })
}

fn to_inner(inner: proto::InnerInstructions) -> Option<InnerInstructions> {
    let instructions = inner.instructions.into_iter().map(|instruction| {
        Some(InnerInstruction {
            instruction: CompiledInstruction {
                program_id_index: byte(instruction.program_id_index)?,
                accounts: instruction.accounts,
                data: instruction.data,
            },
            stack_height: instruction.stack_height,
        })
    });
    Some(InnerInstructions {
        index: byte(inner.index)?,
        instructions: instructions.collect::<Option<_>>()?,
    })
}

/// As in Agave, which keeps transactions as protobuf: 0 and no amount are one.
fn to_balances(balances: Vec<proto::TokenBalance>) -> Option<Vec<TransactionTokenBalance>> {
    let balances = balances.into_iter().map(|balance| {
        let amount = balance.ui_token_amount?;
        Some(TransactionTokenBalance {
            account_index: byte(balance.account_index)?,
            mint: balance.mint,
            ui_token_amount: UiTokenAmount {
                ui_amount: (amount.ui_amount.abs() > f64::EPSILON).then_some(amount.ui_amount),
                decimals: byte(amount.decimals)?,
                amount: amount.amount,
                ui_amount_string: amount.ui_amount_string,
            },
            owner: balance.owner,
            program_id: balance.program_id,
        })
    });
    balances.collect()
}

fn to_reward(reward: proto::Reward) -> Option<Reward> {
    Some(Reward {
        reward_type: match reward.reward_type {
            1 => Some(RewardType::Fee),
            2 => Some(RewardType::Rent),
            3 => Some(RewardType::Staking),
            4 => Some(RewardType::Voting),
            5 => Some(RewardType::DeactivatedStake),
            _ => None,
        },
        pubkey: reward.pubkey,
        lamports: reward.lamports,
        post_balance: reward.post_balance,
        commission: reward.commission.parse().ok(),
        commission_bps: reward.commission_bps.parse().ok(),
    })
}

fn keys(keys: &[Vec<u8>]) -> Option<Vec<Pubkey>> {
    keys.iter().map(|bytes| key(bytes)).collect()
}

fn key(bytes: &[u8]) -> Option<Pubkey> {
    let bytes: [u8; 32] = bytes.try_into().ok()?;
    Some(bytes.into())
}

fn byte(number: u32) -> Option<u8> {
    u8::try_from(number).ok()
}
