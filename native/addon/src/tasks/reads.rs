//! Reads of a store that run on pools.

use std::time::{Duration, Instant};

use fanout::{AwaitedTransaction, push_outcomes};
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use store::{Budget, Snapshot};
use sys::error::Result as Checked;
use sys::pool::Owner;
use wire::reads::{self, CompleteReply, StreamedReply};

use crate::arguments::{deadline, pubkeys, wanted, wrong};
use crate::failure::{Result, guard, thrown};
use crate::js_bytes::Bytes;
use crate::pages::{OwnerPageQuery, ProgramPageQuery, to_owner_query, to_program_query};
use crate::reader::Reader;
use crate::tasks::reply::NativeReply;
use crate::tasks::{Task, start};

/// How a page is made.
pub(super) struct PageTask<'r> {
    owner: Owner,
    reply: &'r NativeReply,
    deadline_ms: f64,
    scan_time: Duration,
}

impl<'r> PageTask<'r> {
    pub(super) fn new(
        owner: Owner,
        reply: &'r NativeReply,
        deadline_ms: f64,
        scan_time: Duration,
    ) -> Self {
        PageTask {
            owner,
            reply,
            deadline_ms,
            scan_time,
        }
    }
}

/// An access, or the service itself.
pub(super) fn owner_of(given: Option<String>) -> Owner {
    given.map(Into::into)
}

#[napi]
impl Reader {
    /// Result of getTokenLargestAccounts while the mint's row of holders is refilled.
    #[napi(ts_return_type = "Promise<TaskResult>")]
    pub fn largest_holders_task<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array")] mint: Bytes<'_>,
        deadline_ms: f64,
        reply: &NativeReply,
        owner: Option<String>,
    ) -> Result<Object<'env>> {
        let mint = guard(|| mint.pubkey())?;
        let ends = deadline(deadline_ms).map_err(|error| thrown(&error))?;
        let time = ends.saturating_duration_since(Instant::now());
        let page = PageTask::new(owner_of(owner), reply, deadline_ms, time);
        self.page(env, page, move |snapshot, budget, reply| {
            reply.append(|out| reads::scan_largest_accounts(snapshot, &mint, budget, out))
        })
    }

    /// Result of getMultipleAccounts, or of getAccountInfo where `isSingle`, however large. Its
    /// snapshot lives until the last byte is produced or the deadline is met.
    #[napi(ts_return_type = "Promise<TaskResult>")]
    #[allow(clippy::too_many_arguments)]
    pub fn accounts_task<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array")] keys: Bytes<'_>,
        is_single: bool,
        encoding: f64,
        slice_offset: f64,
        slice_length: f64,
        changed_since: f64,
        deadline_ms: f64,
        reply: &NativeReply,
        owner: Option<String>,
    ) -> Result<Object<'env>> {
        let keys = guard(|| keys.read(|keys| pubkeys(keys).map(<[_]>::to_vec)))?;
        let wanted = wanted(encoding, slice_offset, slice_length, changed_since)
            .map_err(|error| thrown(&error))?;
        let store = self.shared_store().map_err(|error| thrown(&error))?;
        let task = Task {
            owner: owner_of(owner),
            pool: &self.pools.stream,
            in_flight: &self.pools.in_flight,
            queue_bytes_max: self.pools.stream_bytes_max,
            deadline: deadline(deadline_ms).map_err(|error| thrown(&error))?,
        };
        start(env, task, reply, move |writer, turn| {
            let snapshot = store.snapshot()?;
            let mut reply = StreamedReply::new(writer, turn);
            match keys.first() {
                Some(key) if is_single => reads::stream_account(&snapshot, key, wanted, &mut reply),
                _ => reads::stream_accounts(&snapshot, &keys, wanted, &mut reply),
            }
        })
    }

    /// Result of getProgramAccountsV2.
    #[napi(ts_return_type = "Promise<TaskResult>")]
    pub fn program_page<'env>(
        &self,
        env: &'env Env,
        query: ProgramPageQuery,
        deadline_ms: f64,
        reply: &NativeReply,
        owner: Option<String>,
    ) -> Result<Object<'env>> {
        let (native_query, view, time) =
            to_program_query(&query).map_err(|error| thrown(&error))?;
        let page = PageTask::new(owner_of(owner), reply, deadline_ms, time);
        self.page(env, page, move |snapshot, budget, reply| {
            reads::program_accounts(snapshot, &native_query, &view, budget, reply)
        })
    }

    /// Result of getTokenAccountsByOwnerV2.
    #[napi(ts_return_type = "Promise<TaskResult>")]
    pub fn owner_page<'env>(
        &self,
        env: &'env Env,
        query: OwnerPageQuery,
        deadline_ms: f64,
        reply: &NativeReply,
        owner: Option<String>,
    ) -> Result<Object<'env>> {
        let (native_query, view, time) = to_owner_query(&query).map_err(|error| thrown(&error))?;
        let page = PageTask::new(owner_of(owner), reply, deadline_ms, time);
        self.page(env, page, move |snapshot, budget, reply| {
            reads::token_accounts_by_owner(snapshot, &native_query, &view, budget, reply)
        })
    }

    /// Outcomes of transactions: rows of signature, blockhash or zeros, and first slot.
    #[napi(ts_return_type = "Promise<TaskResult>")]
    pub fn outcomes<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array")] transactions: Bytes<'_>,
        deadline_ms: f64,
        reply: &NativeReply,
    ) -> Result<Object<'env>> {
        let decode = |bytes: &[u8]| Ok(AwaitedTransaction::decode_all(bytes));
        let rows = guard(|| {
            transactions
                .read(decode)?
                .ok_or_else(|| wrong("transactions"))
        })?;
        let page = PageTask::new(None, reply, deadline_ms, Duration::from_secs(60));
        self.page(env, page, move |snapshot, _, reply| {
            reply.append(|out| push_outcomes(snapshot, &rows, out))
        })
    }
}

impl Reader {
    pub(super) fn page<'env>(
        &self,
        env: &'env Env,
        page: PageTask<'_>,
        read: impl FnOnce(&Snapshot<'_>, &mut Budget, &mut CompleteReply<'_>) -> Checked<()>
        + Send
        + 'static,
    ) -> Result<Object<'env>> {
        let store = self.shared_store().map_err(|error| thrown(&error))?;
        let task = Task {
            owner: page.owner,
            pool: &self.pools.scan,
            in_flight: &self.pools.in_flight,
            queue_bytes_max: usize::MAX, // A page is already bounded, and its snapshot has ended.
            deadline: deadline(page.deadline_ms).map_err(|error| thrown(&error))?,
        };
        let scan_time = page.scan_time;
        start(env, task, page.reply, move |writer, _| {
            let mut reply = CompleteReply::new(writer);
            let mut budget = Budget::until(Instant::now() + scan_time);
            read(&store.snapshot()?, &mut budget, &mut reply)?;
            reply.send()
        })
    }
}
