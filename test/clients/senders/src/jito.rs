//! Calls of `jito-sdk-rust`.

use jito_sdk_rust::JitoJsonRpcSDK;
use serde_json::Value;

/// What the SDK makes of an answer: its body as JSON, or an error.
pub async fn run(call: &Value) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
    let uuid = call["uuid"].as_str().map(String::from);
    let url = call["url"].as_str().unwrap_or_default();
    let params = call["params"].clone();
    let ids: Vec<String> = serde_json::from_value(params.clone()).unwrap_or_default();
    let sdk = JitoJsonRpcSDK::new(url, uuid.clone());
    Ok(match call["method"].as_str().unwrap_or_default() {
        "tip accounts" => sdk.get_tip_accounts().await?,
        "random tip account" => Value::String(sdk.get_random_tip_account().await?),
        "bundle" => sdk.send_bundle(Some(params), uuid.as_deref()).await?,
        "transaction" => sdk.send_txn(Some(params), false).await?,
        "transaction as bundle" => sdk.send_txn(Some(params), true).await?,
        "statuses" => sdk.get_bundle_statuses(ids).await?,
        "in flight" => sdk.get_in_flight_bundle_statuses(ids).await?,
        _ => return Err("no such method".into()),
    })
}
