use super::*;

fn latest(store: &Store, commitment: Commitment) -> String {
    let mut out = Vec::new();
    match latest_blockhash(&store.snapshot().unwrap(), commitment, &mut out) {
        Ok(()) => String::from_utf8(out).unwrap(),
        Err(error) => error.name().to_string(),
    }
}

fn latest_of(slot: u64, hash: u8, last_valid: u64) -> String {
    let hash = primitives::encoding::encode_pubkey(&[hash; 32]);
    format!(
        r#"{{"context":{{"slot":{slot}}},"value":{{"blockhash":"{hash}","lastValidBlockHeight":{last_valid}}}}}"#
    )
}

/// The block after the tip, of the next height, whose hash is 32 times the slot.
pub(super) fn next(store: &Store, slot: u64, root: Option<u64>, accounts: Vec<AccountUpdate>) {
    let tip = store.tip().unwrap().unwrap();
    let block = Block {
        slot,
        parent_slot: tip.slot,
        parent_blockhash: tip.blockhash,
        blockhash: [slot as u8; 32],
        block_height: tip.block_height + 1,
        block_time: Some(1_000 + slot as i64 / 5),
        accounts,
        root,
        ..Block::default()
    };
    store.apply(&block).unwrap();
}

#[test]
fn blockhash_slot_and_height_are_of_one_block() {
    let (_dir, store) = open(Vec::new(), Scope::All);
    for commitment in [Commitment::Finalized, Commitment::Confirmed] {
        let name = "no finalized slot is known";
        assert_eq!(latest(&store, commitment), latest_of(42, 9, 190), "{name}");
    }
    next(&store, 44, Some(42), Vec::new());
    assert_eq!(latest(&store, Commitment::Finalized), latest_of(42, 9, 190));
    assert_eq!(
        latest(&store, Commitment::Confirmed),
        latest_of(44, 44, 191)
    );
}

#[test]
fn the_hash_of_a_finalized_block_that_cannot_land_is_refused() {
    let (_dir, store) = open(Vec::new(), Scope::All);
    for slot in 43..=42 + BLOCKHASH_AGE_MAX {
        next(&store, slot, Some(42), Vec::new());
    }
    assert_eq!(latest(&store, Commitment::Finalized), latest_of(42, 9, 190));
    next(&store, 43 + BLOCKHASH_AGE_MAX, None, Vec::new());
    assert_eq!(latest(&store, Commitment::Finalized), "nodeUnhealthy");
    let tip = latest_of(43 + BLOCKHASH_AGE_MAX, 193, 341);
    assert_eq!(latest(&store, Commitment::Confirmed), tip);
}

fn balance_of(snapshot: &Snapshot<'_>, pubkey: &Pubkey, commitment: Commitment) -> String {
    let mut out = Vec::new();
    match balance(snapshot, pubkey, commitment, &mut out) {
        Ok(()) => String::from_utf8(out).unwrap(),
        Err(error) => error.name().to_string(),
    }
}

#[test]
fn balances_use_all_64_bits() {
    let mut rich = account(1, WALLET, Vec::new());
    rich.lamports = u64::MAX;
    let (_dir, store) = open(vec![rich], Scope::All);
    let snapshot = store.snapshot().unwrap();
    let expected = r#"{"context":{"slot":42},"value":18446744073709551615}"#;
    let commitment = Commitment::Finalized;
    assert_eq!(balance_of(&snapshot, &[1; 32], commitment), expected);
    let nothing = r#"{"context":{"slot":42},"value":0}"#;
    assert_eq!(balance_of(&snapshot, &[2; 32], commitment), nothing);
}

