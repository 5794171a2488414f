//! What a client has subscribed to: a request, checked. Each request replaces the one before it.

pub mod accounts;
pub mod blocks;
mod checks;
mod deshred;
pub mod keys;
pub mod transactions;

use std::collections::BTreeMap;
use std::sync::Arc;

use ingest::geyser::Kinds;
use store::Scope;
use tonic::Status;
use yellowstone_grpc_proto::geyser::{
    CommitmentLevel, SlotStatus, SubscribeRequest, SubscribeRequestAccountsDataSlice,
    SubscribeRequestFilterSlots, SubscribeRequestFilterTransactions,
};

use accounts::AccountFilter;
use blocks::BlockFilter;
use checks::{check_kinds, check_processed, sorted, too_many};
use keys::Keys;
use transactions::{Kept, TransactionFilter};

#[cfg(test)]
use crate::content::Content;
use crate::content::Slice;
use crate::status::invalid_filter;

/// Filters of accounts of one stream, and of transactions: each is a bit of a word.
pub const ACCOUNT_FILTERS_MAX: usize = 64;
const TRANSACTION_FILTERS_MAX: usize = 16;
/// Filters of blocks: each has a message of its own with all of a block.
const BLOCK_FILTERS_MAX: usize = 4;
/// Filters that look at every account of a slot.
const ANY_FILTERS_MAX: usize = 4;
/// Filters of any other kind.
const FILTERS_MAX: usize = 64;
const CUCKOOS_MAX: usize = 4;
const SLICES_MAX: usize = 16;

/// When content is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commitment {
    /// At once, as the source sends it.
    Processed,
    Confirmed,
    Finalized,
}

impl Commitment {
    fn status(self) -> SlotStatus {
        match self {
            Commitment::Processed => SlotStatus::SlotProcessed,
            Commitment::Confirmed => SlotStatus::SlotConfirmed,
            Commitment::Finalized => SlotStatus::SlotFinalized,
        }
    }
}

#[derive(Debug)]
struct SlotFilter {
    name: Arc<str>,
    is_by_commitment: bool,
    /// Statuses of slots that are not a commitment, which only the source has.
    has_interslot: bool,
}

impl SlotFilter {
    fn of((name, filter): (&str, &SubscribeRequestFilterSlots)) -> SlotFilter {
        SlotFilter {
            name: name.into(),
            is_by_commitment: filter.filter_by_commitment.unwrap_or(false),
            has_interslot: filter.interslot_updates.unwrap_or(false),
        }
    }
}

/// The filters of one stream.
#[derive(Debug)]
pub struct Filters {
    pub commitment: Commitment,
    pub slices: Arc<[Slice]>,
    accounts: Vec<(Arc<str>, AccountFilter)>,
    slots: Vec<SlotFilter>,
    pub blocks_meta: Vec<Arc<str>>,
    /// Of whole transactions, then of their outcomes.
    transactions: Vec<(Arc<str>, TransactionFilter)>,
    statuses: Vec<(Arc<str>, TransactionFilter)>,
    pub blocks: Vec<(Arc<str>, BlockFilter)>,
    /// Each gets all entries. What it asks about other banks of a slot never happens here: a
    /// confirmed slot has one.
    pub entries: Arc<[Arc<str>]>,
    /// With whether it gets certificates.
    footers: Vec<(Arc<str>, bool)>,
    /// Of `SubscribeDeshred`: those that get changes of a slot's parent.
    pub parents: Vec<Arc<str>>,
    /// Replays from this slot.
    pub from_slot: Option<u64>,
}

impl Default for Filters {
    fn default() -> Filters {
        Filters {
            commitment: Commitment::Confirmed,
            slices: Arc::default(),
            accounts: Vec::new(),
            slots: Vec::new(),
            blocks_meta: Vec::new(),
            transactions: Vec::new(),
            statuses: Vec::new(),
            blocks: Vec::new(),
            entries: Arc::default(),
            footers: Vec::new(),
            parents: Vec::new(),
            from_slot: None,
        }
    }
}

fn parse_commitment(level: Option<i32>) -> Result<Commitment, Status> {
    let Some(level) = level else {
        return Ok(Commitment::Confirmed);
    };
    match CommitmentLevel::try_from(level) {
        Ok(CommitmentLevel::Confirmed) => Ok(Commitment::Confirmed),
        Ok(CommitmentLevel::Finalized) => Ok(Commitment::Finalized),
        Ok(CommitmentLevel::Processed) => Ok(Commitment::Processed),
        Err(_) => {
            let reason = format!("failed to create CommitmentLevel from {level}");
            Err(invalid_filter(&reason))
        }
    }
}

