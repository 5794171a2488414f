//! Tests of the store.

mod check;
mod copy;
mod crash;
mod feed;
mod feed_model;
mod fees;
mod history;
mod holders;
mod model;
mod open;
mod outcomes;
mod pages;
mod prefault;
mod reconcile;
mod scope;
mod verify;

use super::*;
use crate::testing::*;
use primitives::Pubkey;
use primitives::token::{TOKEN_2022_PROGRAM, TOKEN_PROGRAM};

/// Asserts that all tables agree with `accounts`.
fn assert_sound(store: &Store) {
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}
