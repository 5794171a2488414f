//! A server with its sockets, its store, and clients.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use futures::StreamExt;
use http::uri::PathAndQuery;
use store::testing::{Temporary, account, block, number, open, options};
use store::{AccountUpdate, Block, Store};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::*;
use yellowstone_grpc_proto::prost::Message;

use crate::calls::Event;
use crate::filter::transactions::Kept;
use crate::server::{ListenerOptions, Options, Server};
use crate::status::Refusal;

const PATIENCE: Duration = Duration::from_secs(20);
pub const STALL: Duration = Duration::from_millis(600);

pub struct Bench {
    pub store: Arc<Store>,
    pub dir: tempfile::TempDir,
    pub server: Arc<Server>,
    pub address: SocketAddr,
    pub runtime: Runtime,
}

pub type Updates = Streaming<SubscribeUpdate>;

impl Bench {
    /// A server that admits every token but `wrong`, with blocks 5 to 9.
    pub fn new() -> Bench {
        let Temporary { store, dir } = open(&options());
        let store = Arc::new(store);
        for slot in 5..10 {
            let accounts = vec![account(number(1), slot, number(50), &[7; 10])];
            store.apply(&block(slot, accounts)).unwrap();
        }
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server::open(Options {
            listeners: vec![ListenerOptions {
                descriptor: socket.as_raw_fd(),
                certificates: Vec::new(),
            }],
            networks: vec![Vec::new()],
            threads: 2,
            version: "test".to_string(),
            update_bytes_per_second: 64.0 * 1024.0 * 1024.0,
            stall: STALL,
        });
        let server = Arc::new(server.unwrap());
        let kept = Kept::FullAndEntries;
        server.serve(0, Arc::clone(&store), kept).unwrap();
        let own = Arc::clone(&server);
        thread::spawn(move || admit_all(&own));
        Bench {
            store,
            dir,
            server,
            address: socket.local_addr().unwrap(),
            runtime: Runtime::new().unwrap(),
        }
    }

    pub fn apply(&self, block: &Block) {
        self.store.apply(block).unwrap();
        self.server.refresh(0).unwrap();
    }

    pub fn subscribe(&self, request: SubscribeRequest, token: &str) -> Result<Updates, Status> {
        self.call("/geyser.Geyser/Subscribe", request, token)
    }

    /// Opens a stream with one request.
    pub fn call<Q, A>(
        &self,
        path: &'static str,
        request: Q,
        token: &str,
    ) -> Result<Streaming<A>, Status>
    where
        Q: Message + Send + Sync + Default + 'static,
        A: Message + Send + Sync + Default + 'static,
    {
        let uri = format!("http://{}", self.address);
        let token = token.parse().unwrap();
        self.runtime.block_on(async move {
            let channel = Endpoint::from_shared(uri).unwrap().connect().await.unwrap();
            let mut grpc = Grpc::new(channel).max_decoding_message_size(usize::MAX);
            grpc.ready().await.unwrap();
            let requests = futures::stream::iter([request]).chain(futures::stream::pending());
            let mut call = Request::new(requests);
            call.metadata_mut().insert("x-token", token);
            let path = PathAndQuery::from_static(path);
            let codec = ProstCodec::<Q, A>::default();
            Ok(grpc.streaming(call, path, codec).await?.into_inner())
        })
    }

    /// Sends requests of 3.5 MB on so many streams, again and again, as fast as they are taken.
    pub fn flood(&self, streams: usize) {
        let address = |n: u64| primitives::encoding::encode_pubkey(&number(n));
        let filter = SubscribeRequestFilterAccounts {
            account: (0..80_000).map(address).collect(),
            ..SubscribeRequestFilterAccounts::default()
        };
        let request = SubscribeRequest {
            accounts: [("flood".to_string(), filter)].into(),
            ..SubscribeRequest::default()
        };
        for _ in 0..streams {
            let (uri, request) = (format!("http://{}", self.address), request.clone());
            self.runtime.spawn(async move {
                let channel = Endpoint::from_shared(uri).unwrap().connect().await.unwrap();
                let mut grpc = Grpc::new(channel);
                grpc.ready().await.unwrap();
                let requests = futures::stream::repeat(request);
                let mut call = Request::new(requests);
                call.metadata_mut()
                    .insert("x-token", "flood".parse().unwrap());
                let path = PathAndQuery::from_static("/geyser.Geyser/Subscribe");
                let codec = ProstCodec::<SubscribeRequest, SubscribeUpdate>::default();
                let mut updates = grpc
                    .streaming(call, path, codec)
                    .await
                    .unwrap()
                    .into_inner();
                while let Some(Ok(_)) = updates.next().await {}
            });
        }
    }

    pub fn next_of<A>(&self, mut answers: Streaming<A>) -> Result<A, Status> {
        let next = self
            .runtime
            .block_on(async { timeout(PATIENCE, answers.next()).await });
        next.expect("an answer in time").expect("no end")
    }

    pub fn next(&self, updates: &mut Updates) -> Result<SubscribeUpdate, Status> {
        let next = self
            .runtime
            .block_on(async { timeout(PATIENCE, updates.next()).await });
        next.expect("an update in time")
            .expect("no end without a status")
    }
}

fn admit_all(server: &Server) {
    loop {
        let (sender, events) = channel();
        server.receive(Box::new(move |events| drop(sender.send(events))));
        let Ok(Some(events)) = events.recv() else {
            return;
        };
        for event in events {
            match event {
                Event::Call { call, token, .. } if token == "wrong" => {
                    server.refuse(call, Refusal::Unauthenticated);
                }
                Event::Call { call, token, .. } => drop(server.admit(call, 0, &token, 100)),
                Event::Ended { .. } | Event::Source { .. } => {}
            }
        }
    }
}

pub fn name_of(update: &SubscribeUpdate) -> String {
    match update.update_oneof.as_ref().unwrap() {
        UpdateOneof::Account(account) => format!("account {}", account.slot),
        UpdateOneof::Block(block) => format!(
            "block {} {} {}",
            block.slot,
            block.transactions.len(),
            block.accounts.len()
        ),
        UpdateOneof::BlockMeta(meta) => format!("meta {}", meta.slot),
        UpdateOneof::Slot(slot) => format!("slot {} {}", slot.slot, slot.status),
        UpdateOneof::Transaction(one) => {
            format!(
                "transaction {} {}",
                one.slot,
                one.transaction.as_ref().unwrap().index
            )
        }
        UpdateOneof::TransactionStatus(status) => {
            format!(
                "status {} {} {}",
                status.slot,
                status.index,
                status.err.is_some()
            )
        }
        UpdateOneof::Entry(entry) => format!("entry {} {}", entry.slot, entry.index),
        UpdateOneof::BlockFooter(footer) => format!(
            "footer {} {}",
            footer.slot,
            footer.block_final_cert.is_some()
        ),
        _ => "other".to_string(),
    }
}

pub fn names(bench: &Bench, updates: &mut Updates, count: usize) -> Vec<String> {
    let next = |_| name_of(&bench.next(updates).unwrap());
    (0..count).map(next).collect()
}

/// All that a block has.
pub fn whole() -> SubscribeRequestFilterBlocks {
    SubscribeRequestFilterBlocks {
        include_accounts: Some(true),
        ..SubscribeRequestFilterBlocks::default()
    }
}

/// A block of 16 MiB.
pub fn large(slot: u64) -> Block {
    let of = |n| account(number(n), slot, number(50), &vec![n as u8; 1 << 20]);
    block(slot, (1..=16).map(of).collect::<Vec<AccountUpdate>>())
}
