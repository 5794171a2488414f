//! The cells of one edge: a file of 8-byte cells that the edge alone counts in, and that other
//! processes read at any time.
//!
//! ```text
//! head      HEAD_CELLS: layout, number of slots, next generation, events written, events drained
//! states    one for each slot: its generation, times four, plus FREE, LIVE or CLOSED
//! ring      RING events of EVENT_CELLS: number and 1, kind and length, text
//! slots     SLOT_CELLS each: minute, kind and length of the key, figures, latencies, codes, key
//! ```
//!
//! A slot counts for one key from one minute on. Its counts only grow, until the edge closes it;
//! the recorder frees it once they are in the store.

use std::fs::metadata;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use sys::error::Result;
use sys::shared_cells::SharedCells;

const LAYOUT: f64 = 1.0;
const HEAD_CELLS: usize = 16;
const SLOTS: usize = 1;
const GENERATION: usize = 2;
/// Cell of the events that were ever written.
const HEAD: usize = 3;
/// Cell of those of them that are in the store.
pub const TAIL: usize = 4;

/// Events that may wait for the recorder, which takes them each second.
pub const RING: usize = 4_096;
const EVENT_CELLS: usize = 128;
pub const EVENT_BYTES_MAX: usize = (EVENT_CELLS - 2) * 8;

pub const SLOT_CELLS: usize = 96;
const MINUTE: usize = 0;
const KIND: usize = 1;
/// Figures are doubles.
pub const FIGURES_AT: usize = 2;
pub const FIGURES: usize = 8;
/// Latencies are 32-bit counts, by bucket.
pub const LATENCIES_AT: usize = FIGURES_AT + FIGURES;
pub const LATENCIES: usize = 88;
/// Codes are a signed code and its 32-bit count each.
pub const CODES_AT: usize = LATENCIES_AT + LATENCIES / 2;
pub const CODES: usize = 16;
const KEY_AT: usize = CODES_AT + CODES;
const KEY_BYTES_MAX: usize = (SLOT_CELLS - KEY_AT) * 8;

const FREE: u64 = 0;
const LIVE: u64 = 1;
const CLOSED: u64 = 2;

/// What a slot has counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub slot: usize,
    pub generation: u64,
    pub is_closed: bool,
    pub kind: usize,
    /// Access, network, location and name.
    pub key: String,
    pub minute: i64,
    pub figures: [f64; FIGURES],
    /// Buckets and codes that have counts.
    pub latencies: Vec<(i64, i64)>,
    pub codes: Vec<(i64, i64)>,
}

/// Something that happened, as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub position: u64,
    pub kind: usize,
    pub text: String,
}

impl Row {
    /// Whether it has anything to add to the store.
    pub fn is_counted(&self) -> bool {
        self.figures.iter().any(|figure| *figure > 0.0) || !self.codes.is_empty()
    }
}

pub struct Cells {
    pub mapping: Arc<SharedCells>,
    slots: usize,
}

const fn ring_at(slots: usize) -> usize {
    HEAD_CELLS + slots
}

const fn slots_at(slots: usize) -> usize {
    ring_at(slots) + RING * EVENT_CELLS
}

const fn cells_of(slots: usize) -> usize {
    slots_at(slots) + slots * SLOT_CELLS
}

impl Cells {
    /// Creates the file or opens it as it is. Only for the edge whose file it is.
    pub fn create(path: &Path, slots: usize, generation: u64) -> Result<Cells> {
        let mapping = SharedCells::open(path, cells_of(slots))?;
        Ok(Cells::init(mapping, slots, generation))
    }

    /// Cells that no other process has and that no file keeps.
    pub fn in_memory(slots: usize) -> Result<Cells> {
        let mapping = SharedCells::anonymous(cells_of(slots))?;
        Ok(Cells::init(mapping, slots, 1))
    }

    fn init(mapping: SharedCells, slots: usize, generation: u64) -> Cells {
        let mapping = Arc::new(mapping);
        let cells = Cells { mapping, slots };
        if cells.number(0) != LAYOUT {
            cells.set_number(SLOTS, slots as f64);
            cells.set_number(GENERATION, generation as f64);
            // Last: until then no process reads the file.
            cells.set_number(0, LAYOUT);
        }
        cells
    }

