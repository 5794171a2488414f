//! The limit table of the machine.

use std::collections::HashMap;
use std::sync::Arc;

use ::sys::error::Result as Checked;
use edge::Memory;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::arguments::{integer, signed, whole, wrong};
use crate::failure::{Result, guard};
use crate::limits::numbers::{NS_PER_MS, count_of, ns_of};

/// What an access has in use over all edges of the machine.
#[napi(object, object_from_js = false)]
pub struct Utilisation {
    pub requests_in_flight: f64,
    pub sockets: f64,
    pub subscriptions: f64,
    /// Of the WebSocket that has the most.
    pub subscriptions_of_socket: f64,
}

impl From<edge::InUse> for Utilisation {
    fn from(found: edge::InUse) -> Self {
        Utilisation {
            requests_in_flight: found.requests as f64,
            sockets: found.sockets as f64,
            subscriptions: found.subscriptions as f64,
            subscriptions_of_socket: f64::from(found.subscriptions_of_socket),
        }
    }
}

/// What is counted of an access that has a row.
#[napi(object, object_from_js = false)]
pub struct LimitRow {
    pub row: u32,
    pub key: BigInt,
    /// Requests that were charged since the row was assigned, modulo 2^32.
    pub charged: u32,
    pub utilisation: Utilisation,
}

/// What an access has in use on other machines.
#[napi(object, object_to_js = false)]
pub struct OthersUse {
    pub key: BigInt,
    pub requests_in_flight: f64,
    pub sockets: f64,
}

/// What accesses have in use at this moment, shared by all edges of the machine.
#[napi]
pub struct LimitTable(Arc<edge::LimitTable>);

#[napi]
impl LimitTable {
    /// Maps the table's file and the one beside it. Every process must pass the same numbers.
    #[napi(constructor)]
    pub fn new(path: String, edge_count: f64, row_count: f64) -> Result<LimitTable> {
        guard(|| {
            let edges = whole(edge_count, u32::MAX, "a count of edges")? as usize;
            let rows = whole(row_count, u32::MAX, "a count of rows")? as usize;
            let [limits, activity] = edge::LimitTable::words(edges, rows)?;
            let limits = Memory::open(path.as_ref(), limits)?;
            let activity = Memory::open(format!("{path}-counts").as_ref(), activity)?;
            let table = edge::LimitTable::new([limits, activity], edges, rows);
            Ok(LimitTable(Arc::new(table)))
        })
    }

    /// The edges that it has columns for.
    #[napi(getter)]
    pub fn edge_count(&self) -> u32 {
        self.0.edges() as u32
    }

    /// The rows that are assigned.
    #[napi]
    pub fn rows(&self) -> Result<Vec<LimitRow>> {
        guard(|| {
            let rows = self.0.assigned().map(|found| LimitRow {
                row: found.row as u32,
                key: BigInt::from(found.key),
                charged: found.charged,
                utilisation: found.in_use.into(),
            });
            Ok(rows.collect())
        })
    }

    /// What an access has in use on this machine.
    #[napi]
    pub fn utilisation(&self, key: BigInt) -> Result<Utilisation> {
        guard(|| Ok(self.0.in_use(signed(&key)?).into()))
    }

    /// The requests of an access that were charged since the last call; from now on they count as
    /// reported.
    #[napi]
    pub fn take_charged(&self, key: BigInt) -> Result<u32> {
        guard(|| Ok(self.0.take_charged(signed(&key)?)))
    }

    /// What accesses have in use on other machines; those that are not named have nothing.
    #[napi]
    pub fn set_others(&self, uses: Vec<OthersUse>) -> Result<()> {
        guard(|| {
            let counted = uses.iter().map(|one| {
                let (requests, sockets) =
                    (count_of(one.requests_in_flight)?, count_of(one.sockets)?);
                Ok((signed(&one.key)?, [requests, sockets]))
            });
            let uses = counted.collect::<Checked<HashMap<_, _>>>()?;
            self.0
                .set_others(|key| uses.get(&key).copied().unwrap_or_default());
            Ok(())
        })
    }

    /// Milliseconds of its rate that so many requests of an access cost; 0 where it has no row.
    #[napi]
    pub fn cost_ms(&self, key: BigInt, requests: f64) -> Result<f64> {
        guard(|| {
            let requests = integer(requests, "a count of requests")? as i64;
            Ok(self.0.cost_ns(signed(&key)?, requests) as f64 / NS_PER_MS)
        })
    }

    /// Charges an access requests of other machines, as milliseconds of its rate, although the
    /// burst may be used up. Returns what must be charged later: at most 0.9 s beyond the burst are
    /// charged at a time.
    #[napi]
    pub fn charge(&self, key: BigInt, owed_ms: f64, now_ms: f64) -> Result<f64> {
        guard(|| {
            let left = self.0.owe(signed(&key)?, ns_of(owed_ms)?, ns_of(now_ms)?);
            Ok(left as f64 / NS_PER_MS)
        })
    }

    /// Clears the counts of an edge. Only after it has ended, or by itself before it starts.
    #[napi]
    pub fn clear_edge(&self, edge: f64) -> Result<()> {
        guard(|| {
            self.0.clear_edge(self.edge(edge)?);
            Ok(())
        })
    }
}

impl LimitTable {
    pub fn table(&self) -> Arc<edge::LimitTable> {
        self.0.clone()
    }

    pub fn edge(&self, edge: f64) -> Checked<usize> {
        let edge = whole(edge, u32::MAX, "an edge")? as usize;
        if edge < self.0.edges() {
            Ok(edge)
        } else {
            Err(wrong("an edge of the table"))
        }
    }
}
