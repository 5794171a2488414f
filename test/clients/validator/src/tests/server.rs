use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures::{StreamExt, stream};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tonic::codec::CompressionEncoding;
use tonic::{Code, Request, Streaming};
use yellowstone_grpc_proto::geyser::geyser_client::GeyserClient;
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof as Update;
use yellowstone_grpc_proto::geyser::*;

use super::*;
use crate::chain::Chain;
use crate::server::{Feed, serve};

type Client = GeyserClient<tonic::transport::Channel>;

/// A server whose chain has the final slots 5 to 9.
async fn start() -> (Arc<Feed>, Client) {
    let (items, _) = broadcast::channel(1_000);
    let chain = Mutex::new(Chain::new(100));
    let feed = Arc::new(Feed {
        chain,
        items,
        x_token: Some("s3cret".to_string()),
    });
    for slot in 5..10 {
        block(&feed, slot);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(serve(feed.clone(), listener));
    let client = GeyserClient::connect(url).await.unwrap();
    (feed, client.accept_compressed(CompressionEncoding::Zstd))
}

fn block(feed: &Feed, slot: u64) {
    let events = vec![
        created(slot, slot - 1),
        account(slot, 1, slot),
        transaction(slot, 0),
        meta(slot, slot - 1, 1),
        reached(slot, Level::Finalized),
    ];
    let mut sent = Vec::new();
    let mut chain = feed.chain.lock().unwrap();
    for event in events {
        chain.apply(event, &mut sent);
    }
    for item in sent {
        let _ = feed.items.send(Arc::new(item));
    }
}

fn with_token<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request
        .metadata_mut()
        .insert("x-token", "s3cret".parse().unwrap());
    request
}

async fn subscribe(
    client: &mut Client,
    requests: Vec<SubscribeRequest>,
) -> Streaming<SubscribeUpdate> {
    let requests = stream::iter(requests).chain(stream::pending());
    client
        .subscribe(with_token(requests))
        .await
        .unwrap()
        .into_inner()
}

/// What Slotline asks for.
fn everything(from_slot: Option<u64>) -> SubscribeRequest {
    let slots = SubscribeRequestFilterSlots {
        filter_by_commitment: Some(false),
        interslot_updates: Some(true),
    };
    let one = |label: &str| label.to_string();
    SubscribeRequest {
        accounts: HashMap::from([(one("all"), SubscribeRequestFilterAccounts::default())]),
        slots: HashMap::from([(one("slots"), slots)]),
        blocks_meta: HashMap::from([(one("blocks"), SubscribeRequestFilterBlocksMeta {})]),
        transactions: HashMap::from([(one("t"), SubscribeRequestFilterTransactions::default())]),
        commitment: Some(CommitmentLevel::Confirmed.into()),
        from_slot,
        ..SubscribeRequest::default()
    }
}

/// The kinds of updates up to the status `last` of a slot.
async fn kinds(updates: &mut Streaming<SubscribeUpdate>, last: (u64, SlotStatus)) -> Vec<String> {
    let mut kinds = Vec::new();
    loop {
        let update = updates.next().await.unwrap().unwrap();
        match update.update_oneof.unwrap() {
            Update::Account(update) => kinds.push(format!("account {}", update.slot)),
            Update::Transaction(update) => kinds.push(format!("transaction {}", update.slot)),
            Update::BlockMeta(update) => kinds.push(format!("meta {}", update.slot)),
            Update::Slot(update) => {
                kinds.push(format!("{} {}", update.status().as_str_name(), update.slot));
                if (update.slot, update.status()) == last {
                    return kinds;
                }
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_replay_continues_live() {
    let (feed, mut client) = start().await;
    let mut updates = subscribe(&mut client, vec![everything(Some(9))]).await;
    let slot = |slot: u64| {
        [
            format!("SLOT_CREATED_BANK {slot}"),
            format!("account {slot}"),
            format!("transaction {slot}"),
            format!("meta {slot}"),
        ]
    };
    let replay = kinds(&mut updates, (9, SlotStatus::SlotFinalized)).await;
    assert_eq!(replay[..4], slot(9));
    block(&feed, 10);
    let live = kinds(&mut updates, (10, SlotStatus::SlotFinalized)).await;
    let content: Vec<_> = live
        .iter()
        .filter(|kind| !kind.starts_with("SLOT_"))
        .collect();
    assert_eq!(content, slot(10)[1..].iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_slot_that_is_gone_and_a_wrong_token_are_refused() {
    let (_feed, mut client) = start().await;
    let mut updates = subscribe(&mut client, vec![everything(Some(3))]).await;
    let status = loop {
        if let Err(status) = updates.next().await.unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Code::OutOfRange);
    assert_eq!(
        status.message(),
        "broadcast from 3 is not available, last available: 5"
    );
    let without = client
        .subscribe(stream::pending::<SubscribeRequest>())
        .await;
    assert_eq!(without.unwrap_err().code(), Code::Unauthenticated);
}

#[tokio::test]
async fn pings_and_unary_calls_are_answered() {
    let (_feed, mut client) = start().await;
    let ping = SubscribeRequest {
        ping: Some(SubscribeRequestPing { id: 7 }),
        ..SubscribeRequest::default()
    };
    let mut updates = subscribe(&mut client, vec![ping]).await;
    let pong = loop {
        let update = updates.next().await.unwrap().unwrap().update_oneof;
        if let Some(Update::Pong(pong)) = update {
            break pong;
        }
    };
    assert_eq!(pong.id, 7);
    let commitment = Some(CommitmentLevel::Finalized.into());
    let slot = client
        .get_slot(GetSlotRequest { commitment })
        .await
        .unwrap();
    assert_eq!(slot.into_inner().slot, 9);
    let request = GetLatestBlockhashRequest { commitment };
    let latest = client
        .get_latest_blockhash(request)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (latest.blockhash.as_str(), latest.last_valid_block_height),
        ("hash9", 159)
    );
    let blockhash = "hash5".to_string();
    let request = IsBlockhashValidRequest {
        blockhash,
        commitment,
    };
    assert!(
        client
            .is_blockhash_valid(request)
            .await
            .unwrap()
            .into_inner()
            .valid
    );
    let replay = client
        .subscribe_replay_info(SubscribeReplayInfoRequest {})
        .await
        .unwrap();
    assert_eq!(replay.into_inner().first_available, Some(5));
    let version = client
        .get_version(GetVersionRequest {})
        .await
        .unwrap()
        .into_inner()
        .version;
    assert!(version.contains("validator-feed"));
}
