//! The plugin as the validator sees it. A call only copies what it is given into a queue.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::{fs, io, thread};

use agave_geyser_plugin_interface::geyser_plugin_interface::{
    GeyserPlugin, GeyserPluginError, ReplicaAccountInfoVersions, ReplicaBlockInfoVersions,
    ReplicaTransactionInfoVersions, Result, SlotStatus,
};
use solana_transaction_status::RewardsAndNumPartitions;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::broadcast;
use yellowstone_grpc_proto::geyser::{
    SlotStatus as FeedStatus, SubscribeUpdateAccountInfo, SubscribeUpdateBlockMeta,
};
use yellowstone_grpc_proto::solana::storage::confirmed_block::{
    BlockHeight, NumPartitions, Rewards, UnixTimestamp,
};

use crate::chain::Chain;
use crate::config::Config;
use crate::convert;
use crate::item::{Event, Level};
use crate::server::{Feed, serve};

/// Updates that a subscription may be behind.
const LAG_ITEMS_MAX: usize = 262_144;

#[derive(Default)]
pub struct Plugin {
    events: Option<Sender<Event>>,
    runtime: Option<Runtime>,
    has_startup: bool,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("validator-feed")
    }
}

fn custom(error: impl std::error::Error + Send + Sync + 'static) -> GeyserPluginError {
    GeyserPluginError::Custom(Box::new(error))
}

impl Plugin {
    fn send(&self, event: Event) -> Result<()> {
        let Some(events) = &self.events else {
            return Ok(());
        };
        let stopped = || custom(io::Error::other("the feed has stopped"));
        events.send(event).map_err(|_| stopped())
    }

    fn start(&mut self, config: Config) -> io::Result<()> {
        let (events, received) = channel();
        let (sender, _) = broadcast::channel(LAG_ITEMS_MAX);
        let feed = Arc::new(Feed {
            chain: Mutex::new(Chain::new(config.replay_stored_slots)),
            items: sender,
            x_token: config.x_token,
        });
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind(config.address))?;
        runtime.spawn(serve(feed.clone(), listener));
        thread::Builder::new()
            .name("validator-feed".to_string())
            .spawn(move || {
                let mut items = Vec::new();
                for event in received {
                    // Under the lock, so that what follows a replay neither overlaps nor misses.
                    let mut chain = feed.chain.lock().unwrap_or_else(|held| held.into_inner());
                    chain.apply(event, &mut items);
                    for item in items.drain(..) {
                        // An error only says that nobody is subscribed.
                        let _ = feed.items.send(Arc::new(item));
                    }
                }
            })?;
        self.has_startup = config.startup_accounts;
        self.events = Some(events);
        self.runtime = Some(runtime);
        Ok(())
    }
}

impl GeyserPlugin for Plugin {
    fn name(&self) -> &'static str {
        "validator-feed"
    }

    fn on_load(&mut self, config_file: &str, _is_reload: bool) -> Result<()> {
        let text = fs::read_to_string(config_file)?;
        let config = serde_json::from_str(&text).map_err(|error| {
            GeyserPluginError::ConfigFileReadError {
                msg: error.to_string(),
            }
        })?;
        self.start(config).map_err(custom)
    }

    fn on_unload(&mut self) {
        self.events = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    fn account_data_snapshot_notifications_enabled(&self) -> bool {
        self.has_startup
    }

    fn transaction_notifications_enabled(&self) -> bool {
        true
    }

    fn update_account(
        &self,
        account: ReplicaAccountInfoVersions,
        slot: u64,
        is_startup: bool,
    ) -> Result<()> {
        let ReplicaAccountInfoVersions::V0_0_3(account) = account else {
            return Err(GeyserPluginError::AccountsUpdateError {
                msg: "not of version 3".into(),
            });
        };
        let signature = account
            .txn
            .map(|transaction| transaction.signature().as_ref().to_vec());
        self.send(Event::Account {
            slot,
            info: SubscribeUpdateAccountInfo {
                pubkey: account.pubkey.to_vec(),
                lamports: account.lamports,
                owner: account.owner.to_vec(),
                executable: account.executable,
                rent_epoch: account.rent_epoch,
                data: account.data.to_vec(),
                write_version: account.write_version,
                txn_signature: signature,
            },
            is_startup,
        })
    }

    fn update_slot_status(
        &self,
        slot: u64,
        parent: Option<u64>,
        status: &SlotStatus,
    ) -> Result<()> {
        let reached = |level| Event::Level {
            slot,
            parent,
            level,
        };
        self.send(match status {
            SlotStatus::Processed => reached(Level::Processed),
            SlotStatus::Confirmed => reached(Level::Confirmed),
            SlotStatus::Rooted => reached(Level::Finalized),
            SlotStatus::CreatedBank => Event::Created { slot, parent },
            SlotStatus::Dead(error) => Event::Dead {
                slot,
                parent,
                error: error.clone(),
            },
            SlotStatus::FirstShredReceived => Event::Other {
                slot,
                parent,
                status: FeedStatus::SlotFirstShredReceived,
            },
            SlotStatus::Completed => Event::Other {
                slot,
                parent,
                status: FeedStatus::SlotCompleted,
            },
        })
    }

    fn notify_transaction(
        &self,
        transaction: ReplicaTransactionInfoVersions,
        slot: u64,
    ) -> Result<()> {
        let ReplicaTransactionInfoVersions::V0_0_3(info) = transaction else {
            return Err(GeyserPluginError::TransactionUpdateError {
                msg: "not of version 3".into(),
            });
        };
        self.send(Event::Transaction {
            slot,
            transaction: convert::transaction(info),
        })
    }

    fn notify_block_metadata(&self, block: ReplicaBlockInfoVersions) -> Result<()> {
        let ReplicaBlockInfoVersions::V0_0_4(block) = block else {
            return Err(GeyserPluginError::SlotStatusUpdateError {
                msg: "not of version 4".into(),
            });
        };
        let RewardsAndNumPartitions {
            rewards,
            num_partitions,
        } = block.rewards;
        self.send(Event::Meta(SubscribeUpdateBlockMeta {
            slot: block.slot,
            blockhash: block.blockhash.to_string(),
            rewards: Some(Rewards {
                rewards: convert::rewards(rewards),
                num_partitions: num_partitions
                    .map(|num_partitions| NumPartitions { num_partitions }),
            }),
            block_time: block
                .block_time
                .map(|timestamp| UnixTimestamp { timestamp }),
            block_height: block
                .block_height
                .map(|block_height| BlockHeight { block_height }),
            parent_slot: block.parent_slot,
            parent_blockhash: block.parent_blockhash.to_string(),
            executed_transaction_count: block.executed_transaction_count,
            entries_count: block.entry_count,
            bank_id: 0,
        }))
    }
}
