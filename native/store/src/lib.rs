//! The accounts store: one LMDB environment, one writer process, any number of readers.

mod apply;
mod backup;
mod btree_prefetch;
mod bulk;
mod bulk_rows;
mod catch_up;
mod change;
mod check;
mod check_kept;
pub mod disk_space;
mod feed;
mod feed_read;
mod holders;
mod index_delta;
mod keys;
mod open;
mod options;
mod plan;
mod programs;
mod query;
mod readers;
mod reconcile;
mod record;
pub mod row_codec;
mod scan;
mod signatures;
mod snapshot;
mod tables;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod verify;
mod write_back;

pub use apply::Applied;
pub use btree_prefetch::PREFETCH_KEYS;
pub use bulk::{Bulk, BulkTable, BulkWriter};
pub use bulk_rows::{IndexKind, IndexWriter, rows_of};
pub use catch_up::Newest;
pub use change::{Change, Logs};
pub use feed_read::{FeedEnd, FeedPosition, FeedVisit};
pub use holders::{HOLDERS_MAX, HOLDERS_MIN};
pub use open::{Stats, Store};
pub use options::{ACCOUNT_DATA_BYTES_MAX, BLOCKS_KEPT, Changed, Options, Scope};
pub use plan::ScanPlan;
pub use programs::CHANGED_ROWS_MAX;
pub use query::{Budget, Filter, OwnerFilter, OwnerQuery, PageEnd, ProgramQuery};
pub use readers::OpenRead;
pub use reconcile::{Compared, CorrectionStats};
pub use record::{AccountRef, AccountUpdate, Block, Tip, TransactionDetails, TransactionUpdate};
pub use record::{HEAD_BYTES, encode_head};
pub use scan::Visit;
pub use signatures::SignatureRef;
pub use snapshot::Snapshot;
pub use snapshot::decode;
pub use tables::{SCHEMA, TABLES, Table};
pub use verify::{Verifier, VerifyLimits, VerifySlice};

#[cfg(test)]
mod tests;
