//! Messages as bytes: requests by prost, updates by themselves.

pub mod blocks;

use tonic::Status;
use tonic::codec::{Codec, EncodeBuf, Encoder};
use tonic_prost::ProstDecoder;
use yellowstone_grpc_proto::geyser::SubscribeRequest;

use crate::message::Update;

/// The codec of `Subscribe`.
#[derive(Debug, Default)]
pub struct SubscribeCodec;

#[derive(Debug, Default)]
pub struct UpdateEncoder;

impl Codec for SubscribeCodec {
    type Encode = Update;
    type Decode = SubscribeRequest;
    type Encoder = UpdateEncoder;
    type Decoder = ProstDecoder<SubscribeRequest>;

    fn encoder(&mut self) -> UpdateEncoder {
        UpdateEncoder
    }

    fn decoder(&mut self) -> ProstDecoder<SubscribeRequest> {
        ProstDecoder::default()
    }
}

impl Encoder for UpdateEncoder {
    type Item = Update;
    type Error = Status;

    fn encode(&mut self, update: Update, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.reserve(update.byte_count());
        update.encode(out);
        Ok(())
    }
}
