use std::{collections::HashMap, error::Error, future::Future, process::Command, time::Duration};

use futures_util::{Stream, StreamExt};
use solana_account_decoder_client_types::{UiAccountEncoding, UiDataSliceConfig};
use solana_commitment_config::CommitmentConfig;
use solana_keypair::Keypair;
use solana_message::{Hash, VersionedMessage, v0};
use solana_pubkey::Pubkey;
use solana_pubsub_client::nonblocking::pubsub_client::PubsubClient;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_types::{
    config::{
        RpcAccountInfoConfig, RpcProgramAccountsConfig, RpcSignatureSubscribeConfig,
        RpcTransactionLogsConfig, RpcTransactionLogsFilter,
    },
    filter::{Memcmp, RpcFilterType},
    response::{ProcessedSignatureResult, ReceivedSignatureResult, RpcSignatureResult},
};
use solana_signer::Signer;
use solana_system_interface::instruction::transfer;
use solana_transaction::versioned::VersionedTransaction;
use tokio::time::{sleep, timeout};

use crate::checks::Checks;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const SOL: u64 = 1_000_000_000;
const TOKEN_ACCOUNT_BYTES: u64 = 165;
const WAIT: Duration = Duration::from_secs(30);
const CONFIRMED: CommitmentConfig = CommitmentConfig::confirmed();

/// The clients of one service.
pub struct Client {
    rpc: RpcClient,
    ws_url: String,
    samples: HashMap<String, String>,
}

/// The next value; an end of the stream or a timeout is an error.
async fn next<T>(stream: &mut (impl Stream<Item = T> + Unpin), what: &str) -> Result<T> {
    let found = timeout(WAIT, stream.next()).await;
    Ok(found
        .map_err(|_| format!("no {what}"))?
        .ok_or_else(|| format!("{what}: ended"))?)
}

