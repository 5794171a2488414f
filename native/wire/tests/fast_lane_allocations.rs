//! The fast lane allocates nothing in Rust once its buffer is warm. LMDB's allocations in C are not
//! counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use primitives::encoding::encode_pubkey;
use primitives::token::TOKEN_PROGRAM;
use store::{AccountUpdate, Block, Options, Store};
use wire::fast_lane::{self, Recent};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed unchanged to the system allocator; the counter is a plain
// thread-local cell.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MINT: [u8; 32] = [7; 32];
const HOLDER: [u8; 32] = [10; 32];

fn open() -> (tempfile::TempDir, Store) {
    let mut mint = vec![0; 82];
    mint[44..46].copy_from_slice(&[6, 1]);
    let mut holder = [&MINT[..], &[3; 32], &150u64.to_le_bytes(), &[0; 93]].concat();
    holder[108] = 1;
    let account = |pubkey, data| AccountUpdate {
        is_signed: false,
        pubkey,
        lamports: 1,
        rent_epoch: u64::MAX,
        executable: false,
        owner: TOKEN_PROGRAM,
        data,
    };
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        map_bytes: 1 << 26,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let store = Store::open_writer(dir.path(), &options).unwrap();
    let accounts = vec![account(MINT, mint), account(HOLDER, holder)];
    store
        .apply(&Block {
            slot: 1,
            accounts,
            ..Block::default()
        })
        .unwrap();
    (dir, store)
}

#[test]
fn allocates_nothing_when_warm() {
    let (_dir, store) = open();
    let mint = encode_pubkey(&MINT);
    let holder = encode_pubkey(&HOLDER);
    let cases = [
        (
            "getAccountInfo",
            format!(r#"["{holder}",{{"encoding":"base64","commitment":"confirmed"}}]"#),
        ),
        (
            "getAccountInfo",
            format!(r#"["{mint}",{{"encoding":"base58"}}]"#),
        ),
        (
            "getAccountInfo",
            format!(r#"["{mint}",{{"encoding":"base64+zstd"}}]"#),
        ),
        ("getMultipleAccounts", format!(r#"[["{mint}","{holder}"]]"#)),
        ("getLatestBlockhash", "[]".to_string()),
        ("getTokenAccountBalance", format!(r#"["{holder}"]"#)),
        ("getTokenSupply", format!(r#"["{mint}"]"#)),
    ];
    let mut out = Vec::new();
    for ((method, params), recent_max) in cases.iter().flat_map(|case| [(case, 0), (case, 8)]) {
        let mut recent = Recent::new(recent_max);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let mut answer = || {
            out.clear();
            assert!(
                fast_lane::answer(body.as_bytes(), &store, &mut recent, &mut out),
                "{body}"
            );
        };
        answer();
        let before = COUNT.get();
        for _ in 0..100 {
            answer();
        }
        assert_eq!(COUNT.get() - before, 0, "{body}");
    }
}
