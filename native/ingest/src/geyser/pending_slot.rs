//! The content of one slot while it is under way.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::block_assembler::{BlockMeta, Ready};
use primitives::Pubkey;
use store::{AccountUpdate, Block, TransactionUpdate};

/// What an open slot costs beside its content.
const SLOT_BYTES: usize = 512;
/// What an account costs beside its data: record, key, hash table at its fullest.
const ACCOUNT_BYTES: usize = 384;
/// What a transaction costs beside its error, keys and logs.
const TRANSACTION_BYTES: usize = 320;
/// What a log line costs beside its text.
const LINE_BYTES: usize = 24;

/// A slot whose block has not left yet.
pub struct PendingSlot {
    accounts: HashMap<Pubkey, (u64, AccountUpdate)>,
    transactions: HashMap<[u8; 64], (u64, TransactionUpdate)>,
    closed: HashSet<Pubkey>,
    pub meta: Option<BlockMeta>,
    pub is_confirmed: bool,
    /// What it costs, by the measure of `buffer_bytes_max`.
    pub bytes: usize,
}

impl PendingSlot {
    pub fn new() -> PendingSlot {
        PendingSlot {
            accounts: HashMap::new(),
            transactions: HashMap::new(),
            closed: HashSet::new(),
            meta: None,
            is_confirmed: false,
            bytes: SLOT_BYTES,
        }
    }

    /// The higher write version wins, and of equals the later message.
    pub fn put_account(&mut self, write_version: u64, account: AccountUpdate) {
        let bytes = ACCOUNT_BYTES + account.data.capacity();
        match self.accounts.entry(account.pubkey) {
            Entry::Vacant(entry) => {
                entry.insert((write_version, account));
                self.bytes += bytes;
            }
            Entry::Occupied(mut entry) => {
                let held = entry.get_mut();
                if write_version >= held.0 {
                    self.bytes = self.bytes - ACCOUNT_BYTES - held.1.data.capacity() + bytes;
                    *held = (write_version, account);
                }
            }
        }
    }

    pub fn put_transaction(&mut self, index: u64, transaction: TransactionUpdate) {
        self.bytes += transaction_bytes(&transaction);
        let signature = transaction.signature;
        if let Some((_, held)) = self.transactions.insert(signature, (index, transaction)) {
            self.bytes -= transaction_bytes(&held);
        }
    }

    /// Counts each as the deletion that may become of it.
    pub fn put_closed(&mut self, pubkeys: Vec<Pubkey>) {
        for pubkey in pubkeys {
            if self.closed.insert(pubkey) {
                self.bytes += ACCOUNT_BYTES;
            }
        }
    }

    pub fn into_ready(mut self, meta: BlockMeta, root: Option<u64>) -> Ready {
        // An account that is in scope again at the end of the slot came as an update of its own.
        // One without is gone, or somebody else's by now.
        for pubkey in self.closed {
            let closed = || (0, deletion_of(pubkey));
            self.accounts.entry(pubkey).or_insert_with(closed);
        }
        let mut accounts: Vec<_> = self.accounts.into_values().map(|(_, held)| held).collect();
        accounts.sort_unstable_by_key(|account| account.pubkey);
        let mut transactions: Vec<_> = self.transactions.into_values().collect();
        transactions.sort_unstable_by_key(|(index, transaction)| (*index, transaction.signature));
        let block = Block {
            slot: meta.slot,
            parent_slot: meta.parent_slot,
            blockhash: meta.blockhash,
            parent_blockhash: meta.parent_blockhash,
            block_height: meta.block_height,
            block_time: meta.block_time,
            accounts,
            transactions: transactions.into_iter().map(|(_, held)| held).collect(),
            root,
        };
        Ready {
            block,
            created_ms: meta.created_ms,
            bytes: self.bytes,
        }
    }
}

fn deletion_of(pubkey: Pubkey) -> AccountUpdate {
    AccountUpdate {
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
        32 * details.keys.capacity() + logs.sum::<usize>()
    });
    TRANSACTION_BYTES + error + details
}
