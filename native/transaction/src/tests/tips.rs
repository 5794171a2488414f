use super::*;
use primitives::encoding::decode_pubkey;

const PAID: [u64; 2] = [SERVICE_FLOOR, ENGINE_FLOOR];

fn tips_of(build: &Build) -> Tips {
    tips(&parse(&build.bytes()).unwrap(), &rules())
}

fn changed(change: impl FnOnce(&mut Build)) -> Build {
    let mut build = qualifying(Version::V0);
    change(&mut build);
    build
}

/// Asserts what a changed qualifying transaction pays, whether it calls an application and whether
/// it qualifies.
fn case(name: &str, build: &Build, lamports: [u64; 2], has_application: bool, qualifies: bool) {
    let found = tips_of(build);
    let sum = |all: &[u64]| all.iter().fold(0, |sum: u64, one| sum.saturating_add(*one));
    let paid: Vec<u64> = found.paid.iter().map(|(_, lamports)| *lamports).collect();
    assert_eq!(sum(&paid), sum(&lamports), "{name}: by address");
    let expected = Tips {
        lamports: lamports.to_vec(),
        paid: found.paid.clone(),
        has_application,
        qualifies,
    };
    assert_eq!(found, expected, "{name}");
}

#[test]
fn every_version_counts() {
    for version in [Version::Legacy, Version::V0, Version::V1] {
        case("as made", &qualifying(version), PAID, true, true);
    }
}

#[test]
fn floors_are_inclusive_and_summed_for_each_class() {
    let pays = |service: u64, engine: u64| {
        changed(|build| {
            build.instructions[0].2 = transfer(service);
            build.instructions[1].2 = transfer(engine);
        })
    };
    let [service, engine] = PAID;
    case(
        "one lamport below",
        &pays(service - 1, engine),
        [service - 1, engine],
        true,
        false,
    );
    case(
        "the engine's",
        &pays(service, engine - 1),
        [service, engine - 1],
        true,
        false,
    );
    case(
        "one above",
        &pays(service + 1, engine),
        [service + 1, engine],
        true,
        true,
    );
    case("nothing", &pays(0, 0), [0, 0], true, false);
    let split = |first: u64, second: u64| {
        changed(|build| {
            build.instructions[0].2 = transfer(first);
            build.instructions.push((4, vec![0, 1], transfer(second)));
        })
    };
    case("split in two", &split(1, service - 1), PAID, true, true);
    case(
        "split, and short",
        &split(1, service - 2),
        [service - 1, engine],
        true,
        false,
    );
    case(
        "saturating",
        &split(u64::MAX, 5),
        [u64::MAX, engine],
        true,
        true,
    );
    let spread = changed(|build| {
        build.instructions[0].2 = transfer(service - 1);
        build.others.insert(0, [0x52; 32]);
        for instruction in &mut build.instructions {
            instruction.0 += 1;
            instruction
                .1
                .iter_mut()
                .filter(|index| **index > 0)
                .for_each(|index| *index += 1);
        }
        build.instructions.push((5, vec![0, 1], transfer(1)));
    });
    case("over two addresses of a class", &spread, PAID, true, true);
}

#[test]
fn counted_transfers() {
    let unpaid = [0, ENGINE_FLOOR];
    let first = |change: fn(&mut Instruction)| changed(|build| change(&mut build.instructions[0]));
    let short = first(|instruction| instruction.2.truncate(11));
    case("11 bytes of data", &short, unpaid, true, false);
    let long = first(|instruction| instruction.2.push(0));
    case("13 bytes of data", &long, PAID, true, true);
    let with_seed = first(|instruction| {
        instruction.2 = [
            &11u32.to_le_bytes()[..],
            &SERVICE_FLOOR.to_le_bytes(),
            &[0; 40],
        ]
        .concat();
        instruction.1 = vec![0, 0, 1];
    });
    case("TransferWithSeed", &with_seed, unpaid, true, false);
    let nonce = first(|instruction| instruction.2[0] = 5);
    case("WithdrawNonceAccount", &nonce, unpaid, true, false);
    let wide = first(|instruction| instruction.2[2] = 1);
    case(
        "a kind of which only one byte is 2",
        &wide,
        unpaid,
        true,
        false,
    );
    case(
        "one account",
        &first(|instruction| instruction.1.truncate(1)),
        unpaid,
        true,
        false,
    );
    case(
        "no account",
        &first(|instruction| instruction.1.clear()),
        unpaid,
        true,
        false,
    );
    case(
        "a third account",
        &first(|instruction| instruction.1.push(3)),
        PAID,
        true,
        true,
    );
    let swapped = first(|instruction| instruction.1 = vec![1, 0]);
    case("from the tip account", &swapped, unpaid, true, false);
    case(
        "from no signer",
        &first(|instruction| instruction.1[0] = 3),
        unpaid,
        true,
        false,
    );
    case(
        "another program",
        &first(|instruction| instruction.0 = 5),
        unpaid,
        true,
        false,
    );
    let aside = first(|instruction| instruction.1[1] = 3);
    case("to no tip account", &aside, unpaid, true, false);
}