fn parse_slices(slices: &[SubscribeRequestAccountsDataSlice]) -> Result<Arc<[Slice]>, Status> {
    if slices.len() > SLICES_MAX {
        return Err(too_many(SLICES_MAX));
    }
    let of = |slice: &SubscribeRequestAccountsDataSlice| Slice {
        offset: slice.offset,
        length: slice.length,
    };
    let slices: Vec<Slice> = slices.iter().map(of).collect();
    for pair in slices.windows(2) {
        if pair[0].offset > pair[1].offset {
            return Err(invalid_filter(
                "failed to create filter: data slices out of order",
            ));
        }
        let end = pair[0].offset.checked_add(pair[0].length);
        if end.is_none_or(|end| end > pair[1].offset) {
            return Err(invalid_filter(
                "failed to create filter: data slices overlapped",
            ));
        }
    }
    Ok(slices.into())
}

/// Filters that cost more than others.
fn check_costs(
    accounts: &[(Arc<str>, AccountFilter)],
    blocks: &[(Arc<str>, BlockFilter)],
    transactions: &[&[(Arc<str>, TransactionFilter)]],
) -> Result<(), Status> {
    let count = |is: &dyn Fn(&AccountFilter) -> bool, in_block: &dyn Fn(&BlockFilter) -> bool| {
        accounts.iter().filter(|(_, filter)| is(filter)).count()
            + blocks.iter().filter(|(_, filter)| in_block(filter)).count()
    };
    let any = count(&AccountFilter::is_any, &BlockFilter::is_any);
    let of_transactions = transactions.iter().copied().flatten();
    let of_transactions = of_transactions.filter(|(_, filter)| filter.has_cuckoo());
    let cuckoos = count(&AccountFilter::has_cuckoo, &BlockFilter::has_cuckoo);
    if any > ANY_FILTERS_MAX || cuckoos + of_transactions.count() > CUCKOOS_MAX {
        let reason = format!(
            "only {ANY_FILTERS_MAX} filters may let all accounts through, and {CUCKOOS_MAX} may \
             have a cuckoo filter"
        );
        return Err(invalid_filter(&reason));
    }
    Ok(())
}

impl Filters {
    /// Checks a request. `filters_max` is how many the access may have on one stream; those of the
    /// reconnecting clients are not counted.
    pub fn parse(
        request: &SubscribeRequest,
        Served { scope, kept }: &Served,
        filters_max: usize,
    ) -> Result<Filters, Status> {
        let commitment = parse_commitment(request.commitment)?;
        check_kinds(request, *kept)?;
        if commitment == Commitment::Processed {
            check_processed(request)?;
        }
        let accounts = sorted(&request.accounts, ACCOUNT_FILTERS_MAX)?;
        let slots = sorted(&request.slots, FILTERS_MAX)?;
        let blocks_meta = sorted(&request.blocks_meta, FILTERS_MAX)?;
        let transactions = sorted(&request.transactions, TRANSACTION_FILTERS_MAX)?;
        let statuses = sorted(&request.transactions_status, TRANSACTION_FILTERS_MAX)?;
        let blocks = sorted(&request.blocks, BLOCK_FILTERS_MAX)?;
        let entries = sorted(&request.entry, FILTERS_MAX)?;
        let footers = sorted(&request.block_footer, FILTERS_MAX)?;
        let counted = accounts.len()
            + transactions.len()
            + statuses.len()
            + blocks.len()
            + entries.len()
            + footers.len()
            + slots.keys().filter(is_own).count()
            + blocks_meta.keys().filter(is_own).count();
        if counted > filters_max {
            return Err(too_many(filters_max));
        }
        let mut keys = Keys::default();
        let accounts = accounts
            .into_iter()
            .map(|(name, filter)| {
                Ok((name.into(), AccountFilter::parse(filter, &mut keys, scope)?))
            })
            .collect::<Result<Vec<(Arc<str>, AccountFilter)>, Status>>()?;
        let transactions = parse_transactions(transactions, &mut keys, *kept)?;
        let statuses = parse_transactions(statuses, &mut keys, *kept)?;
        let blocks = blocks
            .into_iter()
            .map(|(name, filter)| {
                let parsed = BlockFilter::parse(filter, &mut keys, scope, *kept)?;
                Ok((name.into(), parsed))
            })
            .collect::<Result<Vec<(Arc<str>, BlockFilter)>, Status>>()?;
        check_costs(&accounts, &blocks, &[&transactions, &statuses])?;
        Ok(Filters {
            commitment,
            slices: parse_slices(&request.accounts_data_slice)?,
            accounts,
            slots: slots.into_iter().map(SlotFilter::of).collect(),
            blocks_meta: blocks_meta.into_keys().map(Arc::from).collect(),
            transactions,
            statuses,
            blocks,
            entries: entries.into_keys().map(Arc::from).collect(),
            footers: footers
                .into_iter()
                .map(|(name, filter)| (name.into(), filter.include_certificates.unwrap_or(false)))
                .collect(),
            parents: Vec::new(),
            from_slot: request.from_slot,
        })
    }

