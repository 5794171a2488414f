//! The calls that are answered at once.

use std::sync::Arc;

use primitives::encoding::{decode_pubkey, encode_pubkey};
use store::{Snapshot, Tip};
use sys::error::Result as Checked;
use tonic::Status;
use yellowstone_grpc_proto::geyser::{
    CommitmentLevel, GetBlockHeightRequest, GetBlockHeightResponse, GetLatestBlockhashRequest,
    GetLatestBlockhashResponse, GetSlotRequest, GetSlotResponse, IsBlockhashValidRequest,
    IsBlockhashValidResponse, SubscribeReplayInfoRequest, SubscribeReplayInfoResponse,
};

use crate::network::Network;
use crate::status::no_index;
use crate::walk::first_available;

/// Blocks for which a blockhash is valid.
const BLOCKHASH_AGE_MAX: u64 = 150;

/// The newest block, or the newest finalized one: as `commitment` of the JSON-RPC methods.
fn block_at(snapshot: &Snapshot<'_>, commitment: Option<i32>) -> Checked<Option<Tip>> {
    match commitment == Some(CommitmentLevel::Finalized as i32) {
        true => snapshot.finalized(),
        false => Ok(snapshot.tip().copied()),
    }
}

async fn newest(network: &Arc<Network>, commitment: Option<i32>) -> Result<Tip, Status> {
    let read = network.read(move |snapshot| block_at(snapshot, commitment));
    let (_, block) = read.await?;
    block.ok_or_else(no_index)
}

pub async fn slot(
    network: Arc<Network>,
    GetSlotRequest { commitment }: GetSlotRequest,
) -> Result<GetSlotResponse, Status> {
    let block = newest(&network, commitment).await?;
    Ok(GetSlotResponse { slot: block.slot })
}

pub async fn block_height(
    network: Arc<Network>,
    GetBlockHeightRequest { commitment }: GetBlockHeightRequest,
) -> Result<GetBlockHeightResponse, Status> {
    let Tip { block_height, .. } = newest(&network, commitment).await?;
    Ok(GetBlockHeightResponse { block_height })
}

pub async fn latest_blockhash(
    network: Arc<Network>,
    GetLatestBlockhashRequest { commitment }: GetLatestBlockhashRequest,
) -> Result<GetLatestBlockhashResponse, Status> {
    let block = newest(&network, commitment).await?;
    Ok(GetLatestBlockhashResponse {
        slot: block.slot,
        blockhash: encode_pubkey(&block.blockhash),
        last_valid_block_height: block.block_height + BLOCKHASH_AGE_MAX,
    })
}

pub async fn blockhash_validity(
    network: Arc<Network>,
    request: IsBlockhashValidRequest,
) -> Result<IsBlockhashValidResponse, Status> {
    let IsBlockhashValidRequest {
        blockhash,
        commitment,
    } = request;
    let wrong = |_| Status::invalid_argument("blockhash must be base58 of 32 bytes");
    let blockhash = decode_pubkey(&blockhash).map_err(wrong)?;
    let read = network.read(move |snapshot| {
        let Some(newest) = block_at(snapshot, commitment)? else {
            return Ok(None);
        };
        let found = snapshot.block_of_hash(&blockhash, &newest, BLOCKHASH_AGE_MAX)?;
        Ok(Some((newest.slot, found.is_some())))
    });
    let (_, answer) = read.await?;
    let (slot, valid) = answer.ok_or_else(no_index)?;
    Ok(IsBlockhashValidResponse { slot, valid })
}

pub async fn replay_info(
    network: Arc<Network>,
    _: SubscribeReplayInfoRequest,
) -> Result<SubscribeReplayInfoResponse, Status> {
    let (_, first_available) = network.read(first_available).await?;
    Ok(SubscribeReplayInfoResponse { first_available })
}
