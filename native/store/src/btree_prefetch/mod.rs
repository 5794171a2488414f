//! Processor prefetch hints. A look-up descends a tree page by page, and in a store larger than the
//! caches it waits for memory at each page; consecutive look-ups add up these waits. Before several
//! look-ups, their keys are walked down together, so that their memory loads overlap. The hints do
//! not affect results: LMDB still finds each record, so a wrong hint costs only time.

pub(crate) mod accounts;
pub(crate) mod hints;
pub(crate) mod mapped;
pub(crate) mod prefetched_keys;
pub(crate) mod walk;

#[cfg(test)]
mod tests;