    /// Maps the file of an edge; `None` where it is none, or is just being created.
    pub fn map(path: &Path) -> Result<Option<Cells>> {
        let Ok(found) = metadata(path) else {
            return Ok(None);
        };
        let count = (found.len() / 8) as usize;
        if count < cells_of(1) {
            return Ok(None);
        }
        let mapping = Arc::new(SharedCells::open(path, count)?);
        let head = Cells { mapping, slots: 0 };
        let slots = head.number(SLOTS) as usize;
        let is_whole = head.number(0) == LAYOUT && slots > 0 && cells_of(slots) <= count;
        let mapping = head.mapping;
        Ok(is_whole.then_some(Cells { mapping, slots }))
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        let (first, count) = self.mapping.as_raw();
        assert!(index < count);
        // SAFETY: the index is inside the mapping.
        let cell = unsafe { first.add(index) };
        // SAFETY: aligned, and alive as long as the mapping. Rust changes it by atomic operations
        // alone; JavaScript stores whole cells and halves, on the one thread that counts.
        unsafe { AtomicU64::from_ptr(cell.cast()) }
    }

    pub fn number(&self, index: usize) -> f64 {
        f64::from_bits(self.word(index).load(Acquire))
    }

    pub fn set_number(&self, index: usize, value: f64) {
        self.word(index).store(value.to_bits(), Release);
    }

    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The first cell of a slot.
    pub fn slot_at(&self, slot: usize) -> usize {
        slots_at(self.slots) + slot * SLOT_CELLS
    }

    /// The cell of a slot's state.
    pub fn state_at(slot: usize) -> usize {
        HEAD_CELLS + slot
    }

    pub fn state(&self, slot: usize) -> u64 {
        self.word(Self::state_at(slot)).load(Acquire)
    }

    pub fn is_free(&self, slot: usize) -> bool {
        self.state(slot) & 3 == FREE
    }

    /// Begins to count for a key in a free slot; false where it does not fit. Only for the edge.
    pub fn begin(&self, slot: usize, kind: usize, minute: f64, key: &[u8]) -> bool {
        if key.len() > KEY_BYTES_MAX {
            return false;
        }
        let at = self.slot_at(slot);
        // A reader that sees what follows sees the slot free, too.
        fence(Release);
        for cell in at..at + SLOT_CELLS {
            self.word(cell).store(0, Relaxed);
        }
        self.write_bytes(at + KEY_AT, key);
        self.word(at + MINUTE).store(minute.to_bits(), Relaxed);
        let lengths = (kind as u64) << 32 | key.len() as u64;
        self.word(at + KIND).store(lengths, Relaxed);
        let generation = self.number(GENERATION);
        self.set_number(GENERATION, generation + 1.0);
        let state = (generation as u64) << 2 | LIVE;
        self.word(Self::state_at(slot)).store(state, Release);
        true
    }

    /// Ends to count in a slot. Only for the edge.
    pub fn close(&self, slot: usize) {
        let state = self.state(slot);
        if state & 3 == LIVE {
            let closed = state & !3 | CLOSED;
            self.word(Self::state_at(slot)).store(closed, Release);
        }
    }

    /// Frees a slot whose counts are in the store.
    pub fn free(&self, slot: usize, generation: u64) {
        let (closed, free) = (generation << 2 | CLOSED, generation << 2 | FREE);
        let word = self.word(Self::state_at(slot));
        // Another recorder may have freed it.
        let _ = word.compare_exchange(closed, free, AcqRel, Relaxed);
    }

    /// What the slots have counted that are not free, of the keys that begin with one of the
    /// prefixes.
    pub fn rows(&self, prefixes: &[String], is_closed_only: bool) -> Vec<Row> {
        let wanted = if is_closed_only { 2..3 } else { 1..3 };
        let used = (0..self.slots).filter(|slot| wanted.contains(&(self.state(*slot) & 3)));
        used.filter_map(|slot| self.row(slot, prefixes)).collect()
    }

