//! One `Subscribe`: its filters, and the message that each update becomes for them.

use std::sync::Arc;

use tonic::Status;
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof as Update;
use yellowstone_grpc_proto::geyser::{
    CommitmentLevel, SubscribeRequest, SubscribeRequestFilterBlocks, SubscribeRequestFilterSlots,
    SubscribeUpdate, SubscribeUpdateAccount, SubscribeUpdateBlock, SubscribeUpdateSlot,
    SubscribeUpdateTransaction, SubscribeUpdateTransactionStatus,
};

use crate::filter::{Accounts, Transactions, slot_matches};
use crate::item::{Body, Item, Level, SealedBlock, Transaction};

type Labelled<T> = Vec<(String, T)>;

pub struct Subscription {
    pub level: Level,
    accounts: Labelled<Accounts>,
    slots: Labelled<SubscribeRequestFilterSlots>,
    transactions: Labelled<Transactions>,
    statuses: Labelled<Transactions>,
    blocks: Labelled<SubscribeRequestFilterBlocks>,
    metas: Vec<String>,
}

impl Subscription {
    pub fn new(request: SubscribeRequest) -> Result<Subscription, Status> {
        let is_unsupported = !request.entry.is_empty()
            || !request.block_footer.is_empty()
            || !request.accounts_data_slice.is_empty();
        if is_unsupported {
            return Err(Status::invalid_argument(
                "failed to create filter: not supported",
            ));
        }
        let level = match request.commitment() {
            CommitmentLevel::Processed => Level::Processed,
            CommitmentLevel::Confirmed => Level::Confirmed,
            CommitmentLevel::Finalized => Level::Finalized,
        };
        Ok(Subscription {
            level,
            accounts: labelled(&request.accounts, Accounts::new)?,
            slots: request.slots.into_iter().collect(),
            transactions: labelled(&request.transactions, Transactions::new)?,
            statuses: labelled(&request.transactions_status, Transactions::new)?,
            blocks: request.blocks.into_iter().collect(),
            metas: request.blocks_meta.into_keys().collect(),
        })
    }

    /// The messages for an update: a transaction may be asked for whole and as its status.
    pub fn messages(&self, item: &Item) -> Vec<SubscribeUpdate> {
        if item.level.is_some_and(|level| level != self.level) {
            return Vec::new();
        }
        let message = |filters: Vec<String>, update: Update| SubscribeUpdate {
            filters,
            update_oneof: Some(update),
            created_at: Some(item.at.into()),
        };
        let updates = match &item.body {
            Body::Account {
                slot,
                info,
                is_startup,
            } => {
                let labels = labels(&self.accounts, |filter| filter.matches(info));
                vec![(labels, account(*slot, info, *is_startup))]
            }
            Body::Transaction { slot, transaction } => vec![
                (
                    labels(&self.transactions, |filter| filter.matches(transaction)),
                    Update::Transaction(SubscribeUpdateTransaction {
                        transaction: Some(transaction.info.clone()),
                        slot: *slot,
                        bank_id: 0,
                    }),
                ),
                (
                    labels(&self.statuses, |filter| filter.matches(transaction)),
                    transaction_status(*slot, transaction),
                ),
            ],
            Body::Block(block) => return self.blocks(block, message),
            Body::Meta(block) => vec![(self.metas.clone(), Update::BlockMeta(block.meta.clone()))],
            Body::Slot {
                slot,
                parent,
                status,
                error,
            } => {
                let level = self.level;
                let labels = labels(&self.slots, |filter| slot_matches(filter, level, *status));
                let update = SubscribeUpdateSlot {
                    slot: *slot,
                    parent: *parent,
                    status: (*status).into(),
                    dead_error: error.clone(),
                    bank_id: None,
                };
                vec![(labels, Update::Slot(update))]
            }
        };
        let wanted = updates.into_iter().filter(|(labels, _)| !labels.is_empty());
        wanted
            .map(|(labels, update)| message(labels, update))
            .collect()
    }

    /// Each filter has its own message: they ask for different parts.
    fn blocks(
        &self,
        block: &Arc<SealedBlock>,
        message: impl Fn(Vec<String>, Update) -> SubscribeUpdate,
    ) -> Vec<SubscribeUpdate> {
        let blocks = self.blocks.iter();
        let blocks = blocks.map(|(label, filter)| {
            message(vec![label.clone()], Update::Block(block_of(block, filter)))
        });
        blocks.collect()
    }
}

fn labelled<F, T>(
    filters: &std::collections::HashMap<String, F>,
    parse: impl Fn(&F) -> Result<T, Status>,
) -> Result<Labelled<T>, Status> {
    let filters = filters.iter();
    filters
        .map(|(label, filter)| Ok((label.clone(), parse(filter)?)))
        .collect()
}

fn labels<T>(filters: &Labelled<T>, matches: impl Fn(&T) -> bool) -> Vec<String> {
    let matching = filters.iter().filter(|(_, filter)| matches(filter));
    matching.map(|(label, _)| label.clone()).collect()
}

fn account(
    slot: u64,
    info: &yellowstone_grpc_proto::geyser::SubscribeUpdateAccountInfo,
    is_startup: bool,
) -> Update {
    Update::Account(SubscribeUpdateAccount {
        account: Some(info.clone()),
        slot,
        is_startup,
        bank_id: None,
    })
}

fn transaction_status(slot: u64, transaction: &Transaction) -> Update {
    let info = &transaction.info;
    Update::TransactionStatus(SubscribeUpdateTransactionStatus {
        slot,
        signature: info.signature.clone(),
        is_vote: info.is_vote,
        index: info.index,
        err: info.meta.as_ref().and_then(|meta| meta.err.clone()),
        bank_id: 0,
    })
}

fn block_of(block: &SealedBlock, filter: &SubscribeRequestFilterBlocks) -> SubscribeUpdateBlock {
    let meta = block.meta.clone();
    let has_transactions = filter.include_transactions.unwrap_or(true);
    let has_accounts = filter.include_accounts == Some(true);
    let transactions = block.transactions.iter().filter(|_| has_transactions);
    let accounts = block.accounts.iter().filter(|_| has_accounts);
    SubscribeUpdateBlock {
        slot: meta.slot,
        blockhash: meta.blockhash,
        rewards: meta.rewards,
        block_time: meta.block_time,
        block_height: meta.block_height,
        parent_slot: meta.parent_slot,
        parent_blockhash: meta.parent_blockhash,
        executed_transaction_count: meta.executed_transaction_count,
        transactions: transactions
            .map(|transaction| transaction.info.clone())
            .collect(),
        updated_account_count: block.accounts.len() as u64,
        accounts: accounts.map(|account| (**account).clone()).collect(),
        entries_count: meta.entries_count,
        entries: Vec::new(),
        bank_id: 0,
    }
}