#[test]
fn both_accounts_of_a_transfer_are_static_and_writable() {
    let readonly = changed(|build| {
        build.others = vec![ENGINE_TIP, [0xac; 32], SERVICE_TIP, SYSTEM, APPLICATION];
        build.readonly_unsigned = 3;
        build.instructions[0].1 = vec![0, 3];
        build.instructions[1].1 = vec![0, 1];
        build.instructions[2].1 = vec![2];
    });
    case(
        "a read-only tip account",
        &readonly,
        [0, ENGINE_FLOOR],
        true,
        false,
    );
    let writable = Build {
        readonly_unsigned: 2,
        ..readonly
    };
    case("its writable neighbour", &writable, PAID, true, true);

    let looked_up = changed(|build| {
        build.lookups = vec![(SERVICE_TIP, vec![0], vec![])];
        build.instructions[0].1 = vec![0, 6];
    });
    case(
        "a tip account of a lookup table",
        &looked_up,
        [0, ENGINE_FLOOR],
        true,
        false,
    );

    let second = |readonly_signed: u8| {
        changed(|build| {
            build.signers = vec![1, 2];
            build.readonly_signed = readonly_signed;
            build.instructions = vec![
                (5, vec![1, 2], transfer(SERVICE_FLOOR)),
                (5, vec![0, 3], transfer(ENGINE_FLOOR)),
                (6, vec![4], vec![]),
            ];
        })
    };
    case("from a second signer", &second(0), PAID, true, true);
    case(
        "from a read-only signer",
        &second(1),
        [0, ENGINE_FLOOR],
        true,
        false,
    );

    let mut own = rules();
    own.tip_classes[0].addresses = vec![signer_key(1)];
    let itself = changed(|build| build.instructions[0].1 = vec![0, 0]);
    let paid = tips(&parse(&itself.bytes()).unwrap(), &own).lamports;
    assert_eq!(paid, [0, ENGINE_FLOOR], "to itself");
}

#[test]
fn applications() {
    let last = |change: fn(&mut Instruction)| changed(|build| change(&mut build.instructions[2]));
    case(
        "no account at all",
        &last(|instruction| instruction.1.clear()),
        PAID,
        false,
        false,
    );
    case(
        "the payer",
        &last(|instruction| instruction.1 = vec![0]),
        PAID,
        true,
        true,
    );
    case(
        "a tip account",
        &last(|instruction| instruction.1 = vec![1]),
        PAID,
        true,
        true,
    );
    let readonly = last(|instruction| instruction.1 = vec![4, 5]);
    case("read-only accounts alone", &readonly, PAID, false, false);
    let mixed = last(|instruction| instruction.1 = vec![4, 5, 3]);
    case("a writable one behind them", &mixed, PAID, true, true);
    let looked_up = changed(|build| {
        build.lookups = vec![([8; 32], vec![0, 1], vec![])];
        build.instructions[2].1 = vec![4, 6, 7];
    });
    case(
        "writable through a lookup table alone",
        &looked_up,
        PAID,
        false,
        false,
    );
    let none = changed(|build| {
        build.instructions.pop();
    });
    case("tips alone", &none, PAID, false, false);
    let memo = changed(|build| {
        build.others[4] = decode_pubkey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr").unwrap();
        build.instructions[2].1 = vec![0, 3];
    });
    case("a memo with a writable signer", &memo, PAID, false, false);
    let payment = changed(|build| build.instructions[2] = (4, vec![0, 3], transfer(5)));
    case("a payment to somebody else", &payment, PAID, false, false);
    let first = changed(|build| build.instructions.rotate_right(1));
    case("before the tips", &first, PAID, true, true);
}

#[test]
fn program_is_not_an_application_account() {
    let invoked = |keys: [Pubkey; 6], readonly_unsigned: u8| {
        changed(|build| {
            build.others = keys.to_vec();
            build.readonly_unsigned = readonly_unsigned;
            build.instructions = vec![
                (5, vec![0, 1], transfer(SERVICE_FLOOR)),
                (5, vec![0, 2], transfer(ENGINE_FLOOR)),
                // The application's own key, which the header makes writable.
                (3, vec![3], vec![]),
            ];
        })
    };
    let loader = decode_pubkey("BPFLoaderUpgradeab1e11111111111111111111111").unwrap();
    let other = [8; 32];
    let alone = invoked(
        [SERVICE_TIP, ENGINE_TIP, APPLICATION, other, SYSTEM, other],
        2,
    );
    case("without the loader", &alone, PAID, false, false);
    let beside = invoked(
        [SERVICE_TIP, ENGINE_TIP, APPLICATION, other, SYSTEM, loader],
        2,
    );
    case("with the loader", &beside, PAID, false, false);
}
