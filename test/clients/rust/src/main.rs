//! Checks of the Rust clients against a running service. Prints TAP. Arguments: the RPC URL, the
//! WebSocket URL, the samples of `sandbox.json` as JSON, the process id of the only edge, which is
//! killed.

mod checks;
mod client;

use std::error::Error;

use checks::Checks;
use client::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [rpc_url, ws_url, samples, edge] = &arguments[..] else {
        return Err("usage: rust-client <RPC URL> <WebSocket URL> <samples> <edge>".into());
    };
    let client = Client::new(rpc_url, ws_url, samples)?;
    let mut checks = Checks::default();
    client.read(&mut checks).await?;
    let payer = client.send(&mut checks).await?;
    client.subscribe(&mut checks, &payer).await?;
    client.lose_edge(&mut checks, edge).await?;
    checks.end();
    Ok(())
}
