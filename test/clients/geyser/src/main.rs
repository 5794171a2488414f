//! Follows the blocks of a server with a published client that reconnects by itself.
//!
//! Arguments: the version of the client (13 or 17), the URL, the token. Prints a line for each
//! block (`block <slot> <parent> <transactions> <accounts>`) and one for each end of a stream that
//! is reported to the user, `again` where the client goes on and `end <code> <message>` at last.

use std::time::Duration;

use futures::StreamExt;

/// The client has its own connection for each attempt.
const ATTEMPTS: u32 = 30;
const STEP: Duration = Duration::from_millis(100);

/// The same request in the types of a version.
macro_rules! request {
    ($proto:ident) => {{
        use $proto::geyser::*;
        let whole = SubscribeRequestFilterBlocks {
            include_accounts: Some(true),
            ..Default::default()
        };
        SubscribeRequest {
            blocks: [("whole".to_string(), whole)].into(),
            commitment: Some(CommitmentLevel::Confirmed as i32),
            ..Default::default()
        }
    }};
}

macro_rules! show {
    ($proto:ident, $update:expr) => {{
        use $proto::geyser::subscribe_update::UpdateOneof;
        if let Some(UpdateOneof::Block(block)) = $update.update_oneof {
            let (transactions, accounts) = (block.transactions.len(), block.accounts.len());
            println!(
                "block {} {} {transactions} {accounts}",
                block.slot, block.parent_slot
            );
        }
    }};
}

async fn follow13(url: String, token: String) {
    let config = client13::ReconnectConfig {
        backoff: client13::Backoff::new(STEP, 1.0, ATTEMPTS),
        ..Default::default()
    };
    let builder = client13::GeyserGrpcClient::build_from_shared(url).unwrap();
    let builder = builder.x_token(Some(token)).unwrap();
    let builder = builder.set_reconnect_config(config);
    let mut client = builder
        .max_decoding_message_size(usize::MAX)
        .connect()
        .await
        .unwrap();
    println!("version {}", client.get_version().await.unwrap().version);
    let (_sink, mut stream) = client
        .subscribe_with_request(Some(request!(proto12)))
        .await
        .unwrap();
    while let Some(update) = stream.next().await {
        match update {
            Ok(update) => show!(proto12, update),
            Err(status) => return println!("end {:?} {}", status.code(), status.message()),
        }
    }
    println!("end");
}

async fn follow17(url: String, token: String) {
    let config = client17::ReconnectConfig::default();
    let config = config.with_backoff(client17::Backoff::new(STEP, 1.0, ATTEMPTS));
    let builder = client17::GeyserGrpcClient::build_from_shared(url).unwrap();
    let builder = builder.x_token(Some(token)).unwrap();
    let builder = builder.set_reconnect_config(config);
    let mut client = builder
        .max_decoding_message_size(usize::MAX)
        .connect()
        .await
        .unwrap();
    println!("version {}", client.get_version().await.unwrap().version);
    let (_sink, mut stream) = client
        .subscribe_with_reconnect(Some(request!(proto14)))
        .await
        .unwrap();
    while let Some(event) = stream.next().await {
        match event {
            Ok(client17::ReconnectEvent::Update(update)) => show!(proto14, update),
            Ok(client17::ReconnectEvent::Disconnected(_)) => println!("again"),
            Err(status) => return println!("end {status:?}"),
        }
    }
    println!("end");
}

#[tokio::main]
async fn main() {
    let [version, url, token] = std::env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .expect("version, URL and token");
    match version.as_str() {
        "13" => follow13(url, token).await,
        _ => follow17(url, token).await,
    }
}
