//! What is shared by owners who do not trust each other.
//!
//! An owner takes no more than it leaves free, as with the budgets of replies and bodies: one alone
//! gets half, two a third each. So whatever one has, the next one finds room.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An amount that is shared by owners.
pub struct Shares<K> {
    max: usize,
    /// Of one owner, however much is free.
    own_max: usize,
    taken: Mutex<Taken<K>>,
}

struct Taken<K> {
    all: usize,
    by_owner: HashMap<K, usize>,
}

/// What one owner has taken; it is given back where this is dropped.
pub struct Share<K: Eq + Hash> {
    shares: Arc<Shares<K>>,
    owner: K,
    amount: usize,
}

impl<K: Eq + Hash + Clone> Shares<K> {
    pub fn new(max: usize) -> Arc<Shares<K>> {
        Shares::bounded(max, max)
    }

    pub fn bounded(max: usize, own_max: usize) -> Arc<Shares<K>> {
        let (all, by_owner) = (0, HashMap::new());
        Arc::new(Shares {
            max,
            own_max,
            taken: Mutex::new(Taken { all, by_owner }),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all owners have.
    pub fn amount(&self) -> usize {
        self.taken().all
    }

    /// An empty share, which grows.
    pub fn open(self: &Arc<Self>, owner: K) -> Share<K> {
        Share {
            shares: Arc::clone(self),
            owner,
            amount: 0,
        }
    }

    /// Takes one; `None` where there is no room.
    pub fn take(self: &Arc<Self>, owner: K) -> Option<Share<K>> {
        let mut share = self.open(owner);
        share.grow(1).then_some(share)
    }
}

impl<K: Eq + Hash + Clone> Share<K> {
    /// Takes more; false where there is no room.
    pub fn grow(&mut self, more: usize) -> bool {
        let mut taken = self.shares.taken();
        let own = taken.by_owner.get(&self.owner).copied().unwrap_or(0) + more;
        let all = taken.all + more;
        if own > self.shares.own_max || own + all > self.shares.max {
            return false;
        }
        taken.all = all;
        taken.by_owner.insert(self.owner.clone(), own);
        self.amount += more;
        true
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        let taken = self.shares.taken.lock();
        let mut taken = taken.unwrap_or_else(PoisonError::into_inner);
        taken.all -= self.amount;
        let left = match taken.by_owner.get_mut(&self.owner) {
            Some(own) => {
                *own -= self.amount;
                *own
            }
            None => 0,
        };
        if left == 0 {
            taken.by_owner.remove(&self.owner);
        }
    }
}

/// Whose share of connections an address takes. Whoever has an IPv6 address has the 2^64 beside it.
pub fn owner_of(address: SocketAddr) -> IpAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_takes_no_more_than_it_leaves_free() {
        let shares = Shares::new(100);
        let held: Vec<_> = std::iter::from_fn(|| shares.take("greedy")).collect();
        assert_eq!(held.len(), 50);
        let other: Vec<_> = std::iter::from_fn(|| shares.take("other")).collect();
        assert_eq!(other.len(), 25);
        assert!(shares.take("greedy").is_none());
        drop(held);
        assert_eq!(shares.amount(), 25);
        drop(other);
        assert_eq!(shares.amount(), 0);
        assert!(shares.taken().by_owner.is_empty());
    }

    #[test]
    fn an_owner_has_its_own_bound_too() {
        let shares = Shares::bounded(100, 3);
        let held: Vec<_> = std::iter::from_fn(|| shares.take(1)).collect();
        assert_eq!(held.len(), 3);
        let mut share = shares.open(2);
        assert!(share.grow(2) && !share.grow(2) && share.grow(1));
        assert_eq!(shares.amount(), 6);
    }

    #[test]
    fn addresses_of_one_network_share() {
        let owner = |text: &str| owner_of(text.parse().unwrap()).to_string();
        assert_eq!(owner("192.0.2.1:5"), "192.0.2.1");
        assert_eq!(owner("[::ffff:192.0.2.1]:5"), "192.0.2.1");
        assert_eq!(owner("[2001:db8:1:2:3:4:5:6]:5"), "2001:db8:1:2::");
    }
}
