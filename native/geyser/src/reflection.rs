//! Server reflection (`grpc.reflection.v1`, and `v1alpha` with the same messages), by which tools
//! such as grpcurl learn the calls of a server without proto files.

use std::time::Duration;

use futures::StreamExt;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::time::sleep;
use tonic::body::Body;
use tonic::server::Grpc;
use tonic::{Code, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;
use yellowstone_grpc_proto::prost::{Message, Oneof};

/// `protoc --include_imports --descriptor_set_out` of yellowstone-grpc-proto 14.0.1.
const DESCRIPTORS: &[u8] = include_bytes!("../geyser.pb");
const SERVICE: &str = "geyser.Geyser";
/// A question has a name, or nothing.
const QUESTION_BYTES_MAX: usize = 1024;
/// Tools ask a few questions and leave.
const TIME: Duration = Duration::from_secs(10);

/// `FileDescriptorSet`, whose files are not read.
#[derive(Clone, PartialEq, Message)]
#[prost(prost_path = "yellowstone_grpc_proto::prost")]
pub struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub file: Vec<Vec<u8>>,
}

/// `ServerReflectionRequest`, without what no tool needs for these files.
#[derive(Clone, PartialEq, Message)]
#[prost(prost_path = "yellowstone_grpc_proto::prost")]
pub struct Question {
    #[prost(string, tag = "1")]
    pub host: String,
    #[prost(oneof = "Asked", tags = "3, 4, 7")]
    pub asked: Option<Asked>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
#[prost(prost_path = "yellowstone_grpc_proto::prost")]
pub enum Asked {
    #[prost(string, tag = "3")]
    FileByFilename(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

/// `ServerReflectionResponse`.
#[derive(Clone, PartialEq, Message)]
#[prost(prost_path = "yellowstone_grpc_proto::prost")]
pub struct Answer {
    #[prost(string, tag = "1")]
    pub valid_host: String,
    #[prost(message, optional, tag = "2")]
    pub original_request: Option<Question>,
    #[prost(oneof = "Found", tags = "4, 6, 7")]
    pub found: Option<Found>,
}

#[derive(Clone, PartialEq, Oneof)]
#[prost(prost_path = "yellowstone_grpc_proto::prost")]
pub enum Found {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "6")]
    Services(Services),
    #[prost(message, tag = "7")]
    Error(NotFound),
}

#[derive(Clone, PartialEq, Message)]
#[prost(prost_path = "yellowstone_grpc_proto::prost")]
pub struct Services {
    #[prost(message, repeated, tag = "1")]
    pub service: Vec<Named>,
}

#[derive(Clone, PartialEq, Message)]
#[prost(prost_path = "yellowstone_grpc_proto::prost")]
pub struct Named {
    #[prost(string, tag = "1")]
    pub name: String,
}

#[derive(Clone, PartialEq, Message)]
#[prost(prost_path = "yellowstone_grpc_proto::prost")]
pub struct NotFound {
    #[prost(int32, tag = "1")]
    pub error_code: i32,
    #[prost(string, tag = "2")]
    pub error_message: String,
}

/// Every question about the files gets all of them: there are three.
fn answer(question: Question) -> Answer {
    let is_known = |name: &str| {
        let packages = ["geyser", "solana.storage.ConfirmedBlock", "google.protobuf"];
        let is_of = |package: &str| {
            name.strip_prefix(package)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
        };
        name == "solana-storage.proto" || packages.into_iter().any(is_of)
    };
    let found = match &question.asked {
        Some(Asked::ListServices(_)) => Found::Services(Services {
            service: vec![Named {
                name: SERVICE.to_string(),
            }],
        }),
        Some(Asked::FileByFilename(name) | Asked::FileContainingSymbol(name)) if is_known(name) => {
            // They are part of this program.
            Found::Files(Files::decode(DESCRIPTORS).unwrap_or_default())
        }
        _ => Found::Error(NotFound {
            error_code: Code::NotFound as i32,
            error_message: "no such symbol or file".to_string(),
        }),
    };
    Answer {
        valid_host: question.host.clone(),
        original_request: Some(question),
        found: Some(found),
    }
}

/// Answers the questions of one call.
pub async fn reflect(request: Request<Incoming>) -> Response<Body> {
    let service = service_fn(|request: tonic::Request<Streaming<Question>>| {
        let questions = request.into_inner();
        let answers = questions.map(|question| question.map(answer));
        let answers = answers.take_until(sleep(TIME));
        async move { Ok::<_, Status>(tonic::Response::new(Box::pin(answers))) }
    });
    Grpc::new(ProstCodec::<Answer, Question>::default())
        .max_decoding_message_size(QUESTION_BYTES_MAX)
        .streaming(service, request)
        .await
}
