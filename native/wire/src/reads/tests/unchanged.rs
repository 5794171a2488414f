use super::accounts::next;
use super::*;

#[test]
fn what_was_not_written_after_a_slot_has_no_bytes() {
    let (_dir, store) = open(
        vec![
            account(1, [5; 32], vec![1; 129]),
            account(2, [5; 32], vec![2]),
            account(4, TOKEN_PROGRAM, mint_data(0, 8)),
        ],
        Scope::All,
    );
    next(
        &store,
        44,
        None,
        vec![
            account(2, [5; 32], vec![3]),
            account(5, TOKEN_PROGRAM, token_data(&[4; 32], 7)),
        ],
    );
    let snapshot = store.snapshot().unwrap();
    let limits = ReadLimits::default();
    let at = |slot| Wanted {
        changed_since: Some(slot),
        view: View {
            encoding: Encoding::Base58,
            slice: None,
        },
    };
    let value = |read: &dyn Fn(&mut Vec<u8>) -> Result<Outcome>| {
        let mut out = Vec::new();
        assert_eq!(read(&mut out).unwrap(), Outcome::Written);
        let reply: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(reply["context"]["slot"], 44);
        reply["value"].clone()
    };
    let unchanged = json!({"unchanged": true});
    let info =
        |key, slot| value(&|out| account_info(&snapshot, &[key; 32], at(slot), &limits, out));
    // Too long for base58, but no bytes of it are written.
    assert_eq!(info(1, 42), unchanged);
    assert_eq!(info(2, 43)["data"], json!(["4", "base58"]));
    assert_eq!(info(2, 44), unchanged);
    assert_eq!(info(2, u64::MAX), unchanged, "of a slot to come");
    assert_eq!(info(3, 44), Value::Null, "one that does not exist");
    let keys = [[1; 32], [2; 32], [3; 32]];
    let several = value(&|out| multiple_accounts(&snapshot, &keys, at(42), &limits, out));
    assert_eq!(several[0], unchanged);
    assert_eq!(several[1]["data"][0], "4");
    assert_eq!(several[2], Value::Null);
    let mut streamed = Vec::new();
    stream_accounts(&snapshot, &keys, at(42), &mut streamed).unwrap();
    let streamed: Value = serde_json::from_slice(&streamed).unwrap();
    assert_eq!(streamed["value"], several);
    let mut single = Vec::new();
    stream_account(&snapshot, &[1; 32], at(42), &mut single).unwrap();
    let single: Value = serde_json::from_slice(&single).unwrap();
    assert_eq!(single["value"], unchanged);
    let balance = |slot| {
        value(&|out| {
            crate::reads::token_account_balance(&snapshot, &[5; 32], Some(slot), &limits, out)
        })
    };
    assert_eq!(balance(43)["amount"], "7");
    assert_eq!(balance(44), unchanged);
    let supply = |slot| {
        value(&|out| crate::reads::token_supply(&snapshot, &[4; 32], Some(slot), &limits, out))
    };
    assert_eq!(supply(41)["amount"], "8");
    assert_eq!(supply(42), unchanged);
}