async fn until<F: Future<Output = Result<bool>>>(what: &str, is_done: impl Fn() -> F) -> Result {
    let wait = async {
        while !is_done().await? {
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    timeout(WAIT, wait)
        .await
        .map_err(|_| format!("never {what}"))?
}

fn base64() -> RpcAccountInfoConfig {
    RpcAccountInfoConfig {
        encoding: Some(UiAccountEncoding::Base64),
        commitment: Some(CONFIRMED),
        ..Default::default()
    }
}

fn signed(
    payer: &Keypair,
    target: &Pubkey,
    lamports: u64,
    blockhash: Hash,
) -> Result<VersionedTransaction> {
    let instruction = transfer(&payer.pubkey(), target, lamports);
    let message = v0::Message::try_compile(&payer.pubkey(), &[instruction], &[], blockhash)?;
    Ok(VersionedTransaction::try_new(
        VersionedMessage::V0(message),
        &[payer],
    )?)
}

impl Client {
    pub fn new(rpc_url: &str, ws_url: &str, samples: &str) -> Result<Self> {
        let samples = serde_json::from_str(samples)?;
        Ok(Self {
            rpc: RpcClient::new_with_commitment(rpc_url.to_owned(), CONFIRMED),
            ws_url: ws_url.to_owned(),
            samples,
        })
    }

    fn sample(&self, name: &str) -> Result<Pubkey> {
        Ok(self.samples.get(name).ok_or("no such sample")?.parse()?)
    }

    pub async fn read(&self, checks: &mut Checks) -> Result {
        let rpc = &self.rpc;
        let (blockhash, height) = rpc.get_latest_blockhash_with_commitment(CONFIRMED).await?;
        checks.ok(
            blockhash != Hash::default() && height > 150,
            "get_latest_blockhash",
        );
        let mint = rpc.get_account(&self.sample("mint")?).await?;
        checks.equal(mint.owner, self.sample("program")?, "get_account");
        checks.equal(mint.data.len(), 82, "its data");
        let missing = rpc.get_account(&Pubkey::new_unique()).await;
        checks.ok(
            missing.is_err_and(|error| error.to_string().contains("AccountNotFound")),
            "an account that does not exist",
        );
        let part = RpcAccountInfoConfig {
            data_slice: Some(UiDataSliceConfig {
                offset: 0,
                length: 32,
            }),
            ..base64()
        };
        let token_account = self.sample("tokenAccount")?;
        let part = rpc
            .get_ui_account_with_config(&token_account, part)
            .await?
            .value;
        checks.equal(
            part.and_then(|account| account.data.decode()),
            Some(self.sample("mint")?.to_bytes().to_vec()),
            "a slice",
        );
        let several = [self.sample("wallet")?, Pubkey::new_unique()];
        let several = rpc.get_multiple_accounts(&several).await?;
        let owners = several
            .iter()
            .map(|found| found.as_ref().map(|account| account.owner));
        checks.equal(
            owners.collect(),
            vec![Some(Pubkey::default()), None],
            "get_multiple_accounts",
        );
        let supply = rpc.get_token_supply(&self.sample("mint")?).await?;
        checks.equal(supply.decimals, 6, "get_token_supply");
        checks.ok(rpc.get_slot().await? > 0, "get_slot");
        checks.ok(rpc.get_health().await.is_ok(), "get_health");
        checks.ok(rpc.get_inflation_rate().await.is_err(), "an unknown method");
        Ok(())
    }

    /// Requests an airdrop, and transfers a part of it.
    pub async fn send(&self, checks: &mut Checks) -> Result<Keypair> {
        let rpc = &self.rpc;
        let (payer, target) = (Keypair::new(), Pubkey::new_unique());
        let given = rpc.request_airdrop(&payer.pubkey(), 50 * SOL).await?;
        until("confirmed", || async {
            Ok(rpc.confirm_transaction(&given).await?)
        })
        .await?;
        until("there", || async {
            Ok(rpc.get_balance(&payer.pubkey()).await? == 50 * SOL)
        })
        .await?;
        checks.ok(true, "request_airdrop, confirmed and readable");

        let transaction = signed(&payer, &target, SOL, rpc.get_latest_blockhash().await?)?;
        let outcome = rpc.simulate_transaction(&transaction).await?.value;
        checks.ok(outcome.err.is_none(), "simulate_transaction");
        let sent = rpc.send_and_confirm_transaction(&transaction).await?;
        checks.equal(
            Some(&sent),
            transaction.signatures.first(),
            "send_and_confirm_transaction",
        );
        until("transferred", || async {
            Ok(rpc.get_balance(&target).await? == SOL)
        })
        .await?;
        checks.ok(true, "transferred");
        let too_much = signed(&payer, &target, 50 * SOL, rpc.get_latest_blockhash().await?)?;
        let refusal = rpc.send_and_confirm_transaction(&too_much).await;
        checks.ok(
            refusal.is_err_and(|error| error.get_transaction_error().is_some()),
            "more than the balance: a transaction error",
        );
        Ok(payer)
    }

    pub async fn subscribe(&self, checks: &mut Checks, payer: &Keypair) -> Result {
        let rpc = &self.rpc;
        let target = Pubkey::new_unique();
        let mint = self.sample("mint")?;
        let transaction = signed(payer, &target, SOL, rpc.get_latest_blockhash().await?)?;
        let signature = *transaction.signatures.first().ok_or("not signed")?;
        let holders = RpcProgramAccountsConfig {
            filters: Some(vec![
                RpcFilterType::DataSize(TOKEN_ACCOUNT_BYTES),
                RpcFilterType::Memcmp(Memcmp::new_base58_encoded(0, mint.as_ref())),
            ]),
            account_config: base64(),
            ..Default::default()
        };
        let mentions = RpcTransactionLogsFilter::Mentions(vec![target.to_string()]);
        let logs_config = RpcTransactionLogsConfig {
            commitment: Some(CONFIRMED),
        };
        let received = RpcSignatureSubscribeConfig {
            commitment: Some(CONFIRMED),
            enable_received_notification: Some(true),
        };
        let finalized = RpcSignatureSubscribeConfig {
            commitment: Some(CommitmentConfig::finalized()),
            enable_received_notification: None,
        };
        let is_success = |outcome: &RpcSignatureResult| {
            *outcome
                == RpcSignatureResult::ProcessedSignature(ProcessedSignatureResult { err: None })
        };

        let client = PubsubClient::new(self.ws_url.as_str()).await?;
        let (mut accounts, leave_accounts) =
            client.account_subscribe(&target, Some(base64())).await?;
        let (mut programs, leave_programs) = client
            .program_subscribe(&self.sample("program")?, Some(holders))
            .await?;
        let (mut logs, leave_logs) = client.logs_subscribe(mentions, logs_config.clone()).await?;
        let (mut slots, leave_slots) = client.slot_subscribe().await?;
        let (mut roots, leave_roots) = client.root_subscribe().await?;
        let (mut outcomes, _) = client
            .signature_subscribe(&signature, Some(received))
            .await?;
        let (mut finals, _) = client
            .signature_subscribe(&signature, Some(finalized))
            .await?;

        rpc.send_and_confirm_transaction(&transaction).await?;
        let changed = next(&mut accounts, "account").await?;
        checks.equal(changed.value.lamports, SOL, "account_subscribe");
        checks.equal(
            changed.value.owner,
            Pubkey::default().to_string(),
            "its owner",
        );
        let notification = next(&mut programs, "account of the program").await?.value;
        checks.ok(
            notification.pubkey.parse::<Pubkey>().is_ok(),
            "program_subscribe",
        );
        let data = notification.account.data.decode().unwrap_or_default();
        checks.ok(data.starts_with(mint.as_ref()), "an account of the mint");
        let entry = next(&mut logs, "logs").await?.value;
        checks.equal(entry.signature, signature.to_string(), "logs_subscribe");
        checks.ok(
            entry.err.is_none() && !entry.logs.is_empty(),
            "its log lines",
        );
        let first = next(&mut slots, "slot").await?;
        checks.ok(
            first.slot > first.parent && first.slot >= first.root,
            "slot_subscribe",
        );
        let second = next(&mut slots, "slot").await?;
        checks.equal(second.parent, first.slot, "and its successor");
        let root = next(&mut roots, "root").await?;
        checks.ok(next(&mut roots, "root").await? > root, "root_subscribe");
        let received = next(&mut outcomes, "signature").await?.value;
        let is_received =
            RpcSignatureResult::ReceivedSignature(ReceivedSignatureResult::ReceivedSignature);
        checks.equal(received, is_received, "signature_subscribe: received");
        let received = next(&mut outcomes, "outcome").await?.value;
        checks.ok(is_success(&received), "then its outcome");
        let received = next(&mut finals, "finalized").await?;
        checks.ok(is_success(&received.value), "finalized");
        checks.ok(
            received.context.slot >= changed.context.slot,
            "not before it was confirmed",
        );
        let (mut again, _) = client.signature_subscribe(&signature, None).await?;
        checks.ok(
            is_success(&next(&mut again, "again").await?.value),
            "an earlier signature",
        );
        let refusal = client.vote_subscribe().await.err();
        checks.ok(
            refusal.is_some_and(|error| error.to_string().contains("-32601")),
            "an unknown subscription",
        );

        leave_accounts().await;
        leave_programs().await;
        leave_logs().await;
        leave_roots().await;
        // Unsubscribing ends their streams.
        let more = timeout(WAIT, accounts.by_ref().count()).await?;
        checks.equal(more, 0, "unsubscribe: one change was one notification");
        timeout(WAIT, programs.by_ref().count()).await?;
        timeout(WAIT, logs.by_ref().count()).await?;
        timeout(WAIT, roots.by_ref().count()).await?;
        next(&mut slots, "slot").await?;
        checks.ok(true, "other subscriptions continue");
        leave_slots().await;
        drop((
            accounts, programs, logs, slots, roots, outcomes, finals, again,
        ));
        checks.ok(timeout(WAIT, client.shutdown()).await?.is_ok(), "shutdown");
        Ok(())
    }

    /// The client does not reconnect; its streams must end.
    pub async fn lose_edge(&self, checks: &mut Checks, edge: &str) -> Result {
        let client = PubsubClient::new(self.ws_url.as_str()).await?;
        let (mut slots, _) = client.slot_subscribe().await?;
        next(&mut slots, "slot").await?;
        Command::new("kill").args(["-KILL", edge]).status()?;
        timeout(WAIT, slots.count()).await?;
        checks.ok(true, "streams of a killed edge end");
        let connect = async || Ok(PubsubClient::new(self.ws_url.as_str()).await.is_ok());
        until("another edge", connect).await?;
        let client = PubsubClient::new(self.ws_url.as_str()).await?;
        let (mut slots, _) = client.slot_subscribe().await?;
        next(&mut slots, "slot of another edge").await?;
        checks.ok(true, "another edge is running");
        Ok(())
    }
}
