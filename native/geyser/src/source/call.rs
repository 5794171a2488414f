//! The two calls of a source that are passed through.

use ingest::geyser::{GeyserConfig, Kinds, ping_request, processed_request};
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::subscribe_update_deshred::UpdateOneof as DeshredOneof;
use yellowstone_grpc_proto::geyser::{
    SubscribeDeshredRequest, SubscribeRequest, SubscribeRequestFilterDeshredTransactions,
    SubscribeRequestFilterSlots, SubscribeRequestPing, SubscribeUpdate, SubscribeUpdateDeshred,
};
use yellowstone_grpc_proto::prost::Message;

use super::batch::{Batches, Malformed};

/// What an update asks of its reader.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    Update,
    /// An answer.
    Ping,
}

pub trait Call: Send + Sync + 'static {
    type Request: Message + 'static;
    type Update: Message + Default + 'static;

    const PATH: &'static str;

    fn request(config: &GeyserConfig, kinds: Kinds) -> Self::Request;
    fn ping(id: i32) -> Self::Request;
    fn take(update: Self::Update, batches: &mut Batches) -> Result<Taken, Malformed>;
}

/// `Subscribe` at PROCESSED.
pub struct Processed;

impl Call for Processed {
    type Request = SubscribeRequest;
    type Update = SubscribeUpdate;

    const PATH: &'static str = "/geyser.Geyser/Subscribe";

    fn request(config: &GeyserConfig, kinds: Kinds) -> SubscribeRequest {
        processed_request(config, kinds)
    }

    fn ping(id: i32) -> SubscribeRequest {
        ping_request(id)
    }

    fn take(update: SubscribeUpdate, batches: &mut Batches) -> Result<Taken, Malformed> {
        let created_at = update.created_at;
        match update.update_oneof {
            Some(UpdateOneof::Account(account)) => batches.account(account, created_at)?,
            Some(UpdateOneof::Transaction(one)) => batches.transaction(one, created_at)?,
            Some(UpdateOneof::Slot(slot)) => batches.slot(slot, created_at),
            Some(UpdateOneof::BlockMeta(meta)) => batches.meta(meta, created_at),
            Some(UpdateOneof::Ping(_)) => return Ok(Taken::Ping),
            // Nothing else was requested.
            _ => {}
        }
        Ok(Taken::Update)
    }
}

/// `SubscribeDeshred`.
pub struct Deshred;

impl Call for Deshred {
    type Request = SubscribeDeshredRequest;
    type Update = SubscribeUpdateDeshred;

    const PATH: &'static str = "/geyser.Geyser/SubscribeDeshred";

    fn request(_: &GeyserConfig, _: Kinds) -> SubscribeDeshredRequest {
        let transactions = SubscribeRequestFilterDeshredTransactions {
            include_update_parent: Some(true),
            ..SubscribeRequestFilterDeshredTransactions::default()
        };
        let slots = SubscribeRequestFilterSlots {
            filter_by_commitment: Some(false),
            interslot_updates: Some(true),
        };
        SubscribeDeshredRequest {
            deshred_transactions: [("transactions".to_string(), transactions)].into(),
            slots: [("slots".to_string(), slots)].into(),
            ping: None,
        }
    }

    fn ping(id: i32) -> SubscribeDeshredRequest {
        SubscribeDeshredRequest {
            ping: Some(SubscribeRequestPing { id }),
            ..SubscribeDeshredRequest::default()
        }
    }

    fn take(update: SubscribeUpdateDeshred, batches: &mut Batches) -> Result<Taken, Malformed> {
        let created_at = update.created_at;
        match update.update_oneof {
            Some(DeshredOneof::DeshredTransaction(one)) => batches.deshred(one, created_at)?,
            Some(DeshredOneof::Slot(slot)) => batches.slot(slot, created_at),
            Some(DeshredOneof::DeshredUpdateParent(one)) => batches.parent(one, created_at),
            Some(DeshredOneof::Ping(_)) => return Ok(Taken::Ping),
            _ => {}
        }
        Ok(Taken::Update)
    }
}
