//! The content of one slot while it is under way.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::slots::{BlockMeta, Ready};
use crate::Pubkey;
use crate::store::{AccountUpdate, Block, SignatureStatus};

/// What an open slot costs beside its content.
const SLOT_BYTES: usize = 512;
/// What an account costs beside its data: record, key, hash table at its fullest.
const ACCOUNT_BYTES: usize = 384;
/// What a signature costs beside its error.
const SIGNATURE_BYTES: usize = 256;

/// A slot whose block has not left yet.
pub struct Open {
    accounts: HashMap<Pubkey, (u64, AccountUpdate)>,
    signatures: HashMap<[u8; 64], (u64, SignatureStatus)>,
    pub meta: Option<BlockMeta>,
    pub is_confirmed: bool,
    /// What it costs, by the measure of `buffer_bytes_max`.
    pub bytes: usize,
}

impl Open {
    pub fn new() -> Open {
        Open {
            accounts: HashMap::new(),
            signatures: HashMap::new(),
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

    pub fn put_signature(&mut self, index: u64, status: SignatureStatus) {
        let bytes = |status: &SignatureStatus| {
            SIGNATURE_BYTES + status.error.as_ref().map_or(0, Vec::capacity)
        };
        self.bytes += bytes(&status);
        if let Some((_, held)) = self.signatures.insert(status.signature, (index, status)) {
            self.bytes -= bytes(&held);
        }
    }

    pub fn into_ready(self, meta: BlockMeta) -> Ready {
        let mut accounts: Vec<_> = self.accounts.into_values().map(|(_, held)| held).collect();
        accounts.sort_unstable_by_key(|account| account.pubkey);
        let mut signatures: Vec<_> = self.signatures.into_values().collect();
        signatures.sort_unstable_by_key(|(index, status)| (*index, status.signature));
        let block = Block {
            slot: meta.slot,
            parent_slot: meta.parent_slot,
            blockhash: meta.blockhash,
            parent_blockhash: meta.parent_blockhash,
            block_height: meta.block_height,
            block_time: meta.block_time,
            accounts,
            signatures: signatures.into_iter().map(|(_, status)| status).collect(),
        };
        Ready {
            block,
            created_ms: meta.created_ms,
            bytes: self.bytes,
        }
    }
}
