//! Tests of the block assembler: the order of messages does not change the blocks.

mod capture;
mod cases;
mod messages;
mod properties;
