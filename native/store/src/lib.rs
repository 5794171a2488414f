//! The accounts store: one LMDB environment, one writer process, any number of readers.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables of cases"))]

mod apply;
mod bulk;
mod completeness;
mod copy;
mod corrections;
pub mod disk_space;
mod history;
mod indexes;
mod options;
mod pages;
mod readers;
mod rows;
mod slot_time;
mod snapshot;
mod store;
mod tables;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod verify;

pub use apply::blocks::Applied;
pub use apply::catch_up::Newest;
pub use bulk::rows::{IndexKind, IndexWriter, rows_of};
pub use bulk::writer::{Bulk, BulkTable, BulkWriter};
pub use corrections::reconcile::{Compared, CorrectionStats};
pub use history::feed_read::{FeedEnd, FeedPosition, FeedVisit};
pub use history::fees::{BlockFees, FeeKey, TransactionFees};
pub use history::signatures::SignatureRef;
pub use indexes::holder_row::{HOLDERS_MAX, HOLDERS_MIN};
pub use indexes::programs::CHANGED_ROWS_MAX;
pub use options::{ACCOUNT_DATA_BYTES_MAX, BLOCKS_KEPT, Changed, Options, Scope};
pub use pages::plan::ScanPlan;
pub use pages::query::{Budget, Filter, OwnerFilter, OwnerQuery, PageEnd, ProgramQuery};
pub use pages::scan::Visit;
pub use readers::OpenRead;
pub use rows::change::{Change, Logs};
pub use rows::full::{meta as transaction_meta, transaction_index};
pub use rows::part::Part;
pub use rows::record::{AccountRef, AccountUpdate, Block, BlockParts, HEAD_BYTES, Tip};
pub use rows::record::{
    TransactionCost, TransactionDetails, TransactionUpdate, decode, encode_head,
};
pub use rows::row_codec;
pub use slot_time::{SLOT_MS, SLOT_MS_MAX, SLOT_MS_MIN};
pub use snapshot::Snapshot;
pub use store::{Stats, Store};
pub use tables::{SCHEMA, TABLES, Table};
pub use verify::slices::{Verifier, VerifySlice};
pub use verify::steps::VerifyLimits;

#[cfg(test)]
mod tests;
