//! What a stream sends of one batch.

use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::subscribe_update_deshred::UpdateOneof as DeshredOneof;
use yellowstone_grpc_proto::geyser::{SlotStatus, SubscribeUpdateDeshred};
use yellowstone_grpc_proto::prost_types::Timestamp;

use super::batch::{Batch, Item};
use crate::filter::Filters;
use crate::message::{AccountUpdate, TransactionUpdate, Update, made, names, transaction_status};
use crate::sending::{match_accounts, match_transactions};

type Matched = Peekable<IntoIter<(u32, u64)>>;

/// What passes of a batch, while it is sent.
pub struct Passing {
    batch: Arc<Batch>,
    is_deshred: bool,
    /// The item that is next.
    at: usize,
    accounts: Matched,
    transactions: Matched,
    /// The outcome of a transaction that was sent whole.
    status: Option<Update>,
}

impl Passing {
    pub async fn of(filters: &Filters, batch: Arc<Batch>, is_deshred: bool) -> Passing {
        let accounts = match_accounts(filters, &batch.content).await;
        let transactions = match_transactions(filters, &batch.content).await;
        Passing {
            batch,
            is_deshred,
            at: 0,
            accounts: accounts.into_iter().peekable(),
            transactions: transactions.into_iter().peekable(),
            status: None,
        }
    }

    /// The next update, for the filters that it was made with; `None` at the end of the batch.
    pub fn next(&mut self, filters: &Filters) -> Option<Update> {
        if let Some(status) = self.status.take() {
            return Some(status);
        }
        loop {
            let batch = Arc::clone(&self.batch);
            let (created_at, item) = batch.items.get(self.at)?;
            self.at += 1;
            if let Some(update) = self.pass(item, *created_at, filters) {
                return Some(update);
            }
        }
    }

    fn pass(&mut self, item: &Item, created_at: Timestamp, filters: &Filters) -> Option<Update> {
        match item {
            Item::Account(index) => {
                let (_, bits) = self.accounts.next_if(|(at, _)| at == index)?;
                Some(Update::Account(Box::new(AccountUpdate {
                    filters: filters.account_names(bits),
                    content: Arc::clone(&self.batch.content),
                    index: *index as usize,
                    slices: Arc::clone(&filters.slices),
                    created_at,
                })))
            }
            Item::Transaction(index) => {
                let (_, bits) = self.transactions.next_if(|(at, _)| at == index)?;
                self.transaction(*index as usize, bits, created_at, filters)
            }
            Item::Slot(slot) => {
                let passed = filters.slots(SlotStatus::try_from(slot.status).ok()?);
                let update = UpdateOneof::Slot(slot.clone());
                (!passed.is_empty()).then(|| made(&passed, created_at, update))
            }
            Item::Meta(meta) => {
                let passed = &filters.blocks_meta;
                let update = || UpdateOneof::BlockMeta(meta.as_ref().clone());
                (!passed.is_empty()).then(|| made(passed, created_at, update()))
            }
            Item::Parent(parent) => {
                let update = || SubscribeUpdateDeshred {
                    filters: names(&filters.parents),
                    created_at: Some(created_at),
                    update_oneof: Some(DeshredOneof::DeshredUpdateParent(parent.clone())),
                };
                let is_wanted = !filters.parents.is_empty();
                is_wanted.then(|| Update::Deshred(Box::new(update())))
            }
        }
    }

    /// The transaction, then its outcome, for the filters of each.
    fn transaction(
        &mut self,
        index: usize,
        bits: u64,
        created_at: Timestamp,
        filters: &Filters,
    ) -> Option<Update> {
        let content = &self.batch.content;
        let [whole, statuses] = filters.transaction_names(bits);
        let status = (!statuses.is_empty())
            .then(|| transaction_status(&statuses, content, index, created_at));
        if whole.is_empty() {
            return status;
        }
        self.status = status;
        Some(Update::Transaction(Box::new(TransactionUpdate {
            filters: whole,
            content: Arc::clone(content),
            index,
            created_at,
            is_deshred: self.is_deshred,
        })))
    }
}
