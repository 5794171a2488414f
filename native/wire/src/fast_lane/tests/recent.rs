use proptest::prelude::*;

use super::*;

fn body(method: &str, pubkey: &Pubkey, options: &str) -> String {
    let pubkey = encode_pubkey(pubkey);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["{pubkey}"{options}]}}"#)
}

fn bodies() -> Vec<String> {
    let infos = [
        "",
        r#",{"encoding":"base58"}"#,
        r#",{"encoding":"jsonParsed"}"#,
        r#",{"encoding":"base64","dataSlice":{"offset":0,"length":8}}"#,
        r#",{"encoding":"base64","dataSlice":{"offset":8,"length":0}}"#,
        r#",{"encoding":"base64","dataSlice":{"offset":0,"length":0}}"#,
    ];
    let others = [
        "getTokenAccountBalance",
        "getTokenSupply",
        "getTokenLargestAccounts",
    ];
    let mut bodies = ["", "finalized", "confirmed"]
        .map(|name| {
            let params = format!(r#"[{{"commitment":"{name}"}}]"#);
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":{params}}}"#)
        })
        .to_vec();
    for pubkey in [HOLDER, MINT, [0; 32], [1; 32]] {
        bodies.extend(infos.map(|options| body("getAccountInfo", &pubkey, options)));
        bodies.extend(others.map(|method| body(method, &pubkey, "")));
    }
    bodies
}

/// Changes the amount of the holder, or closes it.
fn change(store: &Store, amount: u64) {
    let tip = store.tip().unwrap().unwrap();
    let mut data = [&MINT[..], &[3; 32], &amount.to_le_bytes(), &[0; 93]].concat();
    data[108] = 1;
    store
        .apply(&Block {
            slot: tip.slot + 1,
            parent_slot: tip.slot,
            parent_blockhash: tip.blockhash,
            block_height: tip.block_height + 1,
            root: Some(tip.slot),
            accounts: vec![AccountUpdate {
                is_signed: false,
                pubkey: HOLDER,
                lamports: amount % 2,
                rent_epoch: u64::MAX,
                executable: false,
                owner: TOKEN_PROGRAM,
                data,
            }],
            ..Block::default()
        })
        .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// After any requests and changes, and with any cache size, a reply is of the newest block.
    #[test]
    fn never_older_than_the_store(
        slots in 0usize..40,
        steps in prop::collection::vec(prop_oneof![
            8 => any::<prop::sample::Index>().prop_map(Ok),
            1 => any::<u64>().prop_map(Err),
        ], 1..150),
    ) {
        let (_dir, store) = open();
        let bodies = bodies();
        let mut recent = Recent::new(slots);
        for step in steps {
            match step {
                Err(amount) => change(&store, amount),
                Ok(index) => {
                    let body = index.get(&bodies).as_bytes();
                    let expected = answered_with(&mut Recent::new(0), &store, body);
                    prop_assert_eq!(answered_with(&mut recent, &store, body), expected);
                }
            }
        }
    }
}

#[test]
fn caches_results_without_ids() {
    let (_dir, store) = open();
    let mut recent = Recent::new(8);
    let one = body("getAccountInfo", &HOLDER, "");
    let other = one.replace("\"id\":1", "\"id\":\"abc\"");
    let first = answered_with(&mut recent, &store, one.as_bytes()).unwrap();
    let second = answered_with(&mut recent, &store, other.as_bytes()).unwrap();
    assert_eq!(first.replace("\"id\":1", "\"id\":\"abc\""), second);
}

#[test]
fn a_reader_sees_the_commit_of_a_writer() {
    let (dir, store) = open();
    drop(store);
    let options = Options {
        map_bytes: 1 << 26,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let store = Store::open_writer(dir.path(), &options).unwrap();
    let before = store.last_commit();
    assert_eq!(store.snapshot().unwrap().commit(), before);
    change(&store, 7);
    assert_eq!(store.snapshot().unwrap().commit(), store.last_commit());
    assert!(store.last_commit() > before);
}
