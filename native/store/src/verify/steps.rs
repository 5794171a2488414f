//! The steps of a verification, one for each table or index, and its limits.

use std::time::Duration;

use crate::tables::{Db, Tables};
use crate::verify::check::indexes;

/// Limits of one verification.
#[derive(Debug, Clone)]
pub struct VerifyLimits {
    /// Maximum rows per slice.
    pub slice_rows_max: u64,
    /// Maximum duration of a slice; only counting one program's accounts may exceed it.
    pub slice_max: Duration,
    /// Programs with more accounts are not counted, to avoid a long read transaction.
    pub program_rows_max: u64,
    /// The verification ends after this many differences.
    pub differences_max: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Accounts,
    /// An index into [`indexes`].
    Index(usize),
    Holders,
    Changed,
    Programs,
    /// The blocks, and totals that must match within one snapshot.
    Blocks,
    /// The changes of each block.
    Feed,
    Fees,
    Signatures,
}

/// The entry of [`indexes`] that contains the mints' accounts.
pub(crate) const BY_MINT: usize = 2;

pub(crate) const STEPS: [Step; 12] = [
    Step::Accounts,
    Step::Index(0),
    Step::Index(1),
    Step::Index(BY_MINT),
    Step::Index(3),
    Step::Holders,
    Step::Changed,
    Step::Programs,
    Step::Blocks,
    Step::Feed,
    Step::Fees,
    Step::Signatures,
];

impl Step {
    pub fn table(self, tables: &Tables) -> (&'static str, Db) {
        match self {
            Step::Accounts => ("accounts", tables.accounts),
            Step::Index(i) => match indexes(tables).get(i) {
                Some((name, db, _)) => (name, *db),
                None => ("by_program", tables.by_program),
            },
            Step::Holders => ("holders", tables.holders),
            Step::Changed => ("changed", tables.changed),
            Step::Programs => ("programs", tables.programs),
            Step::Blocks => ("blocks", tables.blocks),
            Step::Feed => ("feed", tables.blocks),
            Step::Fees => ("fees", tables.fees),
            Step::Signatures => ("signatures", tables.signatures),
        }
    }
}
