// cargo add futures-util@=0.3.34 serde_json@=1.0.154
// cargo add tokio@=1.54.1 --features full
// cargo add tokio-tungstenite@=0.28.0 --features rustls-tls-webpki-roots
// cargo add rustls@=0.23.46 --no-default-features --features ring
use std::{error::Error, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::{connect_async, tungstenite::Message};

const PROGRAM: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";

/// Prints changes until the connection ends. `from` is the cursor of the last one.
async fn follow(from: &mut Option<String>) -> Result<(), Box<dyn Error>> {
    let mut options = json!({ "commitment": "confirmed", "encoding": "base64", "cursor": true });
    if let Some(cursor) = from.as_ref() {
        options["from"] = json!(cursor);
    }
    let params = json!([PROGRAM, options]);
    let request =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "programSubscribe", "params": params });
    let (mut socket, _response) = connect_async("SLOTLINE_WS_URL").await?;
    socket.send(Message::text(request.to_string())).await?;
    while let Some(message) = socket.next().await {
        let Message::Text(text) = message? else {
            continue;
        };
        let answer: Value = serde_json::from_str(&text)?;
        if let Some(error) = answer.get("error") {
            return Err(error.to_string().into());
        }
        let result = &answer["params"]["result"];
        let cursor = result["context"]["cursor"]
            .as_str()
            .or(result["cursor"].as_str());
        if let Some(cursor) = cursor {
            *from = Some(cursor.to_string());
        }
        if let Some(gap) = result.get("gap") {
            eprintln!("may be missing: {gap}");
        } else if let Some(pubkey) = result["value"]["pubkey"].as_str() {
            println!("{} {pubkey}", result["context"]["slot"]);
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() {
    let mut from = None;
    loop {
        if let Err(error) = follow(&mut from).await {
            eprintln!("connects again: {error}");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
