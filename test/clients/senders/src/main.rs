//! Drives `lunar-lander-quic-client` and `jito-sdk-rust` as they are published. Each line of the
//! input is a call as JSON with an `id`, each line of the output its result with the same one;
//! calls run beside each other.
//!
//! - `connect`: `client` (a name), `endpoint`, `token`, and `protect` for protection from MEV
//! - `ask`: sends `bytes` (base64) of `client` with an answer
//! - `send`: the same without one
//! - `measure`: asks `all` (a list), one after the other; results in microseconds
//! - `state`: connections that were made again, and health
//! - `close`
//! - `jito`: calls `method` of the SDK for the engine at `url`, with `uuid` if there is one, and
//!   `params` as the SDK takes them; the result has its `value`

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

mod jito;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lunar_lander_quic_client::{ClientOptions, LunarLanderQuicClient};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::{Mutex, mpsc};

type Clients = Arc<Mutex<HashMap<String, Arc<LunarLanderQuicClient>>>>;
type Outcome = Result<Value, Box<dyn std::error::Error + Send + Sync>>;

fn text(call: &Value, name: &str) -> String {
    call[name].as_str().unwrap_or_default().to_string()
}

/// Milliseconds since 1970: the caller compares them with its own.
fn now_ms() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64() * 1_000.0
}

async fn ask(client: &LunarLanderQuicClient, bytes: &[u8]) -> Outcome {
    let response = client.send_transaction_with_response(bytes).await?;
    Ok(json!({
        "status": response.status,
        "code": response.code.to_string(),
        "signature": response.signature,
        "message": response.message,
    }))
}

async fn measure(client: &LunarLanderQuicClient, all: &Value) -> Outcome {
    let mut micros = Vec::new();
    for one in all.as_array().into_iter().flatten() {
        let bytes = STANDARD.decode(one.as_str().unwrap_or_default())?;
        let began = Instant::now();
        let response = client.send_transaction_with_response(&bytes).await?;
        micros.push(json!([response.status, began.elapsed().as_secs_f64() * 1e6]));
    }
    Ok(json!({ "measured": micros }))
}

async fn run(clients: &Clients, call: &Value) -> Outcome {
    let name = text(call, "client");
    if call["do"] == "jito" {
        return Ok(json!({ "value": jito::run(call).await? }));
    }
    if call["do"] == "connect" {
        let options = ClientOptions {
            mev_protect: call["protect"] == true,
            ..ClientOptions::default()
        };
        let (endpoint, token) = (text(call, "endpoint"), text(call, "token"));
        let client = LunarLanderQuicClient::connect_with_options(endpoint, token, options).await?;
        clients.lock().await.insert(name, Arc::new(client));
        return Ok(json!({}));
    }
    let known = clients.lock().await.get(&name).cloned();
    let client = known.ok_or("no such client")?;
    match call["do"].as_str().unwrap_or_default() {
        "ask" => ask(&client, &STANDARD.decode(text(call, "bytes"))?).await,
        "send" => {
            let bytes = STANDARD.decode(text(call, "bytes"))?;
            client.send_transaction(&bytes).await?;
            Ok(json!({}))
        }
        "measure" => measure(&client, &call["all"]).await,
        "state" => Ok(json!({
            "reconnects": client.reconnects_total(),
            "health": format!("{:?}", client.health()),
        })),
        "close" => {
            drop(client);
            let client = clients.lock().await.remove(&name);
            if let Some(client) = client.and_then(Arc::into_inner) {
                client.close().await;
            }
            Ok(json!({}))
        }
        _ => Err("no such call".into()),
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let clients = Clients::default();
    let (sender, mut results) = mpsc::unbounded_channel::<Value>();
    tokio::spawn(async move {
        while let Some(result) = results.recv().await {
            println!("{result}");
        }
    });
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let (clients, sender) = (Arc::clone(&clients), sender.clone());
        tokio::spawn(async move {
            let call: Value = serde_json::from_str(&line).unwrap_or_default();
            let mut result = match run(&clients, &call).await {
                Ok(result) => result,
                Err(error) => json!({ "error": error.to_string() }),
            };
            result["id"] = call["id"].clone();
            result["atMs"] = json!(now_ms());
            let _ = sender.send(result);
        });
    }
    Ok(())
}
