//! Walks several keys down one LMDB tree in lockstep. Each step prefetches the memory that the
//! key's next step reads, while the other keys take their steps.
//!
//! Layouts are those of liblmdb 0.9.70 on 64 bits (`MDB_db`, `MDB_page`, `MDB_node` in mdb.c), in
//! the machine's byte order. Every read is bounds-checked: invalid bytes end the walk or give a
//! wrong hint, but cause no other fault.

use std::borrow::Borrow;
use std::cmp::Ordering;

use super::hints::{prefetch, prefetch_run};
use primitives::Pubkey;

/// Keys walked together. Their pages must stay in the L1 cache until they are read again.
pub const KEYS_AT_ONCE: usize = 16;
/// Maximum depth of a tree. LMDB's own limit is 32; a tree of 16 levels would not fit on a disk.
const DEPTH_MAX: u16 = 16;
/// Bytes prefetched of a found record: an account's head and the data of a token account.
const RECORD_BYTES: usize = 256;

/// `MDB_db`, a table's row in the unnamed table.
const ROW_BYTES: usize = 48;
const ROW_FLAGS_AT: usize = 4;
const ROW_DEPTH_AT: usize = 6;
const ROW_ROOT_AT: usize = 40;

/// `MDB_page`: a header, then the offset of each node within the page.
const FLAGS_AT: usize = 10;
const LOWER_AT: usize = 12;
const PLACES_AT: usize = 16;
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
/// Header and offsets of a full branch page of 32-byte keys, and of a leaf of small records.
const BRANCH_HEAD_BYTES: usize = 256;
const LEAF_HEAD_BYTES: usize = 128;

/// `MDB_node`: a header, the key, the value.
const NODE_FLAGS_AT: usize = 4;
const NODE_KEY_BYTES_AT: usize = 6;
const NODE_KEY_AT: usize = 8;
const NODE_VALUE_AT: usize = NODE_KEY_AT + size_of::<Pubkey>();
/// The value is the number of the overflow page on which the data starts.
const NODE_IS_ELSEWHERE: u16 = 0x01;

/// Gives access to pages.
pub trait Pages {
    /// A whole page by its number; `None` if it does not exist.
    fn page(&self, number: u64) -> Option<&[u8]>;
}

/// The root of a tree of 32-byte keys in byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    root: u64,
    pub(crate) depth: u16,
}

impl Tree {
    /// The tree described by a table's row; `None` if it is empty or has another key order.
    pub fn of(row: &[u8]) -> Option<Tree> {
        let is_plain = row.len() == ROW_BYTES && u16_at(row, ROW_FLAGS_AT)? == 0;
        let depth = u16_at(row, ROW_DEPTH_AT)?;
        let root = u64_at(row, ROW_ROOT_AT)?;
        (is_plain && (1..=DEPTH_MAX).contains(&depth)).then_some(Tree { root, depth })
    }
}

/// The search state of one key: between `low` and `high` of this page; `node` is compared next.
#[derive(Clone, Copy)]
struct Walk<'p> {
    /// Empty once the walk has ended.
    page: &'p [u8],
    low: usize,
    high: usize,
    middle: usize,
    node: usize,
    is_found: bool,
}

const ENDED: Walk<'_> = Walk {
    page: &[],
    low: 0,
    high: 0,
    middle: 0,
    node: 0,
    is_found: false,
};

impl<'p> Walk<'p> {
    fn begin_page(&mut self, kind: u16) -> Option<()> {
        if u16_at(self.page, FLAGS_AT)? != kind {
            return None;
        }
        let lower = usize::from(u16_at(self.page, LOWER_AT)?);
        self.high = lower.checked_sub(PLACES_AT)? / 2;
        // The first node of a branch covers all keys below the second node's key.
        self.low = usize::from(kind == BRANCH);
        self.is_found = false;
        self.aim()
    }

    /// Prefetches the node that LMDB's own search would read next.
    #[inline]
    fn aim(&mut self) -> Option<()> {
        if self.low < self.high {
            self.middle = (self.low + self.high - 1) / 2;
            self.node = self.node_at(self.middle)?;
            prefetch(self.page, self.node);
            prefetch(self.page, self.node + NODE_VALUE_AT - 1);
        }
        Some(())
    }

