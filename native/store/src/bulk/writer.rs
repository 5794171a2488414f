//! Writes a new store from sorted rows, table by table, appending each row to its table: pages are
//! full and each is written once. Nothing is synced until the end, so the folder must not be used
//! as a store before [`Bulk::finish`] returns.

use std::fs;
use std::path::{Path, PathBuf};

use heed::{Env, EnvFlags, PutFlags, RwTxn};

use crate::bulk::write_back::WriteBack;
use crate::disk_space::keep_reserve;
use crate::options::{Changed, Options};
use crate::rows::record::{Tip, encode_block};
use crate::store::{identity, open_env};
use crate::tables::{Db, Tables};
use sys::error::Result;

/// A store under construction.
pub struct Bulk {
    pub(crate) env: Env,
    pub(crate) tables: Tables,
    options: Options,
    dir: PathBuf,
    write_back: WriteBack,
}

/// The tables filled from rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkTable {
    Accounts,
    ByProgram,
    ByDiscriminator,
    ByMint,
    ByTokenOwner,
    Holders,
    Changed,
    Programs,
}

impl Bulk {
    /// Begins in an empty folder.
    pub fn create(dir: &Path, options: &Options) -> Result<Bulk> {
        fs::create_dir_all(dir)?;
        Self::create_with(dir, options, EnvFlags::empty())
    }

    /// Begins in an empty folder, with flags beside those of every load.
    pub(crate) fn create_with(dir: &Path, options: &Options, flags: EnvFlags) -> Result<Bulk> {
        let unsynced = EnvFlags::NO_SYNC | EnvFlags::NO_META_SYNC;
        let env = open_env(dir, options, flags | unsynced)?;
        let mut txn = env.write_txn()?;
        let tables = Tables::create(&env, &mut txn)?;
        txn.commit()?;
        Ok(Bulk {
            env,
            tables,
            options: options.clone(),
            write_back: WriteBack::start(&dir.join("data.mdb"))?,
            dir: dir.to_path_buf(),
        })
    }

    /// A writer to this store; only one at a time.
    pub fn writer(&self, transaction_bytes: usize) -> BulkWriter<'_> {
        BulkWriter {
            bulk: self,
            txn: None,
            bytes: 0,
            transaction_bytes,
        }
    }

    /// Makes this block the tip, syncs, and closes the store. Returns the size of its file in
    /// bytes.
    pub fn finish(self, tip: &Tip) -> Result<u64> {
        let mut txn = self.env.write_txn()?;
        let blocks = &self.tables.blocks;
        blocks.put(&mut txn, &tip.slot.to_be_bytes(), &encode_block(tip))?;
        self.tables.put_complete(&mut txn, true)?;
        for (word, value) in identity(&self.options) {
            self.tables.meta.put(&mut txn, word.as_bytes(), &value)?;
        }
        txn.commit()?;
        self.close()
    }

    /// Syncs and closes the store. Returns the size of its file in bytes.
    pub(crate) fn close(self) -> Result<u64> {
        drop(self.write_back);
        self.env.force_sync()?;
        let bytes = self.env.real_disk_size()?;
        self.env.prepare_for_closing().wait();
        Ok(bytes)
    }

    /// Closes the store as it is: this environment must be closed before the same process opens the
    /// folder again.
    pub(crate) fn abandon(self) {
        self.env.prepare_for_closing().wait();
    }

    /// After a commit: starts the write-back, and fails if the disk has less than the reserve.
    pub(crate) fn committed(&self) -> Result<()> {
        self.write_back.ask();
        keep_reserve(&self.dir, self.options.disk_reserve_bytes)
    }

    fn db(&self, table: BulkTable) -> &Db {
        let tables = &self.tables;
        match table {
            BulkTable::Accounts => &tables.accounts,
            BulkTable::ByProgram => &tables.by_program,
            BulkTable::ByDiscriminator => &tables.by_discriminator,
            BulkTable::ByMint => &tables.by_mint,
            BulkTable::ByTokenOwner => &tables.by_token_owner,
            BulkTable::Holders => &tables.holders,
            BulkTable::Changed => &tables.changed,
            BulkTable::Programs => &tables.programs,
        }
    }
}

/// Appends rows to the tables in transactions of limited size.
pub struct BulkWriter<'b> {
    bulk: &'b Bulk,
    txn: Option<RwTxn<'b>>,
    bytes: usize,
    transaction_bytes: usize,
}

impl<'b> BulkWriter<'b> {
    /// The programs whose `changed` index is kept.
    pub fn changed(&self) -> &'b Changed {
        &self.bulk.options.changed
    }

    /// Appends a row to its table.
    pub fn append(&mut self, table: BulkTable, key: &[u8], value: &[u8]) -> Result<()> {
        let bulk = self.bulk;
        let txn = match &mut self.txn {
            Some(txn) => txn,
            none => none.insert(bulk.env.write_txn()?),
        };
        bulk.db(table)
            .put_with_flags(txn, PutFlags::APPEND, key, value)?;
        self.bytes += key.len() + value.len();
        if self.bytes >= self.transaction_bytes {
            self.commit()?;
        }
        Ok(())
    }

    /// Commits the pending rows. Without it the last rows are lost.
    pub fn commit(&mut self) -> Result<()> {
        self.bytes = 0;
        let Some(txn) = self.txn.take() else {
            return Ok(());
        };
        txn.commit()?;
        self.bulk.committed()
    }
}
