//! What a stream sends of one slot.

use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

use tokio::task::yield_now;

use crate::content::{Block, Content};
use crate::filter::{Filters, Matches};
use crate::message::blocks::BlockUpdate;
use crate::message::fields::now;
use crate::message::{AccountUpdate, EntryUpdate, TransactionUpdate, Update, transaction_status};

/// Accounts that are compared in one turn.
const CANDIDATES_AT_ONCE: usize = 4_096;
/// Transactions, each with up to 256 addresses.
const TRANSACTIONS_AT_ONCE: usize = 256;

/// What passes of a slot, while it is sent.
pub struct Sending {
    content: Arc<Content>,
    accounts: IntoIter<(u32, u64)>,
    transactions: IntoIter<(u32, u64)>,
    entries: Range<usize>,
    blocks: IntoIter<BlockUpdate>,
    /// The outcome of a transaction that was sent whole.
    status: Option<Update>,
}

impl Sending {
    /// Finds what passes. Other streams have their turns meanwhile, however many accounts and
    /// filters there are.
    pub async fn of(filters: &Filters, block: &Block, content: Arc<Content>) -> Sending {
        let accounts = match_accounts(filters, &content).await;
        let transactions = match_transactions(filters, &content).await;
        let blocks = match_blocks(filters, block, &content).await;
        let entries = if filters.entries.is_empty() {
            0..0
        } else {
            0..content.entries.len()
        };
        Sending {
            content,
            accounts: accounts.into_iter(),
            transactions: transactions.into_iter(),
            entries,
            blocks: blocks.into_iter(),
            status: None,
        }
    }

    /// The next update of the slot, for the filters that it was made with; `None` at its end.
    pub fn next(&mut self, filters: &Filters) -> Option<Update> {
        if let Some(status) = self.status.take() {
            return Some(status);
        }
        if let Some((index, bits)) = self.accounts.next() {
            return Some(Update::Account(Box::new(AccountUpdate {
                filters: filters.account_names(bits),
                content: Arc::clone(&self.content),
                index: index as usize,
                slices: Arc::clone(&filters.slices),
                created_at: now(),
            })));
        }
        if let Some((index, bits)) = self.transactions.next() {
            let (index, content) = (index as usize, &self.content);
            let [whole, statuses] = filters.transaction_names(bits);
            let status = (!statuses.is_empty())
                .then(|| transaction_status(&statuses, content, index, now()));
            if whole.is_empty() {
                return status;
            }
            let update = TransactionUpdate {
                filters: whole,
                content: Arc::clone(content),
                index,
                created_at: now(),
                is_deshred: false,
            };
            self.status = status;
            return Some(Update::Transaction(Box::new(update)));
        }
        if let Some(index) = self.entries.next() {
            return Some(Update::Entry(Box::new(EntryUpdate {
                filters: Arc::clone(&filters.entries),
                content: Arc::clone(&self.content),
                index,
                created_at: now(),
            })));
        }
        let mut block = self.blocks.next()?;
        block.created_at = now();
        Some(Update::Block(Box::new(block)))
    }
}

/// The accounts that pass, ascending, with the bits of their filters.
pub async fn match_accounts(filters: &Filters, content: &Content) -> Vec<(u32, u64)> {
    let mut accounts = Matches::default();
    let mut index = 0;
    while let Some(filter) = filters.account_filter(index) {
        for part in filter.candidates(content).chunks(CANDIDATES_AT_ONCE) {
            accounts.add(index, part, |at| filter.passes(content, at));
            yield_now().await;
        }
        index += 1;
    }
    accounts.finish()
}

/// The same of transactions.
pub async fn match_transactions(filters: &Filters, content: &Content) -> Vec<(u32, u64)> {
    let mut transactions = Matches::default();
    let mut index = 0;
    while let Some(filter) = filters.transaction_filter(index) {
        for part in filter.candidates(content).chunks(TRANSACTIONS_AT_ONCE) {
            transactions.add(index, part, |at| filter.passes(content, at));
            yield_now().await;
        }
        index += 1;
    }
    transactions.finish()
}

/// The messages of a block, one for each filter of blocks.
async fn match_blocks(
    filters: &Filters,
    block: &Block,
    content: &Arc<Content>,
) -> Vec<BlockUpdate> {
    let mut updates = Vec::with_capacity(filters.blocks.len());
    for (name, filter) in &filters.blocks {
        let (mut transactions, mut accounts) = (Vec::new(), Vec::new());
        for part in filter.transactions(content).chunks(TRANSACTIONS_AT_ONCE) {
            let passes = |index: &&u32| filter.has_transaction(content, **index);
            transactions.extend(part.iter().filter(passes));
            yield_now().await;
        }
        for part in filter.accounts(content).chunks(CANDIDATES_AT_ONCE) {
            let passes = |index: &&u32| filter.has_account(content, **index);
            accounts.extend(part.iter().filter(passes));
            yield_now().await;
        }
        let entries = if filter.has_entries {
            0..content.entries.len()
        } else {
            0..0
        };
        let chosen = ([transactions, accounts], entries);
        let slices = &filters.slices;
        updates.push(BlockUpdate::new(
            name,
            block.clone(),
            content,
            chosen,
            slices,
        ));
    }
    updates
}
