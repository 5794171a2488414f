use super::*;

#[test]
fn blockhash_and_its_last_height() {
    let (_dir, store) = open(Vec::new(), Scope::All);
    let snapshot = store.snapshot().unwrap();
    let mut out = Vec::new();
    latest_blockhash(&snapshot, &mut out).unwrap();
    let hash = primitives::encoding::encode_pubkey(&[9; 32]);
    let expected = format!(
        r#"{{"context":{{"slot":42}},"value":{{"blockhash":"{hash}","lastValidBlockHeight":190}}}}"#
    );
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

fn balance_of(snapshot: &Snapshot<'_>, pubkey: &Pubkey) -> String {
    let mut out = Vec::new();
    match balance(snapshot, pubkey, &mut out) {
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
    assert_eq!(balance_of(&snapshot, &[1; 32]), expected);
    let nothing = r#"{"context":{"slot":42},"value":0}"#;
    assert_eq!(balance_of(&snapshot, &[2; 32]), nothing);
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
    assert_eq!(balance_of(&snapshot, &[2; 32]), "outsideScope");
}

#[test]
fn a_blockhash_is_valid_for_150_blocks() {
    let (_dir, store) = open(Vec::new(), Scope::All);
    let validity = |hash: [u8; 32]| {
        let mut out = Vec::new();
        blockhash_validity(&store.snapshot().unwrap(), &hash, &mut out).unwrap();
        String::from_utf8(out).unwrap().ends_with("true}")
    };
    assert!(validity([9; 32]));
    assert!(!validity([8; 32]));
    for height in 41..=191 {
        let parent = if height == 41 {
            [9; 32]
        } else {
            [(height - 1) as u8; 32]
        };
        store
            .apply(&Block {
                slot: height + 2,
                parent_slot: height + 1,
                block_height: height,
                blockhash: [height as u8; 32],
                parent_blockhash: parent,
                ..Block::default()
            })
            .unwrap();
        // It is valid up to the height that getLatestBlockhash returned for it: 40 + 150.
        assert_eq!(validity([9; 32]), height <= 190, "height {height}");
    }
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
        latest_blockhash(&snapshot, &mut out).unwrap_err().name(),
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