    /// Whether it has to look into slots.
    pub fn has_content(&self) -> bool {
        !self.accounts.is_empty()
            || !self.blocks.is_empty()
            || self.has_entries()
            || self.has_transactions()
    }

    pub fn has_entries(&self) -> bool {
        !self.entries.is_empty() || self.blocks.iter().any(|(_, filter)| filter.has_entries)
    }

    /// The names of the filters of footers with certificates, or of those without.
    pub fn footers(&self, has_certificates: bool) -> Vec<Arc<str>> {
        let wanted = self
            .footers
            .iter()
            .filter(|(_, has)| *has == has_certificates);
        wanted.map(|(name, _)| Arc::clone(name)).collect()
    }

    pub fn has_transactions(&self) -> bool {
        let in_blocks = self
            .blocks
            .iter()
            .any(|(_, filter)| filter.has_transactions);
        !self.transactions.is_empty() || !self.statuses.is_empty() || in_blocks
    }

    /// The names of the filters of slots that a status passes.
    pub fn slots(&self, status: SlotStatus) -> Vec<Arc<str>> {
        let is_level = status == self.commitment.status();
        let is_between = status as i32 > SlotStatus::SlotFinalized as i32;
        self.slots
            .iter()
            .filter(|filter| is_level || !filter.is_by_commitment)
            .filter(|filter| filter.has_interslot || !is_between)
            .map(|filter| Arc::clone(&filter.name))
            .collect()
    }

    /// What a stream at PROCESSED needs of the source.
    pub fn kinds(&self) -> Kinds {
        Kinds {
            accounts: !self.accounts.is_empty(),
            transactions: self.has_transactions(),
            blocks_meta: !self.blocks_meta.is_empty(),
        }
    }

    /// The filters of accounts, one at a time, so that a stream with many yields between them.
    pub fn account_filter(&self, index: usize) -> Option<&AccountFilter> {
        self.accounts.get(index).map(|(_, filter)| filter)
    }

    /// The names of the filters whose bits are set.
    pub fn account_names(&self, bits: u64) -> Vec<Arc<str>> {
        self.accounts
            .iter()
            .enumerate()
            .filter(|(index, _)| bits >> index & 1 == 1)
            .map(|(_, (name, _))| Arc::clone(name))
            .collect()
    }

    /// Filters of transactions, one at a time: those of whole ones, then those of outcomes, with
    /// the bit of each.
    pub fn transaction_filter(&self, index: usize) -> Option<&TransactionFilter> {
        let all = self.transactions.iter().chain(&self.statuses);
        all.map(|(_, filter)| filter).nth(index)
    }

    /// The names of the filters of whole transactions whose bits are set, and of those of outcomes.
    pub fn transaction_names(&self, bits: u64) -> [Vec<Arc<str>>; 2] {
        let names = |list: &[(Arc<str>, TransactionFilter)], first: usize| {
            list.iter()
                .enumerate()
                .filter(|(index, _)| bits >> (first + index) & 1 == 1)
                .map(|(_, (name, _))| Arc::clone(name))
                .collect()
        };
        [
            names(&self.transactions, 0),
            names(&self.statuses, self.transactions.len()),
        ]
    }

    /// The accounts of a slot that pass, each with the bits of its filters, in their order.
    #[cfg(test)]
    pub fn match_all(&self, content: &Content) -> Vec<(u32, u64)> {
        let mut matches = Matches::default();
        for (index, (_, filter)) in self.accounts.iter().enumerate() {
            let passes = |candidate| filter.passes(content, candidate);
            matches.add(index, &filter.candidates(content), passes);
        }
        matches.finish()
    }
}

/// The filters that clients add for themselves, so that they can resume: 17 and 13.3.
fn is_own(name: &&&str) -> bool {
    !matches!(**name, "__reconn" | "__autoreconnect")
}

fn parse_transactions(
    filters: BTreeMap<&str, &SubscribeRequestFilterTransactions>,
    keys: &mut Keys,
    kept: Kept,
) -> Result<Vec<(Arc<str>, TransactionFilter)>, Status> {
    filters
        .into_iter()
        .map(|(name, filter)| Ok((name.into(), TransactionFilter::parse(filter, keys, kept)?)))
        .collect()
}

/// What a network has.
#[derive(Debug, Clone)]
pub struct Served {
    pub scope: Scope,
    pub kept: Kept,
}

/// What passes the filters of a kind, while it is collected.
#[derive(Debug, Default)]
pub struct Matches(BTreeMap<u32, u64>);

impl Matches {
    pub fn add(&mut self, index: usize, candidates: &[u32], passes: impl Fn(u32) -> bool) {
        for &candidate in candidates {
            if passes(candidate) {
                *self.0.entry(candidate).or_default() |= 1 << index;
            }
        }
    }

    pub fn finish(self) -> Vec<(u32, u64)> {
        self.0.into_iter().collect()
    }
}
