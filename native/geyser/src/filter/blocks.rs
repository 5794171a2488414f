//! One filter of whole blocks: which transactions and accounts of a block its message has.

use store::Scope;
use tonic::Status;
use yellowstone_grpc_proto::geyser::SubscribeRequestFilterBlocks;

use crate::content::Content;
use crate::filter::keys::{KeySet, Keys, Outside, outside_scope};
use crate::filter::transactions::Kept;
use crate::status::invalid_filter;

/// A filter of blocks. Each block passes; `include` chooses its transactions by the accounts that
/// they name, and its accounts by their addresses.
#[derive(Debug)]
pub struct BlockFilter {
    include: KeySet,
    /// As by Yellowstone, true by default; the others are false.
    pub has_transactions: bool,
    pub has_accounts: bool,
    pub has_entries: bool,
}

impl BlockFilter {
    /// `keys` counts those of all filters of a request.
    pub fn parse(
        filter: &SubscribeRequestFilterBlocks,
        keys: &mut Keys,
        scope: &Scope,
        kept: Kept,
    ) -> Result<BlockFilter, Status> {
        let has_transactions = filter.include_transactions.unwrap_or(true);
        let has_accounts = filter.include_accounts.unwrap_or(false);
        if has_transactions && kept == Kept::None {
            return Err(invalid_filter(
                "`include_transactions` of `blocks` must be false: the index does not keep whole \
                 transactions",
            ));
        }
        let has_entries = filter.include_entries.unwrap_or(false);
        if has_entries && !kept.has_entries() {
            return Err(invalid_filter(
                "`include_entries` is not allowed: the index does not keep entries",
            ));
        }
        let include = KeySet::parse(
            &filter.account_include,
            &filter.cuckoo_account_include,
            keys,
        )?;
        if has_accounts {
            match include.outside(scope) {
                Outside::Nothing => {}
                Outside::Key(key) => {
                    return Err(outside_scope(&primitives::encoding::encode_pubkey(&key)));
                }
                Outside::Unlisted => {
                    return Err(outside_scope(
                        "`include_accounts` without an `account_include` of the scope",
                    ));
                }
            }
        }
        Ok(BlockFilter {
            include,
            has_transactions,
            has_accounts,
            has_entries,
        })
    }

    pub fn has_cuckoo(&self) -> bool {
        self.include.has_cuckoo()
    }

    /// Whether it looks at all accounts of a block.
    pub fn is_any(&self) -> bool {
        self.has_accounts && self.include.is_all()
    }

    /// The transactions of a block that its message has, ascending: those that it may have, and
    /// whether it has one of these.
    pub fn transactions(&self, content: &Content) -> Vec<u32> {
        let all = content.transactions.len();
        match (self.has_transactions, self.include.few(all)) {
            (false, _) => Vec::new(),
            (true, Some(listed)) => ascending(content.naming_any(listed)),
            (true, None) => (0..all as u32).collect(),
        }
    }

    pub fn has_transaction(&self, content: &Content, index: u32) -> bool {
        let keys = &content.transactions[index as usize].keys;
        self.include.is_all() || keys.iter().any(|key| self.include.lets_through(key))
    }

    /// The same of accounts.
    pub fn accounts(&self, content: &Content) -> Vec<u32> {
        let all = content.accounts.len();
        match (self.has_accounts, self.include.few(all)) {
            (false, _) => Vec::new(),
            (true, Some(listed)) => {
                ascending(listed.iter().filter_map(|key| content.find(key)).collect())
            }
            (true, None) => (0..all as u32).collect(),
        }
    }

    pub fn has_account(&self, content: &Content, index: u32) -> bool {
        let account = &content.accounts[index as usize];
        self.include.lets_through(&account.pubkey)
    }
}

fn ascending(mut indexes: Vec<u32>) -> Vec<u32> {
    indexes.sort_unstable();
    indexes.dedup();
    indexes
}
