//! Finds the subscriptions that match a change.

use std::collections::HashMap;

use super::interest::{Interest, LogsOf, Subscription};
use super::programs::{FilterKey, ProgramGroup};
use super::signatures::{Awaited, Signatures};
use super::subs::Subs;
use super::transactions::{Seen, Transactions};
use primitives::Pubkey;
use store::AccountRef;
use wire::account_json::View;
use wire::transaction_json::TransactionView;

/// The kind of frame that a change causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Account(View),
    Program(View),
    Logs,
    Transaction(TransactionView),
}

/// A subscription that matches a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub id: u32,
    pub kind: Kind,
}

/// The keys under which a subscription is indexed.
enum Registered {
    Account(Pubkey),
    Program(Pubkey, FilterKey),
    Logs(LogsOf),
    Transactions,
    Signature,
    Slot,
    Root,
}

/// All subscriptions, indexed by what changes are looked up by.
#[derive(Default)]
pub struct Index {
    /// Each with whether its frames carry cursors.
    registered: HashMap<u32, (Registered, bool)>,
    accounts: HashMap<Pubkey, Subs<View>>,
    programs: HashMap<Pubkey, ProgramGroup>,
    logs: Subs<()>,
    logs_with_votes: Subs<()>,
    mentions: HashMap<Pubkey, Subs<()>>,
    transactions: Transactions,
    pub signatures: Signatures,
    pub slots: Subs<()>,
    pub roots: Subs<()>,
    /// Number of look-ups and comparisons.
    pub comparisons: u64,
}

impl Index {
    pub fn add(&mut self, id: u32, subscription: Subscription) {
        let registered = match subscription.interest {
            Interest::Account { pubkey, view } => {
                self.accounts.entry(pubkey).or_default().insert(id, view);
                Registered::Account(pubkey)
            }
            Interest::Program {
                program,
                filters,
                view,
            } => {
                let group = self.programs.entry(program).or_default();
                Registered::Program(program, group.insert(id, &filters, view))
            }
            Interest::Logs(of) => {
                self.logs_of(of).insert(id, ());
                Registered::Logs(of)
            }
            Interest::Transactions { filter, view } => {
                self.transactions.add(id, filter, view);
                Registered::Transactions
            }
            Interest::Signature {
                signature,
                is_finalized,
                wants_received,
            } => {
                let awaited = Awaited {
                    is_finalized,
                    wants_received,
                };
                self.signatures.add(id, signature, awaited);
                Registered::Signature
            }
            Interest::Slot => {
                self.slots.insert(id, ());
                Registered::Slot
            }
            Interest::Root => {
                self.roots.insert(id, ());
                Registered::Root
            }
        };
        let registered = (registered, subscription.has_cursors);
        self.registered.insert(id, registered);
    }

    pub fn remove(&mut self, id: u32) {
        match self.registered.remove(&id).map(|(of, _)| of) {
            Some(Registered::Account(pubkey)) => drop_from(&mut self.accounts, &pubkey, id),
            Some(Registered::Program(program, key)) => {
                if let Some(group) = self.programs.get_mut(&program) {
                    group.remove(id, &key);
                    if group.is_empty() {
                        self.programs.remove(&program);
                    }
                }
            }
            Some(Registered::Logs(LogsOf::Mentions(key))) => {
                drop_from(&mut self.mentions, &key, id)
            }
            Some(Registered::Logs(of)) => self.logs_of(of).remove(id),
            Some(Registered::Transactions) => self.transactions.remove(id),
            Some(Registered::Signature) => self.signatures.remove(id),
            Some(Registered::Slot) => self.slots.remove(id),
            Some(Registered::Root) => self.roots.remove(id),
            None => {}
        }
    }

    pub fn is_empty(&self) -> bool {
        self.registered.is_empty()
    }

    /// The subscriptions to accounts and programs whose frames carry cursors.
    pub fn accounts_with_cursors(&self) -> Vec<u32> {
        self.with_cursors(|registered| {
            matches!(registered, Registered::Account(_) | Registered::Program(..))
        })
    }

