//! Walks several keys down one LMDB tree in lockstep. Each step prefetches the memory that the
//! key's next step reads, while the other keys take their steps.
//!
//! Layouts are those of liblmdb 0.9.70 on 64 bits (`MDB_db`, `MDB_page`, `MDB_node` in mdb.c), in
//! the machine's byte order. Every read is inside of its page: invalid bytes end the walk or give a
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

/// Bytes of a page. LMDB takes the system's; trees of other pages are not walked.
pub const PAGE_BYTES: usize = 4_096;
/// A whole page. Its length is known, so that reads inside of it need no checks.
pub type Page = [u8; PAGE_BYTES];

/// Gives access to pages.
pub trait Pages {
    /// A page by its number; `None` if it does not exist.
    fn page(&self, number: u64) -> Option<&Page>;
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
        let row: &[u8; ROW_BYTES] = row.try_into().ok()?;
        let is_plain = u16::from_ne_bytes(field(row, ROW_FLAGS_AT)?) == 0;
        let depth = u16::from_ne_bytes(field(row, ROW_DEPTH_AT)?);
        let root = u64::from_ne_bytes(field(row, ROW_ROOT_AT)?);
        (is_plain && (1..=DEPTH_MAX).contains(&depth)).then_some(Tree { root, depth })
    }
}

/// The search state of one key: between `low` and `high` of this page; `node` is compared next.
#[derive(Clone, Copy)]
struct Walk<'p> {
    /// [`NO_PAGE`] once the walk has ended.
    page: &'p Page,
    low: usize,
    high: usize,
    middle: usize,
    node: usize,
    is_found: bool,
}

/// Neither a branch nor a leaf.
static NO_PAGE: Page = [0; PAGE_BYTES];

const ENDED: Walk<'_> = Walk {
    page: &NO_PAGE,
    low: 0,
    high: 0,
    middle: 0,
    node: 0,
    is_found: false,
};

impl<'p> Walk<'p> {
    /// Begins the search of a page of this kind. A page of another kind ends the walk.
    fn begin_page(&mut self, kind: u16) {
        if u16_at(self.page, FLAGS_AT) != kind {
            *self = ENDED;
            return;
        }
        let lower = usize::from(u16_at(self.page, LOWER_AT));
        self.high = lower.saturating_sub(PLACES_AT) / 2;
        // The first node of a branch covers all keys below the second node's key.
        self.low = usize::from(kind == BRANCH);
        self.is_found = false;
        self.aim();
    }

    /// Prefetches the node that LMDB's own search would read next.
    #[inline]
    fn aim(&mut self) {
        if self.low < self.high {
            self.middle = (self.low + self.high - 1) / 2;
            self.node = self.node_at(self.middle);
            prefetch(self.page, self.node);
            prefetch(self.page, self.node + NODE_VALUE_AT - 1);
        }
    }

    #[inline]
    fn step(&mut self, key: &Pubkey) {
        if usize::from(u16_at(self.page, self.node + NODE_KEY_BYTES_AT)) != key.len() {
            *self = ENDED;
            return;
        }
        // The first 8 bytes nearly always differ; comparing them as integers avoids an
        // unpredictable branch.
        let at = self.node + NODE_KEY_AT;
        let order = match prefix(key).cmp(&u64::from_be_bytes(bytes_at(self.page, at))) {
            Ordering::Equal => key.cmp(&bytes_at(self.page, at)),
            order => order,
        };
        if order == Ordering::Equal {
            self.is_found = true;
            self.low = self.middle + 1;
            self.high = self.low;
            return;
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
        self.aim();
    }

    /// Moves to the child page that the search of a branch selected, and prefetches its first
    /// lines.
    fn descend(&mut self, pages: &'p impl Pages, head_bytes: usize) {
        let node = self.node_at(self.low.saturating_sub(1));
        let high = u64::from(u16_at(self.page, node + NODE_FLAGS_AT)) << 32;
        match pages.page(high | u64::from(u32_at(self.page, node))) {
            Some(page) => {
                self.page = page;
                prefetch_run(page, 0, head_bytes);
            }
            None => *self = ENDED,
        }
    }

    /// Returns and prefetches the first bytes of the value that the search of a leaf found.
    fn value(&self, pages: &'p impl Pages) -> Option<&'p [u8]> {
        if !self.is_found {
            return None;
        }
        let bytes = usize::try_from(u32_at(self.page, self.node)).ok()?;
        let inside = self.page.get(self.node + NODE_VALUE_AT..)?;
        let source = if u16_at(self.page, self.node + NODE_FLAGS_AT) & NODE_IS_ELSEWHERE == 0 {
            inside
        } else {
            // Computes the address only; does not wait for the page.
            let number = u64::from_ne_bytes(*inside.first_chunk()?);
            pages.page(number)?.get(PLACES_AT..)?
        };
        let value = source.get(..bytes.min(source.len()))?;
        prefetch_run(value, 0, RECORD_BYTES);
        Some(value)
    }

    /// Where a node of this page begins.
    fn node_at(&self, index: usize) -> usize {
        usize::from(u16_at(self.page, PLACES_AT + 2 * index))
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
            walk.begin_page(kind);
        }
        // Each step halves the remaining range, so the loop ends.
        loop {
            let mut is_done = true;
            for (walk, key) in walks.iter_mut().zip(keys) {
                if walk.low < walk.high {
                    walk.step(key.borrow());
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
            walk.descend(pages, head_bytes);
        }
    }
    for (value, walk) in values.iter_mut().zip(&*walks) {
        *value = walk.value(pages);
    }
    values
}

/// A field of a table's row.
fn field<const N: usize>(row: &[u8; ROW_BYTES], at: usize) -> Option<[u8; N]> {
    row.get(at..)?.first_chunk().copied()
}

#[inline]
fn prefix(key: &Pubkey) -> u64 {
    key.first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The bytes from `at` on, or the last ones of a page that does not have them: a wrong hint.
#[inline]
fn bytes_at<const N: usize>(page: &Page, at: usize) -> [u8; N] {
    // The compiler sees that they are inside.
    let rest = page.get(at.min(PAGE_BYTES - N)..).unwrap_or_default();
    rest.first_chunk().copied().unwrap_or([0; N])
}

#[inline]
fn u16_at(page: &Page, at: usize) -> u16 {
    u16::from_ne_bytes(bytes_at(page, at))
}

/// LMDB stores these as two 16-bit halves, the lower first on a little-endian machine, so one
/// 32-bit read is correct.
#[inline]
fn u32_at(page: &Page, at: usize) -> u32 {
    u32::from_ne_bytes(bytes_at(page, at))
}
