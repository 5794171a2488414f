//! The slot buffer: whatever the order on the wire, the same blocks come out.

mod capture;
mod cases;
mod messages;
mod properties;
