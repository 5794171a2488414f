//! What a transaction offers for its place in a block, and which accounts gained lamports by it.

use primitives::Pubkey;
use primitives::writable::{COMPUTE_BUDGET, RESERVED, UPGRADEABLE_LOADER};
use store::TransactionCost;
use yellowstone_grpc_proto::solana::storage::confirmed_block::{
    CompiledInstruction, MessageHeader, TransactionConfig,
};

/// Instructions of the ComputeBudget program, by the first byte of their data.
const SET_LIMIT: u8 = 2;
const SET_PRICE: u8 = 3;
const MICRO_LAMPORTS: u128 = 1_000_000;

/// The parts of a message that cost depends on.
pub(super) struct Offer<'a> {
    pub header: MessageHeader,
    pub instructions: &'a [CompiledInstruction],
    /// Of a message of version 1.
    pub config: Option<TransactionConfig>,
    /// Static keys, loaded writable ones, loaded read-only ones.
    pub keys: &'a [Pubkey],
    pub static_count: usize,
    pub loaded_writable_count: usize,
}

impl Offer<'_> {
    /// The price, the locks and, of a transaction that succeeded, the gains. `balances` are those
    /// before and after it; if they are not those of all keys, there are no gains.
    pub(super) fn cost(&self, balances: Option<(&[u64], &[u64])>) -> TransactionCost {
        TransactionCost {
            price: self.price(),
            writable: self.positions(|position| self.is_writable(position)),
            gains: balances.map_or_else(Vec::new, |(before, after)| self.gains(before, after)),
        }
    }

    /// As in Agave, a limit of 0 compute units has no price, nor has a message without
    /// instructions, whose limit is 0. One of version 1 states lamports for all its units.
    fn price(&self) -> Option<u64> {
        if let Some(config) = &self.config {
            let limit = config.compute_unit_limit.filter(|limit| *limit > 0)?;
            let lamports = u128::from(config.priority_fee.unwrap_or(0));
            let price = lamports * MICRO_LAMPORTS / u128::from(limit);
            return Some(u64::try_from(price).unwrap_or(u64::MAX));
        }
        let (mut price, mut limit) = (0, None);
        for instruction in self.instructions {
            if self.program_of(instruction) != Some(&COMPUTE_BUDGET) {
                continue;
            }
            let Some((kind, rest)) = instruction.data.split_first() else {
                continue;
            };
            match *kind {
                SET_LIMIT => limit = rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)),
                SET_PRICE => {
                    price = rest
                        .first_chunk()
                        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
                }
                _ => {}
            }
        }
        (limit != Some(0) && !self.instructions.is_empty()).then_some(price)
    }

    fn program_of(&self, instruction: &CompiledInstruction) -> Option<&Pubkey> {
        self.keys.get(instruction.program_id_index as usize)
    }

    /// Whether the chain locks the key for writing: the header or the lookup table asks for it, the
    /// key is not reserved, and it is not invoked unless the upgradeable loader is present.
    fn is_writable(&self, position: usize) -> bool {
        let is_invoked =
            |instruction: &CompiledInstruction| instruction.program_id_index as usize == position;
        self.is_requested(position)
            && self
                .keys
                .get(position)
                .is_some_and(|key| !RESERVED.contains(key))
            && (!self.instructions.iter().any(is_invoked)
                || self.keys.contains(&UPGRADEABLE_LOADER))
    }

    fn is_requested(&self, position: usize) -> bool {
        let number = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let required = number(self.header.num_required_signatures);
        if position >= self.static_count {
            position < self.static_count + self.loaded_writable_count
        } else if position < required {
            position < required.saturating_sub(number(self.header.num_readonly_signed_accounts))
        } else {
            let read_only = number(self.header.num_readonly_unsigned_accounts);
            position < self.static_count.saturating_sub(read_only)
        }
    }

    fn gains(&self, before: &[u64], after: &[u64]) -> Vec<(u8, u64)> {
        if before.len() != self.keys.len() || after.len() != self.keys.len() {
            return Vec::new();
        }
        let balances = (0..=u8::MAX).zip(before.iter().zip(after));
        balances
            .filter(|(_, (before, after))| after > before)
            .map(|(position, (before, after))| (position, after - before))
            .collect()
    }

    fn positions(&self, is_chosen: impl Fn(usize) -> bool) -> Vec<u8> {
        let positions = (0..=u8::MAX).take(self.keys.len());
        positions
            .filter(|position| is_chosen(usize::from(*position)))
            .collect()
    }
}