    fn row(&self, slot: usize, prefixes: &[String]) -> Option<Row> {
        let state = self.state(slot);
        let at = self.slot_at(slot);
        let load = |cell: usize| self.word(at + cell).load(Relaxed);
        let length = (load(KIND) as u32 as usize).min(KEY_BYTES_MAX);
        let key = String::from_utf8(self.read_bytes(at + KEY_AT, length)).ok()?;
        if !prefixes.iter().any(|prefix| key.starts_with(prefix)) {
            return None;
        }
        let half = |index: usize| (load(index / 2) >> (32 * (index % 2))) as u32;
        let buckets = (0..LATENCIES).map(|at| (at as i64, i64::from(half(2 * LATENCIES_AT + at))));
        let pairs = (0..CODES).map(|at| load(CODES_AT + at));
        let codes = pairs.map(|pair| (i64::from(pair as i32), (pair >> 32) as i64));
        let row = Row {
            slot,
            generation: state >> 2,
            is_closed: state & 3 == CLOSED,
            kind: (load(KIND) >> 32) as usize,
            key,
            minute: f64::from_bits(load(MINUTE)) as i64,
            figures: std::array::from_fn(|at| f64::from_bits(load(FIGURES_AT + at))),
            latencies: buckets.filter(|(_, count)| *count > 0).collect(),
            codes: codes.filter(|(_, count)| *count > 0).collect(),
        };
        fence(Acquire);
        let after = self.state(slot);
        // A slot that is free was settled meanwhile.
        (after >> 2 == state >> 2 && after & 3 != FREE).then_some(row)
    }

    /// Adds an event; false where the recorder is that far behind. Only for the edge.
    pub fn add_event(&self, kind: usize, text: &str) -> bool {
        let head = self.number(HEAD);
        if head - self.number(TAIL) >= RING as f64 || text.len() > EVENT_BYTES_MAX {
            return false;
        }
        let position = head as u64;
        let at = self.event_at(position);
        self.word(at).store(0, Relaxed);
        fence(Release);
        self.write_bytes(at + 2, text.as_bytes());
        let lengths = (kind as u64) << 32 | text.len() as u64;
        self.word(at + 1).store(lengths, Relaxed);
        self.word(at).store(position + 1, Release);
        self.set_number(HEAD, head + 1.0);
        true
    }

    /// Events that are not in the store, and how many may be.
    pub fn waiting_events(&self) -> [f64; 2] {
        [self.number(HEAD) - self.number(TAIL), RING as f64]
    }

    /// The events from a position on that the ring has.
    pub fn events(&self, from: u64) -> (u64, Vec<Event>) {
        let head = self.number(HEAD) as u64;
        let first = from.max(head.saturating_sub(RING as u64));
        let events = (first..head).filter_map(|position| self.event(position));
        (head, events.collect())
    }

    fn event(&self, position: u64) -> Option<Event> {
        let at = self.event_at(position);
        let is_it = || self.word(at).load(Acquire) == position + 1;
        if !is_it() {
            return None;
        }
        let lengths = self.word(at + 1).load(Relaxed);
        let length = (lengths as u32 as usize).min(EVENT_BYTES_MAX);
        let text = String::from_utf8(self.read_bytes(at + 2, length)).ok()?;
        fence(Acquire);
        let kind = (lengths >> 32) as usize;
        is_it().then_some(Event {
            position,
            kind,
            text,
        })
    }

    fn event_at(&self, position: u64) -> usize {
        ring_at(self.slots) + (position as usize % RING) * EVENT_CELLS
    }

    fn write_bytes(&self, at: usize, bytes: &[u8]) {
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(at + index)
                .store(u64::from_le_bytes(word), Relaxed);
        }
    }

    fn read_bytes(&self, at: usize, length: usize) -> Vec<u8> {
        let words = (at..at + length.div_ceil(8)).map(|cell| self.word(cell).load(Relaxed));
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        bytes.truncate(length);
        bytes
    }
}
