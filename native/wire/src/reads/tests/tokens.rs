use super::*;

#[test]
fn token_reads_and_their_errors() {
    let amount = |amount: &str, ui: f64, text: &str| json!({"amount": amount, "decimals": 2, "uiAmount": ui, "uiAmountString": text});
    let accounts = vec![
        account(7, TOKEN_PROGRAM, mint_data(2, 12_345)),
        account(8, [1; 32], mint_data(2, 1)),
        account(9, TOKEN_PROGRAM, vec![0; 82]),
        account(10, TOKEN_PROGRAM, token_data(&MINT, 150)),
        account(11, TOKEN_PROGRAM, token_data(&[12; 32], 1)),
        account(13, TOKEN_PROGRAM, token_data(&[9; 32], 1)),
        account(14, [1; 32], token_data(&MINT, 1)),
        account(15, TOKEN_PROGRAM, token_data(&NATIVE_MINT, 1_500_000_000)),
        account(16, TOKEN_PROGRAM, token_data(&[8; 32], 100)),
    ];
    let (_dir, store) = open(accounts, Scope::All);
    let snapshot = store.snapshot().unwrap();
    let native =
        json!({"amount": "1500000000", "decimals": 9, "uiAmount": 1.5, "uiAmountString": "1.5"});
    let balance: PointRead = token_account_balance;
    let supply: PointRead = token_supply;
    let largest: PointRead = token_largest_accounts;
    let cases: [(&str, PointRead, u8, Value); 17] = [
        ("a balance", balance, 10, amount("150", 1.5, "1.5")),
        ("of a missing account", balance, 99, json!("accountMissing")),
        ("of a mint", balance, 7, json!("notTokenAccount")),
        (
            "of another program's account",
            balance,
            14,
            json!("notTokenAccount"),
        ),
        ("whose mint is missing", balance, 11, json!("mintMissing")),
        ("whose mint is none", balance, 13, json!("mintUnpack")),
        ("of wrapped SOL, its mint unseen", balance, 15, native),
        (
            "whose mint belongs to anyone",
            balance,
            16,
            amount("100", 1.0, "1"),
        ),
        ("a supply", supply, 7, amount("12345", 123.45, "123.45")),
        ("of nothing", supply, 99, json!("accountMissing")),
        (
            "of another program's mint",
            supply,
            8,
            json!("notTokenMint"),
        ),
        ("of an uninitialised mint", supply, 9, json!("notTokenMint")),
        ("of a token account", supply, 10, json!("notTokenMint")),
        ("holders of nothing", largest, 99, json!("mintMissing")),
        (
            "of another program's mint",
            largest,
            8,
            json!("notTokenMint"),
        ),
        (
            "of an uninitialised mint",
            largest,
            9,
            json!("notTokenMint"),
        ),
        ("of a token account", largest, 10, json!("notTokenMint")),
    ];
    for (name, read, key, expected) in cases {
        assert_eq!(point(&snapshot, read, &[key; 32]), expected, "{name}");
    }
    let holders = point(&snapshot, largest, &NATIVE_MINT);
    assert_eq!(
        holders[0]["address"],
        primitives::encoding::encode_pubkey(&[15; 32])
    );
    assert_eq!(holders[0]["uiAmountString"], "1.5");
}

#[test]
fn twenty_holders_by_balance_then_highest_address() {
    let mut accounts = vec![account(7, TOKEN_PROGRAM, mint_data(0, 1))];
    accounts.extend((100..130).map(|key| {
        account(
            key,
            TOKEN_PROGRAM,
            token_data(&MINT, if key < 115 { 5 } else { u64::from(key) }),
        )
    }));
    // Only accounts of the mint's own program count.
    accounts.push(account(
        200,
        TOKEN_2022_PROGRAM,
        token_data(&MINT, u64::MAX),
    ));
    let (_dir, store) = open(accounts, Scope::All);
    let snapshot = store.snapshot().unwrap();
    let holders = point(&snapshot, token_largest_accounts, &MINT);
    let addresses = holders.as_array().unwrap().iter().map(|holder| {
        primitives::encoding::decode_pubkey(holder["address"].as_str().unwrap()).unwrap()[0]
    });
    let expected = (115..130).rev().chain((110..115).rev());
    assert_eq!(
        addresses.collect::<Vec<u8>>(),
        expected.collect::<Vec<u8>>()
    );
    assert_eq!(holders[0]["amount"], "129");
}