#[test]
fn a_balance_is_of_the_slot_that_its_context_names() {
    let steady = account(1, WALLET, Vec::new());
    let changed = account(2, WALLET, Vec::new());
    let closed = account(3, WALLET, Vec::new());
    let (_dir, store) = open(vec![steady, changed, closed], Scope::All);
    let with = |key, lamports| AccountUpdate {
        is_signed: false,
        lamports,
        ..account(key, WALLET, Vec::new())
    };
    next(&store, 43, Some(42), vec![with(2, 7), with(3, 0)]);
    let snapshot = store.snapshot().unwrap();
    let of = |key, commitment| balance_of(&snapshot, &[key; 32], commitment);
    let reply =
        |slot: u64, value: u64| format!(r#"{{"context":{{"slot":{slot}}},"value":{value}}}"#);
    let (finalized, confirmed) = (Commitment::Finalized, Commitment::Confirmed);
    assert_eq!(of(1, finalized), reply(42, 1), "unchanged since");
    assert_eq!(of(1, confirmed), reply(43, 1));
    assert_eq!(of(2, finalized), reply(43, 7), "changed since: the tip's");
    assert_eq!(of(3, finalized), reply(43, 0), "closed since: the tip's");
    drop(snapshot);
    next(&store, 44, Some(43), Vec::new());
    let snapshot = store.snapshot().unwrap();
    assert_eq!(balance_of(&snapshot, &[2; 32], finalized), reply(43, 7));
}

#[test]
fn balance_outside_the_scope_is_an_error() {
    let scope = Scope::Listed {
        programs: Vec::new(),
        mints: Vec::new(),
        pubkeys: vec![[1; 32]],
    };
    let (_dir, store) = open(Vec::new(), scope);
    let snapshot = store.snapshot().unwrap();
    let commitment = Commitment::Confirmed;
    assert_eq!(balance_of(&snapshot, &[2; 32], commitment), "outsideScope");
}

#[test]
fn a_blockhash_is_valid_for_150_blocks() {
    let (_dir, store) = open(Vec::new(), Scope::All);
    let validity = |hash: u8, commitment| {
        let mut out = Vec::new();
        let snapshot = store.snapshot().unwrap();
        blockhash_validity(&snapshot, &[hash; 32], commitment, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let reply =
        |slot: u64, valid: bool| format!(r#"{{"context":{{"slot":{slot}}},"value":{valid}}}"#);
    let (finalized, confirmed) = (Commitment::Finalized, Commitment::Confirmed);
    assert_eq!(validity(9, confirmed), reply(42, true));
    assert_eq!(validity(8, confirmed), reply(42, false));
    for slot in 43..=194 {
        next(&store, slot, Some(slot - 2), Vec::new());
        // It is valid up to the height that getLatestBlockhash returned for it: 40 + 150.
        let is_valid = slot - 2 <= 190;
        assert_eq!(validity(9, confirmed), reply(slot, is_valid), "{slot}");
    }
    assert_eq!(
        validity(9, finalized),
        reply(192, true),
        "by the finalized block"
    );
    assert_eq!(validity(192, finalized), reply(192, true));
    assert_eq!(validity(193, finalized), reply(192, false), "not finalized");
    assert_eq!(validity(193, confirmed), reply(194, true));
}

#[test]
fn store_without_a_block_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        map_bytes: 1 << 26,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let store = Store::open_writer(dir.path(), &options).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut out = Vec::new();
    assert_eq!(
        latest_blockhash(&snapshot, Commitment::Finalized, &mut out)
            .unwrap_err()
            .name(),
        "noIndex"
    );
    assert_eq!(info(&snapshot, &MINT, BASE64), "noIndex");
    for read in [
        token_account_balance as PointRead,
        token_supply,
        token_largest_accounts,
    ] {
        assert_eq!(point(&snapshot, read, &MINT), "noIndex");
        assert_eq!(point(&snapshot, read, &CLOCK_SYSVAR), "noIndex");
    }
    assert_eq!(
        point(&snapshot, token_largest_accounts, &NATIVE_MINT),
        "noIndex"
    );
    let query = ProgramQuery {
        program: MINT,
        filters: Vec::new(),
        limit: 1,
        after: None,
        changed_since: None,
    };
    let page = PageView {
        view: BASE64,
        reply_bytes_max: 1,
    };
    let ended = program_accounts(&snapshot, &query, &page, &mut budget(), &mut out);
    assert_eq!(ended.unwrap_err().name(), "noIndex");
    assert!(out.is_empty());
}

#[test]
fn multiple_accounts_keep_their_order() {
    let accounts = vec![
        account(1, [5; 32], b"a".to_vec()),
        account(2, [5; 32], b"b".to_vec()),
    ];
    let (_dir, store) = open(accounts, Scope::All);
    let snapshot = store.snapshot().unwrap();
    for keys in [
        vec![],
        vec![[2; 32], [9; 32], [1; 32], [2; 32]],
        vec![[1; 32]; 128],
    ] {
        let (mut at_once, mut streamed) = (Vec::new(), Vec::new());
        let limits = ReadLimits::default();
        let outcome = multiple_accounts(&snapshot, &keys, BASE64, &limits, &mut at_once).unwrap();
        assert_eq!(outcome, Outcome::Written);
        stream_accounts(&snapshot, &keys, BASE64, &mut streamed).unwrap();
        assert_eq!(at_once, streamed);
        let single = keys
            .iter()
            .map(|key| info(&snapshot, key, BASE64))
            .collect::<Vec<_>>();
        assert_eq!(value_of(Ok(outcome), &at_once), json!(single));
    }
    let mut out = Vec::new();
    let many = [[1; 32]; 129];
    let ended = multiple_accounts(&snapshot, &many, BASE64, &ReadLimits::NONE, &mut out);
    assert_eq!(value_of(ended, &out), "too large");
}

#[test]
fn too_large_for_the_event_loop() {
    const KIB: usize = 1024;
    let view = |encoding| View {
        encoding,
        slice: None,
    };
    let sliced = View {
        encoding: Encoding::Base64,
        slice: Some(DataSlice {
            offset: 1,
            length: 3,
        }),
    };
    let mut long_mint = mint_data(0, 0);
    long_mint.resize(165, 0);
    long_mint.push(1);
    long_mint.resize(257 * KIB, 0);
    let accounts = vec![
        account(1, [5; 32], vec![1; 256 * KIB]),
        account(2, [5; 32], vec![1; 256 * KIB + 1]),
        account(3, [5; 32], vec![1; 16 * KIB]),
        account(4, [5; 32], vec![1; 16 * KIB + 1]),
        account(5, TOKEN_2022_PROGRAM, long_mint),
        account(6, TOKEN_2022_PROGRAM, token_data(&[5; 32], 1)),
    ];
    let (_dir, store) = open(accounts, Scope::All);
    let snapshot = store.snapshot().unwrap();
    let cases: [(&str, u8, View, bool); 7] = [
        ("256 KiB", 1, BASE64, true),
        ("a byte more", 2, BASE64, false),
        ("a slice of it", 2, sliced, true),
        ("16 KiB of zstd", 3, view(Encoding::Base64Zstd), true),
        ("a byte more of zstd", 4, view(Encoding::Base64Zstd), false),
        ("a large account, not parsed", 2, PARSED, false),
        ("a small account of a large mint", 6, PARSED, false),
    ];
    for (name, key, view, is_written) in cases {
        assert_eq!(
            info(&snapshot, &[key; 32], view) != "too large",
            is_written,
            "{name}"
        );
    }
    assert_eq!(
        point(&snapshot, token_account_balance, &[6; 32]),
        "too large"
    );
    assert_eq!(point(&snapshot, token_supply, &[5; 32]), "too large");
    assert_eq!(
        point(&snapshot, token_largest_accounts, &[5; 32]),
        "too large"
    );
    let mut out = Vec::new();
    let limits = ReadLimits::default();
    let ended = multiple_accounts(&snapshot, &[[1; 32], [3; 32]], BASE64, &limits, &mut out);
    assert_eq!(value_of(ended, &out), "too large");
}

/// Counts the chunks, and fails after some.
struct Chunks {
    bytes: Vec<u8>,
    longest: usize,
    left: usize,
}

impl ReplySink for Chunks {
    fn chunk(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn write(&mut self, chunk: Vec<u8>) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or(Error::ReadTimeout)?;
        self.longest = self.longest.max(chunk.len());
        self.bytes.extend_from_slice(&chunk);
        Ok(())
    }
}

#[test]
fn streams_large_replies_in_chunks() {
    let data = (0..3_000_000u32)
        .map(|index| index as u8)
        .collect::<Vec<_>>();
    let (_dir, store) = open(vec![account(1, [5; 32], data.clone())], Scope::All);
    let snapshot = store.snapshot().unwrap();
    let mut chunks = Chunks {
        bytes: Vec::new(),
        longest: 0,
        left: usize::MAX,
    };
    stream_accounts(&snapshot, &[[1; 32]; 4], BASE64, &mut chunks).unwrap();
    assert!(chunks.longest <= 600 * 1024, "{}", chunks.longest);
    let reply: Value = serde_json::from_slice(&chunks.bytes).unwrap();
    let text = reply["value"][3]["data"][0].as_str().unwrap();
    assert_eq!(base64_simd::STANDARD.decode_to_vec(text).unwrap(), data);

    let mut single = Vec::new();
    stream_account(&snapshot, &[1; 32], BASE64, &mut single).unwrap();
    let single: Value = serde_json::from_slice(&single).unwrap();
    assert_eq!(single["value"], reply["value"][0]);

    let mut closed = Chunks { left: 2, ..chunks };
    let ended = stream_accounts(&snapshot, &[[1; 32]; 4], BASE64, &mut closed);
    assert_eq!(ended.unwrap_err().name(), "readTimeout");
}

#[test]
fn stream_fails_before_its_first_chunk() {
    let accounts = vec![
        account(1, [5; 32], vec![1; 9]),
        account(2, [5; 32], vec![1; 129]),
    ];
    let (_dir, store) = open(accounts, Scope::All);
    let snapshot = store.snapshot().unwrap();
    let view = View {
        encoding: Encoding::Base58,
        slice: None,
    };
    let keys = [vec![[1; 32]; 200_000], vec![[2; 32]]].concat();
    let mut sink = Chunks {
        bytes: Vec::new(),
        longest: 0,
        left: 0,
    };
    let ended = stream_accounts(&snapshot, &keys, view, &mut sink);
    assert_eq!(ended.unwrap_err().name(), "base58TooLong");
}