    /// The subscriptions to accounts, programs and logs whose frames carry cursors.
    pub fn changes_with_cursors(&self) -> Vec<u32> {
        self.with_cursors(|registered| !matches!(registered, Registered::Slot | Registered::Root))
    }

    fn with_cursors(&self, is_wanted: impl Fn(&Registered) -> bool) -> Vec<u32> {
        let found = self
            .registered
            .iter()
            .filter(|(_, (registered, has_cursors))| *has_cursors && is_wanted(registered));
        let mut ids: Vec<u32> = found.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// The ids in ascending order.
    pub fn ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.registered.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Whether the frames of a subscription carry cursors; `None` if there is no such one.
    pub fn has_cursors(&self, id: u32) -> Option<bool> {
        self.registered
            .get(&id)
            .map(|(_, has_cursors)| *has_cursors)
    }

    pub fn wants_accounts(&self) -> bool {
        !self.accounts.is_empty() || !self.programs.is_empty()
    }

    pub fn wants_transactions(&self) -> bool {
        self.wants_logs() || self.signatures.has_unseen() || !self.transactions.is_empty()
    }

    /// Returns the subscriptions to an account, then those to its program. A closed account has no
    /// program.
    pub fn account_hits(&mut self, pubkey: &Pubkey, account: &AccountRef<'_>) -> Vec<Hit> {
        let mut hits = Vec::new();
        if !self.accounts.is_empty() {
            self.comparisons += 1;
            for (id, view) in self
                .accounts
                .get(pubkey)
                .iter()
                .flat_map(|subs| subs.iter())
            {
                let kind = Kind::Account(*view);
                hits.push(Hit { id, kind });
            }
        }
        if account.lamports > 0 && !self.programs.is_empty() {
            self.comparisons += 1;
            if let Some(group) = self.programs.get(account.owner) {
                let first = hits.len();
                group.hits(account.data, &mut self.comparisons, |id, view| {
                    let kind = Kind::Program(view);
                    hits.push(Hit { id, kind });
                });
                hits[first..].sort_unstable_by_key(|hit| hit.id);
            }
        }
        hits
    }

    /// Returns the subscriptions to the logs of a transaction that names these accounts.
    pub fn logs_hits(&mut self, is_vote: bool, keys: &[Pubkey]) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut push = |subs: &Subs<()>| {
            hits.extend(subs.iter().map(|(id, ())| Hit {
                id,
                kind: Kind::Logs,
            }));
        };
        if !is_vote {
            push(&self.logs);
        }
        push(&self.logs_with_votes);
        if !self.mentions.is_empty() {
            self.comparisons += keys.len() as u64;
            keys.iter()
                .filter_map(|key| self.mentions.get(key))
                .for_each(push);
        }
        hits
    }

    /// Returns the subscriptions to a transaction.
    pub fn transaction_hits(&mut self, seen: &Seen<'_>, hits: &mut Vec<Hit>) {
        if self.transactions.is_empty() {
            return;
        }
        self.transactions
            .hits(seen, &mut self.comparisons, |id, view| {
                let kind = Kind::Transaction(view);
                hits.push(Hit { id, kind });
            });
    }

    fn wants_logs(&self) -> bool {
        !(self.logs.is_empty() && self.logs_with_votes.is_empty() && self.mentions.is_empty())
    }

    fn logs_of(&mut self, of: LogsOf) -> &mut Subs<()> {
        match of {
            LogsOf::All => &mut self.logs,
            LogsOf::AllWithVotes => &mut self.logs_with_votes,
            LogsOf::Mentions(key) => self.mentions.entry(key).or_default(),
        }
    }
}

fn drop_from<T>(subs: &mut HashMap<Pubkey, Subs<T>>, key: &Pubkey, id: u32) {
    if let Some(found) = subs.get_mut(key) {
        found.remove(id);
        if found.is_empty() {
            subs.remove(key);
        }
    }
}
