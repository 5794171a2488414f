//! A reference fan-out: plain loops, with `serde_json` for the frames.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Interest, LogsOf};
use primitives::encoding::{encode_pubkey, push_base58};
use store::{AccountRef, Block, Snapshot, TransactionUpdate};
use wire::account_json::{AccountWriter, Mints, View};
use wire::transaction_json::Shape;

/// Subscription, flags, and the frame.
pub type SentFrame = (u32, u32, Value);

#[derive(Default)]
pub struct Naive {
    subscriptions: BTreeMap<u32, Interest>,
    /// The last slot written, once begun.
    slot: Option<u64>,
    has_begun: bool,
    root: u64,
    /// All blocks, each with its stored root.
    blocks: Vec<(Block, u64)>,
    /// Subscriptions that wait for a final outcome, by slot and id.
    waiting: BTreeMap<(u64, u32), Value>,
}

fn frame(id: u32, kind: &str, flags: u32, result: &Value) -> SentFrame {
    let params = json!({ "result": result, "subscription": id });
    let method = format!("{kind}Notification");
    (
        id,
        flags,
        json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    )
}

fn at(slot: u64, value: &Value) -> Value {
    json!({ "context": { "slot": slot }, "value": value })
}

fn error_of(transaction: &TransactionUpdate) -> Value {
    match &transaction.error {
        // These tests use only variants without members.
        Some(bytes) => match bytes[0] {
            0 => json!("AccountInUse"),
            _ => json!("AccountLoadedTwice"),
        },
        None => Value::Null,
    }
}

fn show(account: &AccountRef<'_>, view: View, is_in_page: bool, snapshot: &Snapshot<'_>) -> Value {
    let mints = if is_in_page {
        Mints::in_pages(snapshot)
    } else {
        Mints::by_address(snapshot)
    };
    let mut out = Vec::new();
    let mut writer = AccountWriter::new(view, mints).telling_what_is_too_long();
    writer.write(&mut out, account).unwrap();
    serde_json::from_slice(&out).unwrap()
}

impl Naive {
    pub fn add(&mut self, id: u32, interest: Interest) {
        self.subscriptions.insert(id, interest);
    }

    pub fn remove(&mut self, id: u32) {
        self.subscriptions.remove(&id);
        self.waiting.retain(|(_, of), _| *of != id);
    }

    pub fn apply(&mut self, block: &Block) {
        let before = self.blocks.last().map_or(0, |(_, root)| *root);
        let root = before.max(block.root.unwrap_or(0).min(block.slot));
        self.blocks.push((block.clone(), root));
    }

    pub fn pass(&mut self, snapshot: &Snapshot<'_>) -> Vec<SentFrame> {
        if !self.has_begun {
            self.has_begun = true;
            let tip = self.blocks.last();
            self.slot = tip.map(|(block, _)| block.slot);
            self.root = tip.map_or(0, |(_, root)| *root);
        }
        let mut sent = Vec::new();
        let (past, later): (Vec<_>, Vec<_>) = self
            .blocks
            .clone()
            .into_iter()
            .partition(|(block, _)| Some(block.slot) <= self.slot);
        // In order of ids, as the fan-out adds them.
        for id in self.subscriptions.keys().copied().collect::<Vec<_>>() {
            for (block, _) in &past {
                for transaction in &block.transactions {
                    self.see(Some(id), block.slot, transaction, &mut sent);
                }
            }
        }
        for (block, root) in later {
            self.push_frames(&block, root, snapshot, &mut sent);
            self.slot = Some(block.slot);
        }
        sent
    }

