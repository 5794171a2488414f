use super::*;

fn program_query(limit: usize, after: Option<Pubkey>) -> ProgramQuery {
    ProgramQuery {
        program: [5; 32],
        filters: Vec::new(),
        limit,
        after,
        changed_since: None,
    }
}

fn owner_page(
    snapshot: &Snapshot<'_>,
    limit: usize,
    after: Option<Pubkey>,
    bytes_max: usize,
) -> Value {
    let query = OwnerQuery {
        wallet: WALLET,
        filter: OwnerFilter::Program(TokenProgram::Token),
        limit,
        after,
    };
    let page = PageView {
        view: PARSED,
        reply_bytes_max: bytes_max,
    };
    let mut out = b"kept".to_vec();
    let ended = token_accounts_by_owner(snapshot, &query, &page, &mut budget(), &mut out);
    match ended {
        Ok(()) => serde_json::from_slice(&out[4..]).unwrap(),
        Err(error) => {
            assert_eq!(out, b"kept");
            json!(error.to_string())
        }
    }
}

#[test]
fn pages_end_keep_all_rows_and_are_bounded() {
    let mut accounts = vec![account(7, TOKEN_PROGRAM, mint_data(2, 1))];
    accounts.extend((1..=4).map(|key| {
        // The third has no mint, so its row is in base64.
        let mint = if key == 3 { [99; 32] } else { MINT };
        account(key, TOKEN_PROGRAM, token_data(&mint, 100))
    }));
    let (_dir, store) = open(accounts, Scope::All);
    let snapshot = store.snapshot().unwrap();
    let cases: [(usize, Option<Pubkey>, usize, Value); 4] = [
        (5, None, 4, Value::Null),
        (
            4,
            None,
            4,
            json!(primitives::encoding::encode_pubkey(&[4; 32])),
        ),
        (4, Some([4; 32]), 0, Value::Null),
        (
            3,
            Some([1; 32]),
            3,
            json!(primitives::encoding::encode_pubkey(&[4; 32])),
        ),
    ];
    for (limit, after, count, key) in cases {
        let page = owner_page(&snapshot, limit, after, usize::MAX);
        assert_eq!(page["context"], json!({"slot": 42}));
        assert_eq!(page["value"]["count"], count);
        assert_eq!(page["value"]["accounts"].as_array().unwrap().len(), count);
        assert_eq!(page["value"]["paginationKey"], key);
    }
    let page = owner_page(&snapshot, 10, None, usize::MAX);
    let rows = page["value"]["accounts"].as_array().unwrap();
    let is_base64 = rows.iter().map(|row| row["account"]["data"][1] == "base64");
    assert_eq!(is_base64.collect::<Vec<_>>(), [false, false, true, false]);
    assert_eq!(owner_page(&snapshot, 10, None, 1_000), "readBudget: 3");
}

#[test]
fn a_program_page_has_no_context() {
    let accounts = (1..=3)
        .map(|key| account(key, [5; 32], vec![key]))
        .collect();
    let (_dir, store) = open(accounts, Scope::All);
    let snapshot = store.snapshot().unwrap();
    let query = program_query(2, Some([1; 32]));
    let page = PageView {
        view: BASE64,
        reply_bytes_max: usize::MAX,
    };
    let mut out = Vec::new();
    program_accounts(&snapshot, &query, &page, &mut budget(), &mut out).unwrap();
    let reply: Value = serde_json::from_slice(&out).unwrap();
    let key = |key: u8| primitives::encoding::encode_pubkey(&[key; 32]);
    let row = |at: u8| json!({"pubkey": key(at), "account": info(&snapshot, &[at; 32], BASE64)});
    let expected = json!({"accounts": [row(2), row(3)], "count": 2, "paginationKey": key(3)});
    assert_eq!(reply, expected);
}

#[test]
fn page_outside_the_scope_is_an_error() {
    let scope = Scope::Listed {
        programs: vec![[5; 32]],
        mints: vec![MINT],
        pubkeys: vec![[77; 32]],
    };
    let accounts = vec![
        account(1, [5; 32], vec![1]),
        account(7, TOKEN_PROGRAM, mint_data(2, 1)),
        account(10, TOKEN_PROGRAM, token_data(&MINT, 150)),
    ];
    let (_dir, store) = open(accounts, scope);
    let snapshot = store.snapshot().unwrap();
    assert!(info(&snapshot, &[1; 32], BASE64).is_object());
    assert!(info(&snapshot, &[77; 32], BASE64).is_null());
    assert_eq!(info(&snapshot, &[2; 32], BASE64), "outsideScope");
    assert_eq!(point(&snapshot, token_supply, &[2; 32]), "outsideScope");
    assert_eq!(
        point(&snapshot, token_largest_accounts, &NATIVE_MINT),
        "outsideScope"
    );
    assert_eq!(
        point(&snapshot, token_largest_accounts, &MINT)[0]["amount"],
        "150"
    );
    assert_eq!(owner_page(&snapshot, 10, None, usize::MAX), "outsideScope");
    let ended = stream_accounts(&snapshot, &[[1; 32], [2; 32]], BASE64, &mut Vec::new());
    assert_eq!(ended.unwrap_err().name(), "outsideScope");
}

