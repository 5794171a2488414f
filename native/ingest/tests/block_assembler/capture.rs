//! A recorded mainnet stream at PROCESSED, with all six statuses and no accounts.

use std::collections::{BTreeMap, BTreeSet};

use store::Block;
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::{SlotStatus, SubscribeUpdate};
use yellowstone_grpc_proto::prost::Message as _;

/// Number of messages in the recording.
const MESSAGES: usize = 24_112;

pub struct Capture {
    pub updates: Vec<SubscribeUpdate>,
    /// The chain up to its newest confirmed block, according to the recorded statuses.
    pub chain: Vec<u64>,
    /// The newest finalized slot when that block was complete, and the newest in the recording.
    finalized: (Option<u64>, u64),
}

impl Capture {
    /// Returns `None` and prints a message if the shared fixtures are not beside the checkout.
    pub fn read() -> Option<Capture> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/fixtures/geyser/richat-sample-part1.bin");
        let Ok(bytes) = std::fs::read(path) else {
            eprintln!("skipped: the shared fixtures are not beside this checkout");
            return None;
        };
        let (mut rest, mut updates) = (bytes.as_slice(), Vec::new());
        while let Some((length, tail)) = rest.split_first_chunk::<4>() {
            let (message, tail) = tail.split_at(u32::from_be_bytes(*length) as usize);
            rest = tail;
            updates.push(SubscribeUpdate::decode(message).expect("a recorded message"));
        }
        assert_eq!(updates.len(), MESSAGES);
        let (chain, finalized) = chain_of(&updates);
        Some(Capture {
            updates,
            chain,
            finalized,
        })
    }

    /// Checks that the blocks match the recorded chain and that each is linked to the previous one.
    pub fn assert_is(&self, blocks: &[Block]) {
        let chain = &self.chain;
        assert!(chain.len() >= 20, "{} blocks", chain.len());
        let slots: Vec<u64> = blocks.iter().map(|block| block.slot).collect();
        assert_eq!(slots, *chain);
        let last = blocks.last().expect("a block");
        let (finalized, newest_finalized) = self.finalized;
        assert_eq!(last.root, finalized);
        // The newest finalized slot must be on the chain, unless it precedes the chain's first
        // block.
        assert!(newest_finalized <= last.slot);
        assert!(newest_finalized < chain[0] || chain.contains(&newest_finalized));
        for pair in blocks.windows(2) {
            assert_eq!(pair[1].parent_slot, pair[0].slot);
            assert_eq!(pair[1].parent_blockhash, pair[0].blockhash);
            assert_eq!(pair[1].block_height, pair[0].block_height + 1);
        }
    }
}

/// Computes the chain without the reader.
fn chain_of(updates: &[SubscribeUpdate]) -> (Vec<u64>, (Option<u64>, u64)) {
    let (mut parents, mut confirmed) = (BTreeMap::new(), BTreeSet::new());
    let (mut finalized, mut last) = (None, (0, None));
    for update in updates {
        let slot = match &update.update_oneof {
            Some(UpdateOneof::BlockMeta(meta)) => {
                parents.insert(meta.slot, meta.parent_slot);
                meta.slot
            }
            Some(UpdateOneof::Slot(status)) => {
                if status.status == SlotStatus::SlotFinalized as i32 {
                    finalized = finalized.max(Some(status.slot));
                }
                if status.status == SlotStatus::SlotConfirmed as i32 {
                    confirmed.insert(status.slot);
                }
                status.slot
            }
            _ => continue,
        };
        if slot > last.0 && parents.contains_key(&slot) && confirmed.contains(&slot) {
            last = (slot, finalized);
        }
    }
    let mut chain = vec![last.0];
    while let Some(parent) = chain.last().and_then(|slot| parents.get(slot)) {
        if !parents.contains_key(parent) {
            break;
        }
        chain.push(*parent);
    }
    chain.reverse();
    (chain, (last.1, finalized.unwrap_or(0)))
}
