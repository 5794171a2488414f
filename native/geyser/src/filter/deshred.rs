//! The filters of `SubscribeDeshred`: those of transactions before they are executed.

use tonic::Status;
use yellowstone_grpc_proto::geyser::{
    SubscribeDeshredRequest, SubscribeRequestFilterDeshredTransactions,
    SubscribeRequestFilterTransactions,
};

use super::checks::{sorted, too_many};
use super::keys::Keys;
use super::transactions::{Kept, TransactionFilter};
use super::{Commitment, FILTERS_MAX, Filters, SlotFilter, TRANSACTION_FILTERS_MAX, is_own};

/// What has no outcome cannot be chosen by it.
fn parse(
    filter: &SubscribeRequestFilterDeshredTransactions,
    keys: &mut Keys,
) -> Result<TransactionFilter, Status> {
    let filter = SubscribeRequestFilterTransactions {
        vote: filter.vote,
        account_include: filter.account_include.clone(),
        account_exclude: filter.account_exclude.clone(),
        account_required: filter.account_required.clone(),
        ..SubscribeRequestFilterTransactions::default()
    };
    // The source sends votes, whatever the index keeps.
    TransactionFilter::parse(&filter, keys, Kept::FullAndVotes)
}

impl Filters {
    /// Checks a request of `SubscribeDeshred`, within the same limits as others.
    pub fn parse_deshred(
        request: &SubscribeDeshredRequest,
        filters_max: usize,
    ) -> Result<Filters, Status> {
        let transactions = sorted(&request.deshred_transactions, TRANSACTION_FILTERS_MAX)?;
        let slots = sorted(&request.slots, FILTERS_MAX)?;
        let counted = transactions.len() + slots.keys().filter(is_own).count();
        if counted > filters_max {
            return Err(too_many(filters_max));
        }
        let with_parents = transactions
            .iter()
            .filter(|(_, filter)| filter.include_update_parent.unwrap_or(false));
        let parents = with_parents.map(|(name, _)| (*name).into()).collect();
        let mut keys = Keys::default();
        Ok(Filters {
            commitment: Commitment::Processed,
            slots: slots.into_iter().map(SlotFilter::of).collect(),
            transactions: transactions
                .into_iter()
                .map(|(name, filter)| Ok((name.into(), parse(filter, &mut keys)?)))
                .collect::<Result<_, Status>>()?,
            parents,
            ..Filters::default()
        })
    }
}
