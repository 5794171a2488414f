//! Subscriptions under one key.

/// Ids in ascending order, each with the data for its frames. Most keys hold one.
#[derive(Debug)]
pub struct Subs<T>(Vec<(u32, T)>);

impl<T> Default for Subs<T> {
    fn default() -> Self {
        Subs(Vec::new())
    }
}

impl<T> Subs<T> {
    /// Ids mostly ascend, so this mostly appends.
    pub fn insert(&mut self, id: u32, of: T) {
        match self.0.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => self.0[at].1 = of,
            Err(at) => self.0.insert(at, (id, of)),
        }
    }

    pub fn remove(&mut self, id: u32) {
        if let Ok(at) = self.0.binary_search_by_key(&id, |(id, _)| *id) {
            self.0.remove(at);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.0.iter().map(|(id, of)| (*id, of))
    }
}
