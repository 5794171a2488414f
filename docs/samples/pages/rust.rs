// cargo add serde_json@=1.0.154 solana-rpc-client@=4.2.2 solana-rpc-client-types@=4.2.2
// cargo add tokio@=1.54.1 --features full
// WALLET is an address, whose token accounts are listed.
use serde_json::{Value, json};
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_types::request::RpcRequest;

const METHOD: RpcRequest = RpcRequest::Custom {
    method: "getTokenAccountsByOwnerV2",
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wallet = std::env::var("WALLET")?;
    let filter = json!({ "programId": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA" });
    let rpc = RpcClient::new("SLOTLINE_RPC_URL".to_string());
    let mut key = Value::Null;
    loop {
        let page = json!({ "encoding": "base64", "limit": 1000, "paginationKey": key });
        let answer: Value = rpc.send(METHOD, json!([wallet, filter, page])).await?;
        let value = &answer["value"];
        for account in value["accounts"].as_array().into_iter().flatten() {
            println!("{}", account["pubkey"].as_str().unwrap_or_default());
        }
        key = value["paginationKey"].clone();
        // The last page has no key.
        if key.is_null() {
            return Ok(());
        }
    }
}
