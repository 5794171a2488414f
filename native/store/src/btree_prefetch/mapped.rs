//! Finds the address range of LMDB's memory map in this process.

use std::fs;
use std::marker::PhantomData;
use std::ops::Range;

use heed::types::Bytes;
use heed::{Env, RoTxn};

use super::walk::{PAGE_BYTES, Page, Pages, Tree};
use crate::tables::Db;

/// The table whose records are prefetched.
pub(crate) const ACCOUNTS_TABLE: &str = "accounts";

/// Pages 0 and 1 are the meta pages: each commit rewrites one of them.
const META_PAGES: u64 = 2;

/// The map of an open store. Only `mdb_env_set_mapsize` moves it, which is not called here.
pub struct Mapped {
    /// The unnamed table, which has a row for each named table.
    main: Db,
    addresses: Range<usize>,
}

impl Mapped {
    /// Finds the map of this environment, which contains a table of this name; `None` if the system
    /// does not expose it. The calling thread must have no other transaction.
    pub fn of(env: &Env, table: &str) -> Option<Mapped> {
        let txn = env.read_txn().ok()?;
        let main = env.open_database::<Bytes, Bytes>(&txn, None).ok()??;
        let row = main.get(&txn, table.as_bytes()).ok()??;
        // Page contents may be damaged, so the map's bounds are read from the operating system.
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        let addresses = mapping_of(&maps, row.as_ptr().expose_provenance())?;
        let page_bytes = usize::try_from(env.stat().page_size).ok()?;
        (page_bytes == PAGE_BYTES && size_of::<usize>() == size_of::<u64>())
            .then_some(Mapped { main, addresses })
    }

    /// A table's tree as this transaction sees it.
    pub fn tree(&self, txn: &RoTxn<'_>, table: &str) -> Option<Tree> {
        Tree::of(self.main.get(txn, table.as_bytes()).ok()??)
    }

    /// The pages visible to this transaction, and those written since. `page_last` is the
    /// environment's last page, read after the transaction began.
    pub fn pages<'t>(&self, _txn: &'t RoTxn<'_>, page_last: usize) -> MappedPages<'t> {
        let room = self.addresses.len() / PAGE_BYTES;
        MappedPages {
            base: self.addresses.start,
            count: room.min(page_last.saturating_add(1)) as u64,
            txn: PhantomData,
        }
    }
}

/// The pages of the map during a transaction.
pub struct MappedPages<'t> {
    base: usize,
    count: u64,
    txn: PhantomData<&'t ()>,
}

impl Pages for MappedPages<'_> {
    #[inline]
    fn page(&self, number: u64) -> Option<&Page> {
        if !(META_PAGES..self.count).contains(&number) {
            return None;
        }
        let at = self.base + number as usize * PAGE_BYTES;
        // SAFETY: the page lies in the map, because `count` pages fit it, and in the file, because
        // its number is not above the last page of a commit, whose pages were written before it.
        // The map stays while the environment is open, which the transaction borrows. A walk comes
        // only to pages of the transaction's own tree, by numbers that `mdb_get` would follow too:
        // LMDB writes none of them while a transaction sees them. LMDB made the map, so no object
        // of Rust's lies there, and the provenance of an address in it was exposed. An array of
        // bytes has no alignment.
        Some(unsafe { &*std::ptr::with_exposed_provenance::<Page>(at) })
    }
}

/// The mapping that contains this address, if it maps a file from offset 0.
pub fn mapping_of(maps: &str, address: usize) -> Option<Range<usize>> {
    maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let addresses = number_of(start)?..number_of(end)?;
        if !addresses.contains(&address) {
            return None;
        }
        // Permissions, file offset, device, inode: inode 0 means no file.
        let (offset, inode) = (words.nth(1)?, words.nth(1)?);
        (number_of(offset)? == 0 && inode != "0").then_some(addresses)
    })
}

fn number_of(hexadecimal: &str) -> Option<usize> {
    usize::from_str_radix(hexadecimal, 16).ok()
}
