//! Tests of the reader against a real gRPC server in this process.

#[path = "../block_assembler/capture.rs"]
mod capture;
mod chain;
mod commitments;
mod failures;
mod groups;
mod harness;
#[path = "../measuring/mod.rs"]
mod measuring;
mod memory;
mod recorded;
mod server;
mod streams;
