//! The Rust clients against a running service, from the first read to the last unsubscribe. Prints
//! TAP. Arguments: the RPC URL, the WebSocket URL, the samples of `sandbox.json` as JSON, the
//! process id of the only edge, which it kills.

mod checks;
mod life;

use std::error::Error;

use checks::Checks;
use life::Life;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [rpc_url, ws_url, samples, edge] = &arguments[..] else {
        return Err("usage: rust-client <RPC URL> <WebSocket URL> <samples> <edge>".into());
    };
    let life = Life::new(rpc_url, ws_url, samples)?;
    let mut checks = Checks::default();
    life.read(&mut checks).await?;
    let payer = life.send(&mut checks).await?;
    life.subscribe(&mut checks, &payer).await?;
    life.lose_edge(&mut checks, edge).await?;
    checks.end();
    Ok(())
}
