// cargo add solana-commitment-config@=3.1.1 solana-keypair@=3.1.2 solana-message@=4.4.1 \
//   solana-pubkey@=4.2.1 solana-rpc-client@=4.2.2 solana-rpc-client-types@=4.2.2 \
//   solana-signer@=3.0.1
// cargo add solana-system-interface@=3.2.0 --features bincode
// cargo add solana-transaction@=4.1.6 --features wincode
// cargo add tokio@=1.54.1 --features full
// KEYPAIR is a file of solana-keygen.
use solana_commitment_config::CommitmentConfig;
use solana_keypair::read_keypair_file;
use solana_message::{VersionedMessage, v0};
use solana_pubkey::pubkey;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_types::config::RpcSendTransactionConfig;
use solana_signer::Signer;
use solana_system_interface::instruction::transfer;
use solana_transaction::versioned::VersionedTransaction;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let payer = read_keypair_file(std::env::var("KEYPAIR")?)?;
    let rpc = RpcClient::new("SLOTLINE_RPC_URL".to_string());
    let lander = RpcClient::new("SLOTLINE_RPC_URL/lander".to_string());

    let tip_account = pubkey!("SLOTLINE_LANDER_TIP_ACCOUNT");
    let tip = transfer(&payer.pubkey(), &tip_account, SLOTLINE_LANDER_TIP_LAMPORTS);
    let (blockhash, _height) = rpc
        .get_latest_blockhash_with_commitment(CommitmentConfig::confirmed())
        .await?;
    // Add your own instructions before the tip.
    let message = v0::Message::try_compile(&payer.pubkey(), &[tip], &[], blockhash)?;
    let transaction = VersionedTransaction::try_new(VersionedMessage::V0(message), &[&payer])?;
    let config = RpcSendTransactionConfig {
        skip_preflight: true,
        ..Default::default()
    };
    let signature = lander
        .send_transaction_with_config(&transaction, config)
        .await?;
    println!("{signature}");
    Ok(())
}
