//! The cells that an edge counts in, and the store that they are added to.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::usage::{
    Bounds, CODES, CODES_AT, EdgeCells, FIGURES, FIGURES_AT, LATENCIES, LATENCIES_AT, Reader,
    Recorder, Schema, Table,
};
use napi::Env;
use napi::bindgen_prelude::{Float64Array, Object};
use napi_derive::napi;
use sys::error::{Error, Result as Checked};
use sys::pool::{Options, Pool, Share};

use crate::arguments::{count, whole};
use crate::failure::{Failure, Result, guard};
use crate::fast_lane::cells;
use crate::promises::deferred;

/// Where the parts of a slot are: in cells from its first one.
#[napi(object, object_from_js = false)]
pub struct SlotLayout {
    pub figures_at: f64,
    pub figures: f64,
    pub latencies_at: f64,
    pub latencies: f64,
    pub codes_at: f64,
    pub codes: f64,
}

#[napi]
pub fn slot_layout() -> SlotLayout {
    SlotLayout {
        figures_at: FIGURES_AT as f64,
        figures: FIGURES as f64,
        latencies_at: LATENCIES_AT as f64,
        latencies: LATENCIES as f64,
        codes_at: CODES_AT as f64,
        codes: CODES as f64,
    }
}

/// The cells of one edge.
#[napi]
pub struct UsageCells(EdgeCells);

#[napi]
impl UsageCells {
    /// Opens those in the folder of an edge; without one, cells that end with the process.
    #[napi(constructor)]
    pub fn new(dir: Option<String>, slots: f64) -> Result<UsageCells> {
        guard(|| {
            let slots = whole(slots, 1 << 18, "a count of slots")?.max(1) as usize;
            Ok(UsageCells(match dir {
                Some(dir) => EdgeCells::open(dir.as_ref(), slots)?,
                None => EdgeCells::in_memory(slots)?,
            }))
        })
    }

    #[napi]
    pub fn cells(&self) -> Result<Float64Array> {
        guard(|| Ok(cells::array_of(Arc::clone(&self.0.cells().mapping))))
    }

    /// Begins to count for a key in a slot of its own, and returns the slot's first cell; 0 where
    /// no slot is free. `key`: access, network, location and name, with zero bytes between them.
    #[napi]
    pub fn begin(&mut self, kind: f64, minute: f64, key: String) -> Result<f64> {
        guard(|| {
            let kind = whole(kind, 255, "a kind")? as usize;
            Ok(self.0.begin(kind, minute, &key).unwrap_or(0) as f64)
        })
    }

    /// The cell of the state of the slot that begins at a cell. As long as it counts for the same
    /// key, its state is the same.
    #[napi]
    pub fn state_at(&self, at: f64) -> Result<f64> {
        guard(|| Ok(self.0.state_at(whole(at, u32::MAX, "a cell")? as usize) as f64))
    }

    /// Ends to count in the slot that begins at a cell.
    #[napi]
    pub fn close(&self, at: f64) -> Result<()> {
        guard(|| {
            self.0.close(whole(at, u32::MAX, "a cell")? as usize);
            Ok(())
        })
    }

    /// Hands an event to the recorder; false where it is too far behind, or the JSON too long.
    #[napi]
    pub fn add_event(&self, kind: f64, json: String) -> Result<bool> {
        guard(|| {
            let kind = whole(kind, 255, "a kind")? as usize;
            Ok(self.0.cells().add_event(kind, &json))
        })
    }

    /// Events that the recorder has not taken, and how many may wait.
    #[napi]
    pub fn waiting_events(&self) -> Result<Vec<f64>> {
        guard(|| Ok(self.0.cells().waiting_events().into()))
    }
}

/// A table of the store.
#[napi(object)]
pub struct UsageTable {
    pub name: String,
    pub columns: Vec<String>,
    pub key: String,
}

/// Tables and statements; see `src/usage/schema.ts`.
#[napi(object)]
pub struct UsageSchema {
    pub tables: Vec<UsageTable>,
    pub more: Vec<String>,
    pub rows: Vec<String>,
    pub sums: Vec<String>,
    pub events: Vec<String>,
}

impl From<UsageSchema> for Schema {
    fn from(given: UsageSchema) -> Schema {
        let tables = given.tables.into_iter();
        Schema {
            tables: tables
                .map(|UsageTable { name, columns, key }| Table { name, columns, key })
                .collect(),
            more: given.more,
            rows: given.rows,
            sums: given.sums,
            events: given.events,
        }
    }
}

/// What was done: `failure`, or a JSON text.
#[napi(object, object_from_js = false)]
pub struct UsageResult {
    pub failure: Option<Failure>,
    pub json: Option<String>,
}

/// Jobs of one side of the store that may wait.
const QUEUE_MAX: usize = 1_024;
/// Above the event loops, which serve.
const NICENESS: i32 = 5;

