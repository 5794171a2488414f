//! The subscriptions to one program, indexed by their filters, so that an account is not compared
//! with every subscription.

use std::collections::HashMap;
use std::sync::Arc;

use super::subs::Subs;
use store::Filter;
use wire::account_json::View;

/// The filter under which a subscription to a program is indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterKey {
    /// No filter that can be looked up.
    Plain,
    Size(u64),
    Bytes {
        offset: u64,
        bytes: Vec<u8>,
    },
}

/// Offset and length of a comparison. Each shape in use costs every account one look-up.
type Shape = (u64, usize);
/// A new shape costs as much as this many subscriptions under one key.
const SHAPE_WORTH: usize = 8;

#[derive(Debug)]
struct Sub {
    filters: Arc<[Filter]>,
    view: View,
}

/// The subscriptions to one program.
#[derive(Debug, Default)]
pub struct ProgramGroup {
    plain: Subs<Sub>,
    by_size: HashMap<u64, Subs<Sub>>,
    by_bytes: HashMap<Shape, HashMap<Vec<u8>, Subs<Sub>>>,
}

impl ProgramGroup {
    /// Adds a subscription and returns its key.
    pub fn insert(&mut self, id: u32, filters: &Arc<[Filter]>, view: View) -> FilterKey {
        let key = self.choose(filters);
        let sub = Sub {
            filters: Arc::clone(filters),
            view,
        };
        match &key {
            FilterKey::Plain => self.plain.insert(id, sub),
            FilterKey::Size(bytes) => self.by_size.entry(*bytes).or_default().insert(id, sub),
            FilterKey::Bytes { offset, bytes } => {
                let of_shape = self.by_bytes.entry((*offset, bytes.len())).or_default();
                of_shape.entry(bytes.clone()).or_default().insert(id, sub);
            }
        }
        key
    }

    pub fn remove(&mut self, id: u32, key: &FilterKey) {
        match key {
            FilterKey::Plain => self.plain.remove(id),
            FilterKey::Size(bytes) => {
                if let Some(subs) = self.by_size.get_mut(bytes) {
                    subs.remove(id);
                    if subs.is_empty() {
                        self.by_size.remove(bytes);
                    }
                }
            }
            FilterKey::Bytes { offset, bytes } => {
                let shape = (*offset, bytes.len());
                let Some(of_shape) = self.by_bytes.get_mut(&shape) else {
                    return;
                };
                if let Some(subs) = of_shape.get_mut(bytes) {
                    subs.remove(id);
                    if subs.is_empty() {
                        of_shape.remove(bytes);
                    }
                }
                if of_shape.is_empty() {
                    self.by_bytes.remove(&shape);
                }
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.by_size.is_empty() && self.by_bytes.is_empty()
    }

    /// Visits the subscriptions that match an account with this data. Counts look-ups and
    /// comparisons.
    pub fn hits(&self, data: &[u8], comparisons: &mut u64, mut hit: impl FnMut(u32, View)) {
        let mut test = |subs: &Subs<Sub>, comparisons: &mut u64| {
            for (id, sub) in subs.iter() {
                *comparisons += sub.filters.len().max(1) as u64;
                if sub.filters.iter().all(|filter| filter.matches(data)) {
                    hit(id, sub.view);
                }
            }
        };
        test(&self.plain, comparisons);
        if !self.by_size.is_empty() {
            *comparisons += 1;
            if let Some(subs) = self.by_size.get(&(data.len() as u64)) {
                test(subs, comparisons);
            }
        }
        for ((offset, length), of_shape) in &self.by_bytes {
            *comparisons += 1;
            let bytes = usize::try_from(*offset)
                .ok()
                .and_then(|offset| data.get(offset..)?.get(..*length));
            if let Some(subs) = bytes.and_then(|bytes| of_shape.get(bytes)) {
                test(subs, comparisons);
            }
        }
    }

    /// Chooses the comparison whose key holds the fewest subscriptions, and of those the longest,
    /// which matches the fewest accounts. A new shape must outweigh its look-up for every account.
    fn choose(&self, filters: &[Filter]) -> FilterKey {
        let by_bytes = filters.iter().filter_map(|filter| match filter {
            Filter::Memcmp { offset, bytes } if !bytes.is_empty() => Some((*offset, bytes)),
            _ => None,
        });
        let best = by_bytes.min_by_key(|(offset, bytes)| {
            let others = match self.by_bytes.get(&(*offset, bytes.len())) {
                Some(of_shape) => of_shape.get(*bytes).map_or(0, Subs::len),
                None => SHAPE_WORTH,
            };
            (others, usize::MAX - bytes.len(), *offset)
        });
        let size = filters.iter().find_map(|filter| match filter {
            Filter::DataSize(bytes) => Some(*bytes),
            Filter::Memcmp { .. } => None,
        });
        match (best, size) {
            (Some((offset, bytes)), _) => FilterKey::Bytes {
                offset,
                bytes: bytes.clone(),
            },
            (None, Some(bytes)) => FilterKey::Size(bytes),
            (None, None) => FilterKey::Plain,
        }
    }
}
