// cargo add solana-commitment-config@=3.1.1 solana-rpc-client@=4.2.2
// cargo add tokio@=1.54.1 --features full
use solana_commitment_config::CommitmentConfig;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rpc = RpcClient::new("SLOTLINE_RPC_URL".to_string());
    let (blockhash, height) = rpc
        .get_latest_blockhash_with_commitment(CommitmentConfig::confirmed())
        .await?;
    println!("{blockhash} {height}");
    Ok(())
}
