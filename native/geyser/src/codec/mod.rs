//! Messages as bytes: requests by prost, updates by themselves.

pub mod blocks;

use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use yellowstone_grpc_proto::geyser::{SubscribeDeshredRequest, SubscribeRequest};
use yellowstone_grpc_proto::prost::{DecodeError, Message};

use crate::filter::{Filters, Served};
use crate::message::Update;

/// A request of a stream.
#[derive(Debug)]
pub enum Asked {
    Updates(Box<SubscribeRequest>),
    Deshred(Box<SubscribeDeshredRequest>),
}

impl Asked {
    /// The number of a ping, which changes no filters.
    pub fn ping(&self) -> Option<i32> {
        let ping = match self {
            Asked::Updates(request) => request.ping,
            Asked::Deshred(request) => request.ping,
        };
        ping.map(|ping| ping.id)
    }

    pub fn byte_count(&self) -> usize {
        match self {
            Asked::Updates(request) => request.encoded_len(),
            Asked::Deshred(request) => request.encoded_len(),
        }
    }

    pub fn parse(&self, served: &Served, filters_max: usize) -> Result<Filters, Status> {
        match self {
            Asked::Updates(request) => Filters::parse(request, served, filters_max),
            Asked::Deshred(request) => Filters::parse_deshred(request, filters_max),
        }
    }
}

/// The codec of `Subscribe`, or of `SubscribeDeshred`.
#[derive(Debug, Clone, Copy)]
pub struct SubscribeCodec {
    pub is_deshred: bool,
}

#[derive(Debug, Default)]
pub struct UpdateEncoder;

impl Codec for SubscribeCodec {
    type Encode = Update;
    type Decode = Asked;
    type Encoder = UpdateEncoder;
    type Decoder = SubscribeCodec;

    fn encoder(&mut self) -> UpdateEncoder {
        UpdateEncoder
    }

    fn decoder(&mut self) -> SubscribeCodec {
        *self
    }
}

impl Decoder for SubscribeCodec {
    type Item = Asked;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Asked>, Status> {
        let asked = match self.is_deshred {
            true => Message::decode(buffer).map(Asked::Deshred),
            false => Message::decode(buffer).map(Asked::Updates),
        };
        let wrong = |error: DecodeError| Status::internal(error.to_string());
        asked.map(Some).map_err(wrong)
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
