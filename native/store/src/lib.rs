//! The accounts store: one LMDB environment, one writer process, any number of readers.

mod apply;
mod backup;
mod bulk;
mod bulk_rows;
mod catch_up;
mod change;
mod check;
mod check_kept;
mod correct;
mod diff;
mod feed;
mod feed_read;
mod holders;
mod keys;
mod look_ahead;
mod open;
mod options;
mod plan;
mod programs;
mod query;
mod readers;
mod record;
pub mod room;
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
pub use bulk::{Bulk, BulkTable, BulkWriter};
pub use bulk_rows::{IndexKind, IndexWriter, rows_of};
pub use catch_up::Newest;
pub use change::{Change, Logs};
pub use correct::{Compared, CorrectionStats};
pub use feed_read::{FeedEnd, FeedPlace, FeedVisit};
pub use holders::{HOLDERS_MAX, HOLDERS_MIN};
pub use look_ahead::LOOK_AHEAD_KEYS;
pub use open::{Stats, Store};
pub use options::{ACCOUNT_DATA_BYTES_MAX, BLOCKS_KEPT, Changed, Options, Scope};
pub use plan::Plan;
pub use programs::CHANGED_ROWS_MAX;
pub use query::{Budget, Filter, OwnerFilter, OwnerQuery, PageEnd, ProgramQuery};
pub use readers::OpenRead;
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
