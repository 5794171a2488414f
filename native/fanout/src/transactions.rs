//! The subscriptions to transactions, indexed by what they name.
//!
//! A subscription is found by its signature, else by one of the accounts that it requires, else by
//! each that it includes, else it is a candidate for every transaction. Excluded accounts are
//! looked up from the transaction too. So a transaction costs the look-ups of its accounts, and the
//! subscriptions under these; lists of 10,000 accounts that it does not name cost it nothing.

use std::collections::HashMap;
use std::sync::Arc;

use super::interest::TransactionFilter;
use super::subs::Subs;
use primitives::Pubkey;
use wire::transaction_json::TransactionView;

/// What is looked up of a transaction.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub signature: &'a [u8; 64],
    pub is_vote: bool,
    pub is_failed: bool,
    /// All accounts, including loaded ones.
    pub keys: &'a [Pubkey],
}

/// Why a subscription is under an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Required,
    Include,
    Exclude,
}

/// The subscriptions under one account. Most accounts have one.
#[derive(Debug)]
enum Uses {
    One((u32, Role)),
    Many(Vec<(u32, Role)>),
}

impl Uses {
    fn as_slice(&self) -> &[(u32, Role)] {
        match self {
            Uses::One(one) => std::slice::from_ref(one),
            Uses::Many(many) => many,
        }
    }

    fn push(&mut self, of: (u32, Role)) {
        match self {
            Uses::One(one) => *self = Uses::Many(vec![*one, of]),
            Uses::Many(many) => many.push(of),
        }
    }

    /// Returns whether none is left.
    fn remove(&mut self, of: (u32, Role)) -> bool {
        match self {
            Uses::One(one) => *one == of,
            Uses::Many(many) => {
                if let Some(at) = many.iter().position(|other| *other == of) {
                    many.swap_remove(at);
                }
                many.is_empty()
            }
        }
    }
}

#[derive(Debug)]
struct Sub {
    filter: Arc<TransactionFilter>,
    view: TransactionView,
    /// The required account that it is found by, by its position.
    gate: usize,
    /// What the lookups of the transaction with this number have found.
    turn: u64,
    is_reached: bool,
    is_excluded: bool,
}

impl Sub {
    fn begin(&mut self, turn: u64) {
        if self.turn != turn {
            (self.turn, self.is_reached, self.is_excluded) = (turn, false, false);
        }
    }

    /// Whether the rest matches, if the look-ups have reached it.
    fn matches(&self, seen: &Seen<'_>, sorted: &[Pubkey], comparisons: &mut u64) -> bool {
        let filter = &*self.filter;
        *comparisons += 1;
        let is_wanted = filter.is_vote.is_none_or(|is_vote| is_vote == seen.is_vote)
            && filter.is_failed.is_none_or(|failed| failed == seen.is_failed)
            && filter.signature.is_none_or(|signature| signature == *seen.signature)
            // None is twice in a list, so more than there are cannot be among them.
            && filter.required.len() <= sorted.len();
        if !is_wanted {
            return false;
        }
        let is_named = |key: &Pubkey| sorted.binary_search(key).is_ok();
        let requires = |key: &Pubkey| {
            *comparisons += 1;
            is_named(key)
        };
        if !filter.required.iter().all(requires) {
            return false;
        }
        // Under a gate, the included accounts have not been looked up.
        let has_gate = !filter.required.is_empty() || filter.signature.is_some();
        if has_gate && !filter.include.is_empty() {
            *comparisons += sorted.len() as u64;
            return sorted
                .iter()
                .any(|key| filter.include.binary_search(key).is_ok());
        }
        true
    }
}

#[derive(Debug, Default)]
pub struct Transactions {
    subs: HashMap<u32, Sub>,
    keys: HashMap<Pubkey, Uses>,
    signatures: HashMap<[u8; 64], Subs<()>>,
    /// Those that nothing leads to.
    others: Subs<()>,
    turn: u64,
}

