//! Declares every table of the store once. Keys are raw bytes with big-endian integers, so that
//! LMDB's order is the order of pages.

use heed::types::Bytes;
use heed::{Database, Env, RoTxn, RwTxn};

use crate::rows::keys;
use crate::rows::record::{self, Tip};
use sys::error::{Error, Result};

/// A table as LMDB stores it: bytes to bytes.
pub(super) type Db = Database<Bytes, Bytes>;

/// Increased when a build could misread a store written by another build.
pub const SCHEMA: u32 = 5;
/// The oldest schema that this build opens; the writer raises it. Schema 3 may have short rows in
/// `holders`, which builds of schema 2 would take for complete answers. Rows of schema 4 in
/// `signatures` have the position of the transaction, which older builds would take for an error.
/// Schema 5 has the changes of slots in files, and no table `feed`.
pub const SCHEMA_MIN: u32 = 2;

/// Describes a table. The documentation is generated from these descriptions.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    pub key: &'static str,
    pub value: &'static str,
    pub meaning: &'static str,
}

macro_rules! tables {
    ($($field:ident: $key:literal => $value:literal, $meaning:literal;)*) => {
        /// Every table: its name, the layout of key and value, and its use.
        pub const TABLES: &[Table] = &[
            $(Table { name: stringify!($field), key: $key, value: $value, meaning: $meaning },)*
        ];

        /// Something of each of [`TABLES`].
        #[derive(Debug, Clone, Copy, Default)]
        pub(super) struct PerTable<T> {
            $(pub $field: T,)*
        }

        impl<T> PerTable<T> {
            /// In the order of [`TABLES`].
            pub fn each(&self) -> [&T; TABLES.len()] {
                [$(&self.$field,)*]
            }

            pub fn each_mut(&mut self) -> [&mut T; TABLES.len()] {
                [$(&mut self.$field,)*]
            }
        }

        impl Tables {
            /// Creates the missing tables.
            pub fn create(env: &Env, txn: &mut RwTxn<'_>) -> Result<Tables> {
                Ok(Tables { $($field: env.create_database(txn, Some(stringify!($field)))?,)* })
            }

            /// Opens the tables of an existing store.
            pub fn open(env: &Env, txn: &RoTxn<'_>) -> Result<Tables> {
                Ok(Tables { $($field: open_one(env, txn, stringify!($field))?,)* })
            }

            /// The number of rows of each table.
            pub fn entries(&self, txn: &RoTxn<'_>) -> Result<Vec<(&'static str, u64)>> {
                Ok(vec![$((stringify!($field), self.$field.len(txn)?),)*])
            }
        }
    };
}

/// The open handles of [`TABLES`].
pub(super) type Tables = PerTable<Db>;

/// How much of a table is there: all rows up to a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Extent {
    #[default]
    Nothing,
    UpTo(Vec<u8>),
    Everything,
}

impl Extent {
    /// Whether a row with this key belongs to it.
    #[inline]
    pub fn has(&self, key: &[u8]) -> bool {
        match self {
            Extent::Nothing => false,
            Extent::UpTo(last) => key <= &last[..],
            Extent::Everything => true,
        }
    }
}

tables! {
    accounts: "pubkey 32" =>
        "slot 8 ‖ lamports 8 ‖ rentEpoch 8 ‖ flags 1 (bit 0: executable) ‖ owner 32 ‖ data",
        "Every account as of its last write: getAccountInfo, balances, supplies.";
    by_program: "program 32 ‖ pubkey 32" => "–",
        "The accounts of a program in page order: getProgramAccountsV2.";
    by_discriminator: "program 32 ‖ data[0..8] ‖ pubkey 32" => "–",
        "Accounts of 8 bytes and more, token programs apart: memcmp of 8 bytes or more at offset 0.";
    by_mint: "token program tag 1 ‖ data[0..32] ‖ pubkey 32" => "–",
        "Accounts of 32 bytes and more of a token program: memcmp of 32 bytes at offset 0.";
    by_token_owner: "data[32..64] (wallet) ‖ token program tag 1 ‖ pubkey 32" =>
        "data[0..32] (mint)",
        "Accounts of 64 bytes and more of a token program: reads by wallet, memcmp at offset 32.";
    holders: "token program tag 1 ‖ mint 32" =>
        "isComplete 1 ‖ up to 100 of: amount 8 ‖ pubkey 32, both descending",
        "The largest initialised token accounts of a mint: getTokenLargestAccounts. A row is short \
         while it is refilled.";
    changed: "program 32 ‖ slot 8 ‖ pubkey 32" => "–",
        "The newest writes of a watched program's accounts, one row each: changedSinceSlot.";
    programs: "program 32" =>
        "accounts 8 ‖ rows in changed 8 ‖ slot after which changed is complete 8",
        "What a page needs to choose between an index, the log of changes and the whole table.";
    blocks: "slot 8" =>
        "blockhash 32 ‖ parentSlot 8 ‖ blockHeight 8 ‖ hasTime 1 ‖ blockTime 8 ‖ root 8, and where the \
         slot's changes are: segment 8 ‖ offset 8 ‖ bytes 8 ‖ changes 8 ‖ bytes of the changes 8",
        "The blocks of the last 10 minutes, 512 at least, each with the newest finalized slot known \
         then; the last row is the tip.";
    signatures: "slot ÷ 16 8 ‖ signature 64" => "slot 8 ‖ error (empty: success)",
        "Outcomes of recent transactions: signatureSubscribe on what is already confirmed.";
    fees: "slot 8 ‖ sequence 4" =>
        "one run in chunks of at most 2 KiB: for each transaction flags 1 ‖ price 8 ‖ counts 1 + 1, the \
         first 8 bytes of each writable key, and those of each key with a gain ‖ lamports 8",
        "What the transactions of the last 512 slots offered, and to whom: estimates of fees and tips.";
    meta: "word" => "bytes",
        "schema, scope, changed (what it was built for), complete (0: lacks accounts), feesBytes, feedLacks \
         (the newest slot whose changes lack accounts), and a row `short:` ‖ key for each \
         short row of holders.";
}

impl Tables {
    /// The newest block, or `None` in an empty store.
    pub fn tip(&self, txn: &RoTxn<'_>) -> Result<Option<Tip>> {
        let Some((key, value)) = self.blocks.last(txn)? else {
            return Ok(None);
        };
        let tip = record::decode_block(keys::slot_of(key), value);
        tip.map(Some)
            .ok_or_else(|| Error::Internal("the tip's record is too short".to_string()))
    }
}

fn open_one(env: &Env, txn: &RoTxn<'_>, name: &str) -> Result<Db> {
    env.open_database(txn, Some(name))?.ok_or_else(|| {
        Error::StoreUnusable(format!(
            "table `{name}` is missing: let the indexer build the store anew"
        ))
    })
}
