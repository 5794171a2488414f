//! The reader against a real gRPC server in this process.

mod chain;
mod failures;
mod groups;
mod harness;
mod server;
mod streams;