impl Transactions {
    pub fn is_empty(&self) -> bool {
        self.subs.is_empty()
    }

    /// The lists of the filter are sorted, and have no account twice.
    pub fn add(&mut self, id: u32, filter: Arc<TransactionFilter>, view: TransactionView) {
        // The one with the fewest subscriptions under it.
        let count = |key: &Pubkey| self.keys.get(key).map_or(0, |uses| uses.as_slice().len());
        let required = filter.required.iter().enumerate();
        let gate = required
            .min_by_key(|(_, key)| count(key))
            .map_or(0, |(at, _)| at);
        let sub = Sub {
            filter,
            view,
            gate,
            turn: 0,
            is_reached: false,
            is_excluded: false,
        };
        for (key, role) in uses_of(&sub) {
            self.keys
                .entry(*key)
                .and_modify(|uses| uses.push((id, role)))
                .or_insert(Uses::One((id, role)));
        }
        if let Some(signature) = sub.filter.signature {
            self.signatures.entry(signature).or_default().insert(id, ());
        } else if sub.filter.required.is_empty() && sub.filter.include.is_empty() {
            self.others.insert(id, ());
        }
        self.subs.insert(id, sub);
    }

    pub fn remove(&mut self, id: u32) {
        let Some(sub) = self.subs.remove(&id) else {
            return;
        };
        for (key, role) in uses_of(&sub) {
            if let Some(uses) = self.keys.get_mut(key)
                && uses.remove((id, role))
            {
                self.keys.remove(key);
            }
        }
        if let Some(signature) = sub.filter.signature
            && let Some(subs) = self.signatures.get_mut(&signature)
        {
            subs.remove(id);
            if subs.is_empty() {
                self.signatures.remove(&signature);
            }
        }
        self.others.remove(id);
    }

    /// Visits the subscriptions that match, in ascending order of ids.
    pub fn hits(
        &mut self,
        seen: &Seen<'_>,
        comparisons: &mut u64,
        mut hit: impl FnMut(u32, TransactionView),
    ) {
        self.turn += 1;
        let turn = self.turn;
        let mut sorted = seen.keys.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut candidates: Vec<u32> = Vec::new();
        *comparisons += 1 + sorted.len() as u64;
        for uses in sorted.iter().filter_map(|key| self.keys.get(key)) {
            for (id, role) in uses.as_slice() {
                *comparisons += 1;
                let Some(sub) = self.subs.get_mut(id) else {
                    continue;
                };
                sub.begin(turn);
                if *role == Role::Exclude {
                    sub.is_excluded = true;
                } else if !std::mem::replace(&mut sub.is_reached, true) {
                    candidates.push(*id);
                }
            }
        }
        let of_signature = self.signatures.get(seen.signature);
        let unkeyed = of_signature.into_iter().chain([&self.others]);
        candidates.extend(unkeyed.flat_map(|subs| subs.iter().map(|(id, ())| id)));
        candidates.sort_unstable();
        for id in candidates {
            let Some(sub) = self.subs.get_mut(&id) else {
                continue;
            };
            sub.begin(turn);
            if !sub.is_excluded && sub.matches(seen, &sorted, comparisons) {
                hit(id, sub.view);
            }
        }
    }
}

/// The accounts that lead to a subscription.
fn uses_of(sub: &Sub) -> impl Iterator<Item = (&Pubkey, Role)> {
    let filter = &*sub.filter;
    let has_signature = filter.signature.is_some();
    let gate = filter.required.get(sub.gate).filter(|_| !has_signature);
    let is_included = gate.is_none() && !has_signature;
    let include = filter.include.iter().filter(move |_| is_included);
    gate.into_iter()
        .map(|key| (key, Role::Required))
        .chain(include.map(|key| (key, Role::Include)))
        .chain(filter.exclude.iter().map(|key| (key, Role::Exclude)))
}