    #[inline]
    fn step(&mut self, key: &Pubkey) -> Option<()> {
        let node: &[u8; NODE_VALUE_AT] = self.page.get(self.node..)?.first_chunk()?;
        let (head, theirs) = node.split_first_chunk::<NODE_KEY_AT>()?;
        if usize::from(u16_at(head, NODE_KEY_BYTES_AT)?) != theirs.len() {
            return None;
        }
        // The first 8 bytes nearly always differ; comparing them as integers avoids an
        // unpredictable branch.
        let order = match prefix(key)?.cmp(&prefix(theirs)?) {
            Ordering::Equal => key[..].cmp(theirs),
            order => order,
        };
        if order == Ordering::Equal {
            self.is_found = true;
            self.low = self.middle + 1;
            self.high = self.low;
            return Some(());
        }
        self.low = if order == Ordering::Greater {
            self.middle + 1
        } else {
            self.low
        };
        self.high = if order == Ordering::Less {
            self.middle
        } else {
            self.high
        };
        self.aim()
    }

    /// Moves to the child page that the search of a branch selected, and prefetches its first
    /// lines.
    fn descend(&mut self, pages: &'p impl Pages, head_bytes: usize) -> Option<()> {
        let node = self.page.get(self.node_at(self.low.checked_sub(1)?)?..)?;
        let high = u64::from(u16_at(node, NODE_FLAGS_AT)?) << 32;
        self.page = pages.page(high | u64::from(u32_at(node, 0)?))?;
        prefetch_run(self.page, 0, head_bytes);
        Some(())
    }

    /// Returns and prefetches the first bytes of the value that the search of a leaf found.
    fn value(&self, pages: &'p impl Pages) -> Option<&'p [u8]> {
        if !self.is_found {
            return None;
        }
        let node = self.page.get(self.node..)?;
        let bytes = usize::try_from(u32_at(node, 0)?).ok()?;
        let inside = node.get(NODE_VALUE_AT..)?;
        let source = if u16_at(node, NODE_FLAGS_AT)? & NODE_IS_ELSEWHERE == 0 {
            inside
        } else {
            // Computes the address only; does not wait for the page.
            pages.page(u64_at(inside, 0)?)?.get(PLACES_AT..)?
        };
        let value = source.get(..bytes.min(source.len()))?;
        prefetch_run(value, 0, RECORD_BYTES);
        Some(value)
    }

    fn node_at(&self, index: usize) -> Option<usize> {
        u16_at(self.page, PLACES_AT + 2 * index).map(usize::from)
    }

    /// Ends the walk if the step failed.
    #[inline]
    fn or_end(&mut self, step: Option<()>) {
        if step.is_none() {
            *self = ENDED;
        }
    }
}

/// Walks the first [`KEYS_AT_ONCE`] keys. Returns the part of each key's value that is on the
/// value's first page.
pub fn walk<'p>(
    pages: &'p impl Pages,
    tree: Tree,
    keys: &[impl Borrow<Pubkey>],
) -> [Option<&'p [u8]>; KEYS_AT_ONCE] {
    let mut values = [None; KEYS_AT_ONCE];
    let Some(root) = pages.page(tree.root) else {
        return values;
    };
    let mut walks = [Walk {
        page: root,
        ..ENDED
    }; KEYS_AT_ONCE];
    let count = keys.len().min(KEYS_AT_ONCE);
    let Some(walks) = walks.get_mut(..count) else {
        return values;
    };
    for level in 1..=tree.depth {
        let kind = if level == tree.depth { LEAF } else { BRANCH };
        for walk in &mut *walks {
            let begun = walk.begin_page(kind);
            walk.or_end(begun);
        }
        // Each step halves the remaining range, so the loop ends.
        loop {
            let mut is_done = true;
            for (walk, key) in walks.iter_mut().zip(keys) {
                if walk.low < walk.high {
                    let step = walk.step(key.borrow());
                    walk.or_end(step);
                    is_done = false;
                }
            }
            if is_done {
                break;
            }
        }
        if kind == LEAF {
            break;
        }
        let is_last = level + 1 == tree.depth;
        let head_bytes = if is_last {
            LEAF_HEAD_BYTES
        } else {
            BRANCH_HEAD_BYTES
        };
        for walk in &mut *walks {
            let step = walk.descend(pages, head_bytes);
            walk.or_end(step);
        }
    }
    for (value, walk) in values.iter_mut().zip(&*walks) {
        *value = walk.value(pages);
    }
    values
}

#[inline]
fn prefix(key: &[u8]) -> Option<u64> {
    key.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let found = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*found))
}

/// LMDB stores these as two 16-bit halves, the lower first on a little-endian machine, so one
/// 32-bit read is correct.
#[inline]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*found))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let found = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*found))
}
