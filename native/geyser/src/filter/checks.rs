//! Checks of a request as a whole.

use std::collections::{BTreeMap, HashMap};

use tonic::Status;
use yellowstone_grpc_proto::geyser::SubscribeRequest;

use crate::filter::transactions::Kept;
use crate::status::invalid_filter;

/// As Yellowstone.
const NAME_BYTES_MAX: usize = 128;

/// The filters of a kind in the order of their names: that of a map differs each time.
pub fn sorted<F>(filters: &HashMap<String, F>, max: usize) -> Result<BTreeMap<&str, &F>, Status> {
    if filters.len() > max {
        return Err(too_many(max));
    }
    let mut found = BTreeMap::new();
    for (name, filter) in filters {
        if name.len() > NAME_BYTES_MAX {
            let reason = format!(
                "oversized filter name (max allowed size {NAME_BYTES_MAX}), found {}",
                name.len()
            );
            return Err(invalid_filter(&reason));
        }
        found.insert(name.as_str(), filter);
    }
    Ok(found)
}

pub fn too_many(max: usize) -> Status {
    let reason = format!("Max amount of filters/data_slices reached, only {max} allowed");
    invalid_filter(&reason)
}

/// What the index does not keep.
pub fn check_kinds(request: &SubscribeRequest, kept: Kept) -> Result<(), Status> {
    let transactions = "the index does not keep whole transactions";
    let is_none = kept == Kept::None;
    for (is_wanted, kind, reason) in [
        (
            is_none && !request.transactions.is_empty(),
            "transactions",
            transactions,
        ),
        (
            is_none && !request.transactions_status.is_empty(),
            "transactions_status",
            transactions,
        ),
        (
            !kept.has_entries() && !request.entry.is_empty(),
            "entry",
            "the index does not keep entries",
        ),
    ] {
        if is_wanted {
            let reason = format!("`{kind}` is not allowed: {reason}");
            return Err(invalid_filter(&reason));
        }
    }
    Ok(())
}

/// What is not passed through from the source of the index.
pub fn check_processed(request: &SubscribeRequest) -> Result<(), Status> {
    for (is_wanted, kind, reason) in [
        (
            request.from_slot.is_some(),
            "from_slot",
            "nothing is kept of it to replay",
        ),
        (
            !request.blocks.is_empty(),
            "blocks",
            "a block is complete when it is confirmed",
        ),
        (
            !request.entry.is_empty(),
            "entry",
            "entries are passed with confirmed blocks",
        ),
        (
            !request.block_footer.is_empty(),
            "block_footer",
            "footers are passed with confirmed blocks",
        ),
    ] {
        if is_wanted {
            let reason = format!("`{kind}` is not allowed at PROCESSED: {reason}");
            return Err(invalid_filter(&reason));
        }
    }
    Ok(())
}
