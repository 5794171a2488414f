//! The content of one bank, which becomes a block if the chain takes it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::update::{BlockMeta, Origin, Ready};
use primitives::Pubkey;
use store::{AccountUpdate, Block, BlockParts, TransactionUpdate};

/// Fixed memory cost of a bank, in bytes.
const BANK_BYTES: usize = 512;
/// Memory cost of an account without its data, in bytes: record, key, and hash table at its maximum
/// load.
const ACCOUNT_BYTES: usize = 384;
/// Memory cost of a transaction without its error and details, in bytes.
const TRANSACTION_BYTES: usize = 320;
/// Memory cost of an entry without its bytes, in bytes.
const ENTRY_BYTES: usize = 64;
/// Memory cost of a log line without its text, in bytes.
const LINE_BYTES: usize = 24;

/// A bank whose block is not yet released.
pub struct PendingBank {
    accounts: HashMap<Pubkey, (u64, AccountUpdate)>,
    transactions: HashMap<[u8; 64], TransactionUpdate>,
    closed: HashSet<Pubkey>,
    entries: BTreeMap<u64, Vec<u8>>,
    footer: Option<Vec<u8>>,
    pub meta: Option<BlockMeta>,
    /// Memory cost, measured as for `buffer_bytes_max`.
    pub bytes: usize,
}

impl PendingBank {
    pub fn new() -> PendingBank {
        PendingBank {
            accounts: HashMap::new(),
            transactions: HashMap::new(),
            closed: HashSet::new(),
            entries: BTreeMap::new(),
            footer: None,
            meta: None,
            bytes: BANK_BYTES,
        }
    }

    /// Keeps the higher write version, or the later message if they are equal.
    pub fn put_account(&mut self, write_version: u64, account: AccountUpdate) {
        let bytes = ACCOUNT_BYTES + account.data.capacity();
        match self.accounts.entry(account.pubkey) {
            Entry::Vacant(entry) => {
                entry.insert((write_version, account));
                self.bytes += bytes;
            }
            Entry::Occupied(mut entry) => {
                let stored = entry.get_mut();
                if write_version >= stored.0 {
                    self.bytes = self.bytes - ACCOUNT_BYTES - stored.1.data.capacity() + bytes;
                    *stored = (write_version, account);
                }
            }
        }
    }

    pub fn put_transaction(&mut self, transaction: TransactionUpdate) {
        self.bytes += transaction_bytes(&transaction);
        let signature = transaction.signature;
        if let Some(stored) = self.transactions.insert(signature, transaction) {
            self.bytes -= transaction_bytes(&stored);
        }
    }

    /// Counts each pubkey as a possible deletion.
    pub fn put_closed(&mut self, pubkeys: Vec<Pubkey>) {
        for pubkey in pubkeys {
            if self.closed.insert(pubkey) {
                self.bytes += ACCOUNT_BYTES;
            }
        }
    }

    pub fn put_entry(&mut self, index: u64, entry: Vec<u8>) {
        self.bytes += ENTRY_BYTES + entry.capacity();
        if let Some(stored) = self.entries.insert(index, entry) {
            self.bytes -= ENTRY_BYTES + stored.capacity();
        }
    }

    pub fn put_footer(&mut self, footer: Vec<u8>) {
        self.bytes += footer.capacity();
        let stored = self.footer.replace(footer);
        self.bytes -= stored.map_or(0, |stored| stored.capacity());
    }

    pub fn into_ready(mut self, meta: BlockMeta, root: Option<u64>) -> Ready {
        // An account that is in scope at the end of the slot arrived as its own update. An account
        // without one is deleted or now has another owner.
        for pubkey in self.closed {
            let closed = || (0, deletion_of(pubkey));
            self.accounts.entry(pubkey).or_insert_with(closed);
        }
        let mut accounts: Vec<_> = self
            .accounts
            .into_values()
            .map(|(_, stored)| stored)
            .collect();
        accounts.sort_unstable_by_key(|account| account.pubkey);
        let mut transactions: Vec<_> = self.transactions.into_values().collect();
        transactions.sort_unstable_by_key(|transaction| (transaction.index, transaction.signature));
        let block = Block {
            slot: meta.slot,
            parent_slot: meta.parent_slot,
            blockhash: meta.blockhash,
            parent_blockhash: meta.parent_blockhash,
            block_height: meta.block_height,
            block_time: meta.block_time,
            accounts,
            transactions,
            parts: BlockParts {
                meta: meta.kept,
                footer: self.footer,
                entries: self.entries.into_values().collect(),
            },
            root,
            has_details: false,
        };
        Ready {
            block,
            origin: Origin {
                created_ms: meta.created_ms,
                ..Origin::default()
            },
            bytes: self.bytes,
        }
    }
}

fn deletion_of(pubkey: Pubkey) -> AccountUpdate {
    AccountUpdate {
        is_signed: true,
        pubkey,
        lamports: 0,
        rent_epoch: 0,
        executable: false,
        owner: [0; 32],
        data: Vec::new(),
    }
}

fn transaction_bytes(transaction: &TransactionUpdate) -> usize {
    let error = transaction.error.as_ref().map_or(0, Vec::capacity);
    let details = transaction.details.as_ref().map_or(0, |details| {
        let logs = details.logs.iter().map(|line| LINE_BYTES + line.capacity());
        let cost = details.cost.writable.capacity() + 16 * details.cost.gains.capacity();
        let full = details.full.as_ref().map_or(0, Vec::capacity);
        32 * details.keys.capacity() + full + cost + logs.sum::<usize>()
    });
    TRANSACTION_BYTES + error + details
}