/// One side of the store, on a thread of its own.
struct Worker<T> {
    pool: Pool,
    inner: Arc<Mutex<T>>,
}

impl<T: Send + 'static> Worker<T> {
    fn new(name: &str, inner: T) -> Checked<Worker<T>> {
        let options = Options {
            threads: 1,
            niceness: NICENESS,
            queue_max: QUEUE_MAX,
            share: Share::Whole,
        };
        Ok(Worker {
            pool: Pool::new(name, options)?,
            inner: Arc::new(Mutex::new(inner)),
        })
    }

    fn run<'env>(
        &self,
        env: &'env Env,
        owner: Option<String>,
        work: impl FnOnce(&mut T) -> Checked<String> + Send + 'static,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = deferred::<UsageResult>(env)?;
        let deferred = Arc::new(Mutex::new(Some(deferred)));
        let settle = {
            let deferred = Arc::clone(&deferred);
            move |result: Checked<String>| {
                let taken = deferred
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take();
                if let Some(deferred) = taken {
                    deferred.resolve(Box::new(move |_| Ok(to_result(result))));
                }
            }
        };
        let refuse = settle.clone();
        let inner = Arc::clone(&self.inner);
        let submitted = self.pool.submit_for(owner.map(Into::into), move |_| {
            let mut inner = inner.lock().unwrap_or_else(PoisonError::into_inner);
            settle(work(&mut inner));
        });
        if let Err(error) = submitted {
            refuse(Err(error));
        }
        Ok(promise)
    }
}

fn parameters_of(json: &str) -> Checked<Vec<serde_json::Value>> {
    serde_json::from_str(json).map_err(|error| Error::Internal(error.to_string()))
}

fn to_result(result: Checked<String>) -> UsageResult {
    match result {
        Ok(json) => UsageResult {
            failure: None,
            json: Some(json),
        },
        Err(error) => UsageResult {
            failure: Some(Failure::from(&error)),
            json: None,
        },
    }
}

/// Writes the store: what edges have counted, and what statements say.
#[napi]
pub struct UsageRecorder(Worker<Recorder>);

#[napi]
impl UsageRecorder {
    /// `path`: the store. `edges`: the folder of the folders of edges.
    #[napi(constructor)]
    pub fn new(path: String, edges: String, schema: UsageSchema) -> Result<UsageRecorder> {
        guard(|| {
            let edges = PathBuf::from(edges);
            let recorder = Recorder::open(path.as_ref(), &edges, schema.into())?;
            Ok(UsageRecorder(Worker::new("usage-recorder", recorder)?))
        })
    }

    /// Adds what was closed. Resolves to how much it was.
    #[napi(ts_return_type = "Promise<UsageResult>")]
    pub fn record<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let work = |recorder: &mut Recorder| Ok(recorder.record()?.to_string());
        self.0.run(env, None, work)
    }

    /// Runs statements in one transaction, with the same parameters. Resolves to the bytes of the
    /// store that are in use.
    #[napi(ts_return_type = "Promise<UsageResult>")]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        statements: Vec<String>,
        parameters_json: String,
    ) -> Result<Object<'env>> {
        let work = move |recorder: &mut Recorder| {
            let parameters = parameters_of(&parameters_json)?;
            Ok(recorder.run(&statements, &parameters)?.to_string())
        };
        self.0.run(env, None, work)
    }
}

/// Reads the store, and what edges have counted since.
#[napi]
pub struct UsageReader(Worker<Reader>);

#[napi]
impl UsageReader {
    #[napi(constructor)]
    pub fn new(path: String, edges: String, schema: UsageSchema) -> Result<UsageReader> {
        guard(|| {
            let edges = PathBuf::from(edges);
            let reader = Reader::open(path.as_ref(), &edges, schema.into())?;
            Ok(UsageReader(Worker::new("usage-reader", reader)?))
        })
    }

    /// Resolves to the rows of a query as JSON, `rows_max` at most. With `is_live` it also sees
    /// what is not in the store yet, of some accesses, or without one, of all. It runs in the turn
    /// of the first access.
    #[napi(ts_return_type = "Promise<UsageResult>")]
    pub fn query<'env>(
        &self,
        env: &'env Env,
        sql: String,
        parameters_json: String,
        accesses: Vec<String>,
        (limit_ms, rows_max): (f64, f64),
        is_live: bool,
    ) -> Result<Object<'env>> {
        let bounds = guard(|| {
            Ok(Bounds {
                is_live,
                time: Duration::from_millis(count(limit_ms, "a time")?),
                rows: whole(rows_max, u32::MAX, "a count of rows")? as usize,
            })
        })?;
        let owner = accesses.first().cloned();
        let work = move |reader: &mut Reader| {
            let parameters = parameters_of(&parameters_json)?;
            reader.query(&sql, &parameters, &accesses, bounds)
        };
        self.0.run(env, owner, work)
    }
}
