// cargo add base64@=0.22.1 serde_json@=1.0.154 solana-commitment-config@=3.1.1 \
//   solana-instruction@=3.4.1 solana-keypair@=3.1.2 solana-message@=4.4.1 solana-pubkey@=4.2.1 \
//   solana-rpc-client@=4.2.2 solana-rpc-client-types@=4.2.2 solana-signer@=3.0.1 wincode@=0.5.5
// cargo add solana-system-interface@=3.2.0 --features bincode
// cargo add solana-transaction@=4.1.6 --features wincode
// cargo add tokio@=1.54.1 --features full
// KEYPAIR is a file of solana-keygen.
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;
use solana_commitment_config::CommitmentConfig;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::read_keypair_file;
use solana_message::{VersionedMessage, v0};
use solana_pubkey::{Pubkey, pubkey};
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_types::request::RpcRequest;
use solana_signer::Signer;
use solana_system_interface::{instruction::transfer, program};
use solana_transaction::versioned::VersionedTransaction;

const TOKEN: Pubkey = pubkey!("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
const ASSOCIATED: Pubkey = pubkey!("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
const MINT: Pubkey = pubkey!("So11111111111111111111111111111111111111112");

/// In place of this, what your application does: here, an account for wrapped SOL, if absent.
fn application(payer: Pubkey) -> Instruction {
    let seeds = [payer.as_ref(), TOKEN.as_ref(), MINT.as_ref()];
    let (account, _bump) = Pubkey::find_program_address(&seeds, &ASSOCIATED);
    let accounts = vec![
        AccountMeta::new(payer, true),
        AccountMeta::new(account, false),
        AccountMeta::new_readonly(payer, false),
        AccountMeta::new_readonly(MINT, false),
        AccountMeta::new_readonly(program::ID, false),
        AccountMeta::new_readonly(TOKEN, false),
    ];
    Instruction::new_with_bytes(ASSOCIATED, &[1], accounts)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let payer = read_keypair_file(std::env::var("KEYPAIR")?)?;
    let rpc = RpcClient::new("SLOTLINE_RPC_URL".to_string());
    let relay = RpcClient::new("SLOTLINE_RPC_URL/relay-bundle".to_string());

    let service = pubkey!("SLOTLINE_SERVICE_TIP_ACCOUNT");
    let engine = pubkey!("SLOTLINE_ENGINE_TIP_ACCOUNT");
    let instructions = [
        application(payer.pubkey()),
        transfer(&payer.pubkey(), &service, SLOTLINE_SERVICE_TIP_LAMPORTS),
        transfer(&payer.pubkey(), &engine, SLOTLINE_ENGINE_TIP_LAMPORTS),
    ];
    let (blockhash, _height) = rpc
        .get_latest_blockhash_with_commitment(CommitmentConfig::confirmed())
        .await?;
    let message = v0::Message::try_compile(&payer.pubkey(), &instructions, &[], blockhash)?;
    let transaction = VersionedTransaction::try_new(VersionedMessage::V0(message), &[&payer])?;
    let text = BASE64_STANDARD.encode(wincode::serialize(&transaction)?);
    let method = RpcRequest::Custom {
        method: "sendBundle",
    };
    let bundle: String = relay
        .send(method, json!([[text], { "encoding": "base64" }]))
        .await?;
    println!("{bundle}");
    Ok(())
}
