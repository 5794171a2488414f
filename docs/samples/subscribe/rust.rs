// cargo add futures-util@=0.3.34 solana-pubsub-client@=4.2.2
// cargo add tokio@=1.54.1 --features full
use futures_util::StreamExt;
use solana_pubsub_client::nonblocking::pubsub_client::PubsubClient;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let socket = PubsubClient::new("SLOTLINE_WS_URL").await?;
    let (mut slots, _unsubscribe) = socket.slot_subscribe().await?;
    while let Some(info) = slots.next().await {
        println!("{} {}", info.slot, info.root);
    }
    Ok(())
}
