//! Tests of the block assembler: the order of messages does not change the blocks.

#![allow(clippy::too_many_lines, reason = "one strategy")]

mod bank_messages;
mod bank_properties;
mod banks;
mod capture;
mod cases;
mod messages;
mod properties;
