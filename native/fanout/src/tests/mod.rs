//! Tests of the fan-out and their shared helpers.

mod cases;
mod cost;
mod naive;
mod outcomes;
mod passes;
mod properties;
mod replay;
mod resumption;
mod signatures;

use serde_json::Value;

use super::{Fanout, FanoutOptions, Interest, Pass, Subscription};
use primitives::token::TOKEN_PROGRAM;
use store::testing::{Temporary, account, block, open, options};
use store::{AccountUpdate, Block, Options, TransactionDetails, TransactionUpdate};
use wire::account_json::{Encoding, View};

const BASE64: View = View {
    encoding: Encoding::Base64,
    slice: None,
};

/// A frame: subscription, flags, text.
type Frame = (u32, u32, String);

/// A store and its fan-out.
struct Bench {
    temporary: Temporary,
    fanout: Fanout,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(1 << 20, &options())
    }

    fn with(chunk_bytes_max: usize, options: &Options) -> Bench {
        let options_of_fanout = FanoutOptions {
            subscriptions_max: 100_000,
            chunk_bytes_max,
        };
        Bench {
            temporary: open(options),
            fanout: Fanout::new(options_of_fanout),
        }
    }

    fn add(&self, id: u32, subscription: impl Into<Subscription>) {
        self.fanout.add(id, subscription).unwrap();
    }

    fn apply(&self, block: &Block) {
        self.temporary.store.apply(block).unwrap();
    }

    fn apply_accounts(&self, slot: u64, accounts: Vec<AccountUpdate>) {
        self.apply(&block(slot, accounts));
    }

    fn pass(&self) -> Pass {
        self.fanout.pass(&self.temporary.store).unwrap()
    }

    /// Runs passes until nothing is pending.
    fn frames(&self) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let pass = self.pass();
            assert!(!pass.is_lost);
            frames.extend(split(&pass));
            if !pass.has_more {
                return frames;
            }
        }
    }

    fn texts(&self) -> Vec<String> {
        self.frames().into_iter().map(|(_, _, text)| text).collect()
    }
}

fn split(pass: &Pass) -> Vec<Frame> {
    let mut rest = &pass.frames[..];
    let (rows, none) = pass.index.as_chunks::<3>();
    assert!(none.is_empty());
    let frames = rows.iter().map(|&[id, length, flags]| {
        let (frame, after) = rest.split_at(length as usize);
        rest = after;
        let text = String::from_utf8(frame.to_vec()).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["params"]["subscription"], id);
        (id, flags, text)
    });
    let frames = frames.collect();
    assert!(rest.is_empty());
    frames
}

fn to_account(key: u8) -> Interest {
    Interest::Account {
        pubkey: [key; 32],
        view: BASE64,
    }
}

/// A mint that [`token_account`] needs in JSON.
const MINT: [u8; 32] = [3; 32];

/// In JSON, which a damaged mint makes fail.
fn to_parsed(key: u8) -> Interest {
    Interest::Account {
        pubkey: [key; 32],
        view: View {
            encoding: Encoding::JsonParsed,
            slice: None,
        },
    }
}

fn token_account(key: u8) -> AccountUpdate {
    let data = store::testing::token_data(&MINT, &[4; 32], 5, 1);
    account([key; 32], 2, TOKEN_PROGRAM, &data)
}

fn signature(n: u8) -> [u8; 64] {
    [n; 64]
}

/// No error is a success. No details means that only the outcome is known.
fn transaction(
    n: u8,
    error: Option<&[u8]>,
    logs: Option<(&[[u8; 32]], &[&str])>,
) -> TransactionUpdate {
    TransactionUpdate {
        signature: signature(n),
        index: 0,
        error: error.map(<[u8]>::to_vec),
        details: logs.map(|(keys, lines)| TransactionDetails {
            is_vote: false,
            keys: keys.to_vec(),
            logs: lines.iter().map(ToString::to_string).collect(),
            ..TransactionDetails::default()
        }),
    }
}

fn with_transactions(slot: u64, transactions: Vec<TransactionUpdate>) -> Block {
    Block {
        transactions,
        ..block(slot, vec![])
    }
}

fn with_root(slot: u64, root: u64) -> Block {
    Block {
        root: Some(root),
        ..block(slot, vec![])
    }
}