    fn push_frames(
        &mut self,
        block: &Block,
        root: u64,
        snapshot: &Snapshot<'_>,
        sent: &mut Vec<SentFrame>,
    ) {
        let slot = block.slot;
        for (id, interest) in &self.subscriptions {
            if *interest == Interest::Slot {
                let result = json!({ "slot": slot, "parent": block.parent_slot, "root": root });
                sent.push(frame(*id, "slot", 0, &result));
            }
        }
        for (rooted, _) in &self.blocks {
            if rooted.slot > self.root && rooted.slot <= root {
                for (id, interest) in &self.subscriptions {
                    if *interest == Interest::Root {
                        sent.push(frame(*id, "root", 0, &json!(rooted.slot)));
                    }
                }
            }
        }
        self.root = root;
        let mut last = BTreeMap::new();
        for update in &block.accounts {
            last.insert(update.pubkey, update);
        }
        for update in last.values() {
            let closed = AccountRef {
                slot,
                lamports: 0,
                rent_epoch: 0,
                executable: false,
                owner: &[0; 32],
                data: &[],
            };
            let is_closed = update.lamports == 0;
            let account = if is_closed { closed } else { update.at(slot) };
            for (id, interest) in &self.subscriptions {
                if let Interest::Account { pubkey, view } = interest
                    && *pubkey == update.pubkey
                {
                    let value = show(&account, *view, false, snapshot);
                    sent.push(frame(*id, "account", 0, &at(slot, &value)));
                }
            }
            for (id, interest) in &self.subscriptions {
                if let Interest::Program {
                    program,
                    filters,
                    view,
                } = interest
                    && !is_closed
                    && program == account.owner
                    && filters.iter().all(|filter| filter.matches(account.data))
                {
                    let shown = show(&account, *view, true, snapshot);
                    let pubkey = encode_pubkey(&update.pubkey);
                    let value = json!({ "pubkey": pubkey, "account": shown });
                    sent.push(frame(*id, "program", 0, &at(slot, &value)));
                }
            }
        }
        let mut settled = Vec::new();
        for transaction in &block.transactions {
            self.push_logs(slot, transaction, sent);
            self.push_transaction(slot, transaction, sent);
            self.see(None, slot, transaction, &mut settled);
        }
        sent.extend(settled);
        let later = self.waiting.split_off(&(self.root + 1, 0));
        for ((slot, id), value) in std::mem::replace(&mut self.waiting, later) {
            sent.push(frame(id, "signature", 1, &at(slot, &value)));
            self.subscriptions.remove(&id);
        }
    }

    fn push_logs(&self, slot: u64, transaction: &TransactionUpdate, sent: &mut Vec<SentFrame>) {
        let Some(details) = &transaction.details else {
            return;
        };
        let mut signature = Vec::new();
        push_base58(&mut signature, &transaction.signature).unwrap();
        let value = json!({
            "signature": String::from_utf8(signature).unwrap(),
            "err": error_of(transaction),
            "logs": details.logs,
        });
        let mut push = |wanted: LogsOf| {
            for (id, interest) in &self.subscriptions {
                if *interest == Interest::Logs(wanted) {
                    sent.push(frame(*id, "logs", 0, &at(slot, &value)));
                }
            }
        };
        if !details.is_vote {
            push(LogsOf::All);
        }
        push(LogsOf::AllWithVotes);
        for key in &details.keys {
            push(LogsOf::Mentions(*key));
        }
    }

    fn push_transaction(&self, slot: u64, of: &TransactionUpdate, sent: &mut Vec<SentFrame>) {
        let Some(details) = &of.details else {
            return;
        };
        for (id, interest) in &self.subscriptions {
            let Interest::Transactions { filter, view } = interest else {
                continue;
            };
            let names = |key: &[u8; 32]| details.keys.contains(key);
            let is_wanted = filter
                .is_vote
                .is_none_or(|is_vote| is_vote == details.is_vote)
                && filter
                    .is_failed
                    .is_none_or(|failed| failed == of.error.is_some())
                && filter
                    .signature
                    .is_none_or(|signature| signature == of.signature)
                && (filter.include.is_empty() || filter.include.iter().any(names))
                && !filter.exclude.iter().any(names)
                && filter.required.iter().all(names);
            if !is_wanted {
                continue;
            }
            let mut signature = Vec::new();
            push_base58(&mut signature, &of.signature).unwrap();
            let signature = String::from_utf8(signature).unwrap();
            let result = match view.shape {
                Shape::Named => json!({ "signature": signature, "slot": slot }),
                Shape::Positional => {
                    json!({ "signature": signature, "slot": slot, "transactionIndex": 0 })
                }
            };
            sent.push(frame(*id, "transaction", 0, &result));
        }
    }

    /// Settles the subscriptions to a transaction that have not seen it, or only one of them.
    fn see(
        &mut self,
        only: Option<u32>,
        slot: u64,
        transaction: &TransactionUpdate,
        sent: &mut Vec<SentFrame>,
    ) {
        let mut ended = Vec::new();
        for (id, interest) in &self.subscriptions {
            let Interest::Signature {
                signature,
                is_finalized,
                wants_received,
            } = interest
            else {
                continue;
            };
            let has_seen = self.waiting.keys().any(|(_, of)| of == id);
            if *signature != transaction.signature || has_seen || only.is_some_and(|of| of != *id) {
                continue;
            }
            if *wants_received {
                sent.push(frame(
                    *id,
                    "signature",
                    0,
                    &at(slot, &json!("receivedSignature")),
                ));
            }
            let value = json!({ "err": error_of(transaction) });
            if *is_finalized && slot > self.root {
                self.waiting.insert((slot, *id), value);
            } else {
                sent.push(frame(*id, "signature", 1, &at(slot, &value)));
                ended.push(*id);
            }
        }
        for id in ended {
            self.subscriptions.remove(&id);
        }
    }
}
