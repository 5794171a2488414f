// cargo add base64@=0.22.1 serde_json@=1.0.154 solana-commitment-config@=3.1.1 \
//   solana-instruction@=3.4.1 solana-keypair@=3.1.2 solana-message@=4.4.1 solana-pubkey@=4.2.1 \
//   solana-rpc-client@=4.2.2 solana-rpc-client-types@=4.2.2 solana-signer@=3.0.1 wincode@=0.5.5
// cargo add solana-system-interface@=3.2.0 --features bincode
// cargo add solana-transaction@=4.1.6 --features wincode
// cargo add tokio@=1.54.1 --features full
// KEYPAIR is a file of solana-keygen.
use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use solana_commitment_config::CommitmentConfig;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::{Keypair, read_keypair_file};
use solana_message::{Hash, VersionedMessage, v0};
use solana_pubkey::{Pubkey, pubkey};
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_types::request::RpcRequest;
use solana_signer::Signer;
use solana_system_interface::{instruction::transfer, program};
use solana_transaction::versioned::VersionedTransaction;

const TOKEN: Pubkey = pubkey!("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
const ASSOCIATED: Pubkey = pubkey!("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
const MINT: Pubkey = pubkey!("So11111111111111111111111111111111111111112");

type Failure = Box<dyn std::error::Error>;

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

/// Traffic of one account slows its writers down: pays to another one each time.
fn pay(payer: Pubkey, accounts: &Value, lamports: &Value) -> Result<Instruction, Failure> {
    let accounts = accounts.as_array().ok_or("no tip accounts")?;
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
    let account = &accounts[nanos as usize % accounts.len()];
    let to: Pubkey = account.as_str().ok_or("no address")?.parse()?;
    Ok(transfer(&payer, &to, lamports.as_u64().ok_or("no floor")?))
}

fn sign(payer: &Keypair, list: &[Instruction], blockhash: Hash) -> Result<String, Failure> {
    let message = v0::Message::try_compile(&payer.pubkey(), list, &[], blockhash)?;
    let transaction = VersionedTransaction::try_new(VersionedMessage::V0(message), &[payer])?;
    Ok(BASE64_STANDARD.encode(wincode::serialize(&transaction)?))
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let payer = read_keypair_file(std::env::var("KEYPAIR")?)?;
    let rpc = RpcClient::new("SLOTLINE_RPC_URL".to_string());
    let relay = RpcClient::new("SLOTLINE_RPC_URL/relay-bundle".to_string());

    let method = RpcRequest::Custom {
        method: "getServiceTipConfig",
    };
    let tips: Value = relay.send(method, json!([])).await?;
    let key = payer.pubkey();
    let (service, engine) = ("serviceTipFloorLamports", "bundleEngineTipFloorLamports");
    let last = [
        application(key),
        pay(key, &tips["serviceTipAccounts"], &tips[service])?,
        pay(key, &tips["bundleEngineTipAccounts"], &tips[engine])?,
    ];
    let (blockhash, _height) = rpc
        .get_latest_blockhash_with_commitment(CommitmentConfig::confirmed())
        .await?;
    // One transaction has both tips and a call of a program. All land in this order, or none.
    let bundle = [
        sign(&payer, &[application(key)], blockhash)?,
        sign(&payer, &last, blockhash)?,
    ];
    let method = RpcRequest::Custom {
        method: "sendBundle",
    };
    let id: String = relay
        .send(method, json!([bundle, { "encoding": "base64" }]))
        .await?;
    println!("{id}");
    Ok(())
}