#[test]
fn a_scope_of_one_token_program_answers_reads_by_its_mints() {
    const MINT_2022: Pubkey = [8; 32];
    let scope = Scope::Listed {
        programs: vec![TOKEN_PROGRAM],
        mints: Vec::new(),
        pubkeys: vec![MINT_2022],
    };
    let accounts = vec![
        account(7, TOKEN_PROGRAM, mint_data(2, 1)),
        account(10, TOKEN_PROGRAM, token_data(&MINT, 150)),
        account(12, TOKEN_PROGRAM, token_data(&NATIVE_MINT, 3)),
        account(8, TOKEN_2022_PROGRAM, mint_data(2, 1)),
        account(11, TOKEN_2022_PROGRAM, token_data(&MINT_2022, 9)),
    ];
    let (_dir, store) = open(accounts, scope);
    let snapshot = store.snapshot().unwrap();
    let page = |mint: Pubkey| {
        let query = OwnerQuery {
            wallet: WALLET,
            filter: OwnerFilter::Mint(mint),
            limit: 10,
            after: None,
        };
        let page = PageView {
            view: BASE64,
            reply_bytes_max: usize::MAX,
        };
        let mut out = Vec::new();
        match token_accounts_by_owner(&snapshot, &query, &page, &mut budget(), &mut out) {
            Ok(()) => serde_json::from_slice::<Value>(&out).unwrap()["value"]["count"].clone(),
            Err(error) => json!(error.name()),
        }
    };
    let largest = |mint: &Pubkey| point(&snapshot, token_largest_accounts, mint);
    assert_eq!(page(MINT), 1);
    assert_eq!(largest(&MINT)[0]["amount"], "150");
    assert_eq!(page(NATIVE_MINT), 1, "whose mint need not be stored");
    assert_eq!(largest(&NATIVE_MINT)[0]["amount"], "3");
    assert_eq!(
        page(MINT_2022),
        "outsideScope",
        "a mint of the other program"
    );
    assert_eq!(largest(&MINT_2022), "outsideScope");
    assert_eq!(
        page([9; 32]),
        "outsideScope",
        "a mint that may be of either"
    );
    assert_eq!(
        page([10; 32]),
        0,
        "an account of the program that is no mint"
    );
}

/// A page of several chunks is sent once it is complete, and never in part.
#[test]
fn a_long_page_is_complete_or_an_error() {
    let rows = 40;
    let accounts = (1..=rows)
        .map(|key| account(key, [5; 32], vec![key; 30_000]))
        .collect();
    let (_dir, store) = open(accounts, Scope::All);
    let snapshot = store.snapshot().unwrap();
    let query = program_query(100, None);
    let send = |reply_bytes_max: usize| {
        let deadline = Instant::now() + Duration::from_secs(5);
        let (mut writer, reader) = pipe(usize::MAX, deadline, &InFlight::new(usize::MAX), None);
        let mut reply = CompleteReply::new(&mut writer);
        let page = PageView {
            view: BASE64,
            reply_bytes_max,
        };
        let ended = program_accounts(&snapshot, &query, &page, &mut budget(), &mut reply)
            .and_then(|()| reply.send());
        writer.finish(ended);
        reader
    };
    let reader = send(usize::MAX);
    let length = reader.bytes_left().unwrap();
    assert!(length > 6 * CHUNK_BYTES);
    let mut bytes = vec![0; length];
    assert_eq!(reader.read(&mut bytes).unwrap(), Read::Bytes(length));
    let mut expected = Vec::new();
    let page = PageView {
        view: BASE64,
        reply_bytes_max: usize::MAX,
    };
    program_accounts(&snapshot, &query, &page, &mut budget(), &mut expected).unwrap();
    assert!(bytes == expected, "the bytes of all chunks");
    let reply: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(reply["count"], json!(rows));

    let refused = send(5 * CHUNK_BYTES);
    assert_eq!(refused.bytes_left(), None);
    assert!(matches!(
        refused.failure(),
        Some(Error::ReadBudget { scanned }) if scanned > 30
    ));
}
