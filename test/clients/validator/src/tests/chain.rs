use super::*;
use crate::chain::Chain;
use crate::item::{Body, Item};

/// What a subscription of a level is sent, one word for each update.
fn words(items: &[Item], level: Level) -> Vec<String> {
    let sent = items
        .iter()
        .filter(|item| item.level.is_none_or(|it| it == level));
    let words = sent.map(|item| match &item.body {
        Body::Account { slot, info, .. } => {
            format!("account {slot} {}={}", info.pubkey[0], info.write_version)
        }
        Body::Transaction { slot, transaction } => {
            format!("transaction {slot} {}", transaction.info.index)
        }
        Body::Block(block) => format!("block {}", block.meta.slot),
        Body::Meta(block) => format!("meta {}", block.meta.slot),
        Body::Slot { slot, status, .. } => format!("{} {slot}", status.as_str_name()),
    });
    words.collect()
}

fn run(chain: &mut Chain, events: Vec<Event>) -> Vec<Item> {
    let mut items = Vec::new();
    for event in events {
        chain.apply(event, &mut items);
    }
    items
}

#[test]
fn a_confirmed_slot_is_sent_whole_and_with_the_last_version_of_each_account() {
    let mut chain = Chain::new(100);
    let events = vec![
        account(5, 1, 10),
        created(5, 4),
        account(5, 1, 12),
        account(5, 1, 11),
        transaction(5, 1),
        reached(5, Level::Processed),
        reached(5, Level::Confirmed),
        meta(5, 4, 2),
        transaction(5, 0),
    ];
    let items = run(&mut chain, events);
    let confirmed = words(&items, Level::Confirmed);
    let expected = [
        "SLOT_CREATED_BANK 5",
        "SLOT_PROCESSED 5",
        "account 5 1=12",
        "transaction 5 0",
        "transaction 5 1",
        "block 5",
        "meta 5",
        "SLOT_CONFIRMED 5",
    ];
    assert_eq!(confirmed, expected, "the last transaction makes it whole");
    let processed = words(&items, Level::Processed);
    assert_eq!(processed[..2], ["account 5 1=10", "SLOT_CREATED_BANK 5"]);
    assert_eq!(
        processed
            .iter()
            .filter(|word| word.starts_with("account"))
            .count(),
        3
    );
}

#[test]
fn ancestors_have_the_level_of_their_descendant_and_are_sent_first() {
    let mut chain = Chain::new(100);
    let mut events = Vec::new();
    for (slot, parent) in [(5, 4), (6, 5), (8, 6)] {
        events.extend([
            created(slot, parent),
            account(slot, 1, slot),
            meta(slot, parent, 0),
        ]);
    }
    // A slot that no other one descends from.
    events.extend([created(7, 5), account(7, 1, 7), meta(7, 5, 0)]);
    events.push(reached(8, Level::Finalized));
    let items = run(&mut chain, events);
    let finalized = words(&items, Level::Finalized);
    let metas: Vec<_> = finalized
        .iter()
        .filter(|word| word.starts_with("meta"))
        .collect();
    assert_eq!(metas, ["meta 5", "meta 6", "meta 8"]);
    let statuses = |slot: u64| {
        let name = format!(" {slot}");
        let sent = finalized
            .iter()
            .filter(|word| word.starts_with("SLOT") && word.ends_with(&name));
        sent.map(String::as_str).collect::<Vec<_>>()
    };
    let all = [
        "SLOT_CREATED_BANK 6",
        "SLOT_PROCESSED 6",
        "SLOT_CONFIRMED 6",
        "SLOT_FINALIZED 6",
    ];
    assert_eq!(statuses(6), all, "each level, in order");
    assert_eq!(statuses(7), ["SLOT_CREATED_BANK 7"]);
}

#[test]
fn a_child_waits_for_its_parent() {
    let mut chain = Chain::new(100);
    let events = vec![
        created(5, 4),
        created(6, 5),
        meta(6, 5, 0),
        reached(6, Level::Confirmed),
    ];
    let items = run(&mut chain, events);
    assert!(!words(&items, Level::Confirmed).contains(&"meta 6".to_string()));
    let items = run(&mut chain, vec![meta(5, 4, 0)]);
    let metas: Vec<_> = words(&items, Level::Confirmed);
    let metas: Vec<_> = metas
        .iter()
        .filter(|word| word.starts_with("meta"))
        .collect();
    assert_eq!(metas, ["meta 5", "meta 6"]);
}

#[test]
fn a_second_bank_replaces_the_first_and_a_dead_slot_is_not_sent() {
    let mut chain = Chain::new(100);
    let events = vec![
        created(5, 4),
        account(5, 1, 1),
        created(5, 4),
        account(5, 2, 2),
        meta(5, 4, 0),
        created(6, 5),
        account(6, 1, 3),
        Event::Dead {
            slot: 6,
            parent: Some(5),
            error: "bad".to_string(),
        },
        reached(5, Level::Confirmed),
        reached(6, Level::Confirmed),
    ];
    let confirmed = words(&run(&mut chain, events), Level::Confirmed);
    let accounts: Vec<_> = confirmed
        .iter()
        .filter(|word| word.starts_with("account"))
        .collect();
    assert_eq!(accounts, ["account 5 2=2"]);
    assert!(confirmed.contains(&"SLOT_DEAD 6".to_string()));
}

#[test]
fn a_replay_begins_at_a_stored_slot_and_no_earlier() {
    let mut chain = Chain::new(10);
    for slot in 5..100 {
        let parent = slot - 1;
        run(
            &mut chain,
            vec![
                created(slot, parent),
                account(slot, 1, slot),
                meta(slot, parent, 0),
                reached(slot, Level::Finalized),
            ],
        );
    }
    assert_eq!(chain.first_stored(), Some(90));
    assert_eq!(chain.replay(Level::Confirmed, 89).unwrap_err(), 90);
    let replay = words(
        &chain.replay(Level::Confirmed, 98).unwrap(),
        Level::Confirmed,
    );
    assert_eq!(
        replay[..4],
        [
            "SLOT_CREATED_BANK 98",
            "account 98 1=98",
            "block 98",
            "meta 98"
        ]
    );
    assert_eq!(replay.last().map(String::as_str), Some("SLOT_FINALIZED 99"));
    assert_eq!(chain.height_of("hash95", Level::Finalized), Some(95));
}
