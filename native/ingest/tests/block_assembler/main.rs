//! Tests of the block assembler: the order of messages does not change the blocks.

#![allow(clippy::too_many_lines, reason = "one strategy")]

mod banks;
mod capture;
mod cases;
mod messages;
mod properties;