#[test]
fn holders_of_a_short_row_are_found_in_all_accounts() {
    let mut accounts = vec![account(7, TOKEN_PROGRAM, mint_data(0, 1))];
    let holder = |n: u8, amount| account(n, TOKEN_PROGRAM, token_data(&MINT, amount));
    accounts.extend((50..=200).map(|n| holder(n, u64::from(n))));
    let (_dir, store) = open(accounts, Scope::All);
    let emptied = (100..=200).map(|n| holder(n, 0)).collect();
    let next = Block {
        slot: 43,
        parent_slot: 42,
        parent_blockhash: [9; 32],
        block_height: 41,
        accounts: emptied,
        ..Block::default()
    };
    store.apply(&next).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut out = Vec::new();
    let outcome = token_largest_accounts(&snapshot, &MINT, &ReadLimits::NONE, &mut out).unwrap();
    assert_eq!((outcome, out.len()), (Outcome::TooLarge, 0));

    let mut budget = Budget::until(Instant::now() + Duration::from_secs(60));
    scan_largest_accounts(&snapshot, &MINT, &mut budget, &mut out).unwrap();
    let written: Value = serde_json::from_slice(&out).unwrap();
    let amounts = written["value"].as_array().unwrap().iter();
    let amounts: Vec<&str> = amounts
        .map(|holder| holder["amount"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = (80..100).rev().map(|n| n.to_string()).collect();
    assert_eq!(amounts, expected);

    // The clock is read every 256 rows.
    out.clear();
    let mut spent = Budget::until(Instant::now());
    scan_largest_accounts(&snapshot, &MINT, &mut spent, &mut out).unwrap();
    let late = scan_largest_accounts(&snapshot, &MINT, &mut spent, &mut out);
    assert!(matches!(late, Err(Error::ReadTimeout)));
}

/// The extension of a mint with interest of 5 % a year, from the epoch of Unix on.
fn five_percent() -> Vec<u8> {
    let rate = 500i16.to_le_bytes();
    let since = 0i64.to_le_bytes();
    [&[0; 32][..], &since, &rate, &since, &rate].concat()
}

#[test]
fn interest_and_scale_use_the_clock_of_the_store() {
    // One year at 5 %, by the store's clock.
    let year = 31_556_736i64;
    let interest = five_percent();
    let scale = |at: i64| {
        [
            &[0; 32][..],
            &1f64.to_le_bytes(),
            &at.to_le_bytes(),
            &2f64.to_le_bytes(),
        ]
        .concat()
    };
    let mut clock = vec![0; 40];
    clock[32..].copy_from_slice(&year.to_le_bytes());
    let mut clock = account(0, [1; 32], clock);
    clock.pubkey = CLOCK_SYSVAR;
    let accounts = vec![
        clock,
        account(20, TOKEN_2022_PROGRAM, extended_mint(6, 10, &interest)),
        account(21, TOKEN_2022_PROGRAM, extended_mint(6, 25, &scale(year))),
        account(
            22,
            TOKEN_2022_PROGRAM,
            extended_mint(6, 25, &scale(year + 1)),
        ),
        account(30, TOKEN_2022_PROGRAM, token_data(&[20; 32], 1_000_000)),
        account(31, TOKEN_2022_PROGRAM, token_data(&[21; 32], 1_000_000)),
    ];
    let (_dir, store) = open(accounts, Scope::All);
    let snapshot = store.snapshot().unwrap();
    let ui = |value: Value| value["uiAmountString"].as_str().unwrap().to_string();
    assert_eq!(
        ui(point(&snapshot, token_account_balance, &[30; 32])),
        "1.051271"
    );
    assert_eq!(ui(point(&snapshot, token_supply, &[20; 32])), "1.051271");
    assert_eq!(ui(point(&snapshot, token_supply, &[21; 32])), "2");
    assert_eq!(ui(point(&snapshot, token_supply, &[22; 32])), "1");
    let parsed = info(&snapshot, &[31; 32], PARSED);
    assert_eq!(
        ui(parsed["data"]["parsed"]["info"]["tokenAmount"].clone()),
        "2"
    );
}

/// The last digits of interest depend on which `exp` computes it: the crate libm would give
/// 1.5683121854901687, the C library and so the validator give the value nearest to e^0.45.
#[test]
fn interest_is_computed_by_the_exp_of_the_validator() {
    let nine_years = 9 * 31_556_736i64;
    let mut clock = vec![0; 40];
    clock[32..].copy_from_slice(&nine_years.to_le_bytes());
    let mut clock = account(0, [1; 32], clock);
    clock.pubkey = CLOCK_SYSVAR;
    let interest = five_percent();
    let mut mint = extended_mint(18, 10, &interest);
    mint[36..44].copy_from_slice(&1_000_000_000_000_000_000u64.to_le_bytes());
    let (_dir, store) = open(
        vec![clock, account(20, TOKEN_2022_PROGRAM, mint)],
        Scope::All,
    );
    let supply = point(&store.snapshot().unwrap(), token_supply, &[20; 32]);
    assert_eq!(supply["uiAmountString"], "1.568312185490168931");
    assert_eq!(supply["uiAmount"], 1.568312185490169);
}
