//! What an upstream answers: the service's own key is cut out of it, and its error is found.
//! Upstreams repeat what clients send, so all of this takes time linear in the bytes.

pub mod error;
pub mod escapes;
pub mod secret;
#[cfg(test)]
mod tests;
