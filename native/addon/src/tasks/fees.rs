//! Fees and tips of recent blocks, from the store. They run on the pool of scans.

use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use primitives::Pubkey;
use primitives::encoding::decode_long_base58;
use store::Snapshot;
use sys::error::{Error, Result as Checked};
use transaction::{BYTES_MAX, Writable, writable};
use wire::fees::{self, Estimate, Level, Span, TipGroup};

use crate::arguments::{count, pubkeys, whole};
use crate::failure::{Result, guard, thrown};
use crate::js_bytes::{Bytes, CopiedBytes};
use crate::reader::Reader;
use crate::tasks::reads::{PageTask, owner_of};
use crate::tasks::reply::NativeReply;

/// As many blocks as Agave keeps.
const BLOCKS: usize = 150;
const NO_TIME: Duration = Duration::from_secs(60);

/// A question for getPriorityFeeEstimate.
#[napi(object, object_to_js = false)]
pub struct FeeEstimateQuery {
    /// 32 bytes each.
    #[napi(ts_type = "Uint8Array")]
    pub accounts: CopiedBytes,
    /// Absent where the accounts are given.
    pub transaction: Option<String>,
    pub is_base64: bool,
    /// 0 to 5 from `min` to `unsafeMax`, 6 the recommended one, 7 all.
    pub level: f64,
    /// Blocks to look back; 0 where `spanMs` says it.
    pub blocks: f64,
    pub span_ms: f64,
    pub includes_votes: bool,
    pub empty_is_zero: bool,
    pub has_details: bool,
    /// Whether it is the value of `{"context":{"slot":…},"value":…}`.
    pub has_context: bool,
}

/// Accounts whose gains by one transaction are one tip.
#[napi(object, object_to_js = false)]
pub struct TipGroupData {
    pub name: String,
    /// 32 bytes each.
    #[napi(ts_type = "Uint8Array")]
    pub accounts: CopiedBytes,
}

fn span(blocks: usize, ms: f64) -> Checked<Span> {
    match count(ms, "spanMs")? {
        0 => Ok(Span::Blocks(blocks)),
        ms => Ok(Span::Ms(ms)),
    }
}

#[napi]
impl Reader {
    /// Result of getRecentPrioritizationFees. `percentile` is in ten thousandths; 0 is Agave's
    /// minimum. `spanMs` of 0 is 150 blocks.
    #[napi(ts_return_type = "Promise<TaskResult>")]
    #[allow(clippy::too_many_arguments)]
    pub fn recent_fees<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array")] accounts: Bytes<'_>,
        percentile: f64,
        span_ms: f64,
        deadline_ms: f64,
        reply: &NativeReply,
        owner: Option<String>,
    ) -> Result<Object<'env>> {
        let accounts = guard(|| accounts.read(|keys| pubkeys(keys).map(<[_]>::to_vec)))?;
        let (percentile, span) = guard(|| {
            let percentile = whole(percentile, 10_000, "percentile")?;
            Ok((percentile, span(BLOCKS, span_ms)?))
        })?;
        let percentile = (percentile > 0).then_some(percentile);
        let window = self.fees.clone();
        let page = PageTask::new(owner_of(owner), reply, deadline_ms, NO_TIME);
        self.page(env, page, move |snapshot, _, reply| {
            reply.append(|out| {
                fees::recent_prioritization_fees(
                    snapshot, &window, &accounts, percentile, span, out,
                )
            })
        })
    }

    /// Result of getPriorityFeeEstimate.
    #[napi(ts_return_type = "Promise<TaskResult>")]
    pub fn fee_estimate<'env>(
        &self,
        env: &'env Env,
        query: FeeEstimateQuery,
        deadline_ms: f64,
        reply: &NativeReply,
        owner: Option<String>,
    ) -> Result<Object<'env>> {
        let (estimate, named) = to_estimate(&query).map_err(|error| thrown(&error))?;
        let window = self.fees.clone();
        let page = PageTask::new(owner_of(owner), reply, deadline_ms, NO_TIME);
        self.page(env, page, move |snapshot, _, reply| {
            let mut estimate = estimate;
            if let Some(named) = &named {
                estimate.accounts = accounts_of(snapshot, named)?;
            }
            reply.append(|out| fees::priority_fee_estimate(snapshot, &window, &estimate, out))
        })
    }

    /// Result of getTipPercentiles. `spanMs` of 0 is 150 blocks.
    #[napi(ts_return_type = "Promise<TaskResult>")]
    pub fn tip_percentiles<'env>(
        &self,
        env: &'env Env,
        groups: Vec<TipGroupData>,
        span_ms: f64,
        deadline_ms: f64,
        reply: &NativeReply,
        owner: Option<String>,
    ) -> Result<Object<'env>> {
        let (groups, span) = guard(|| {
            let groups = groups.iter().map(|group| {
                Ok(TipGroup {
                    name: group.name.clone(),
                    accounts: pubkeys(&group.accounts)?.to_vec(),
                })
            });
            Ok((groups.collect::<Checked<Vec<_>>>()?, span(BLOCKS, span_ms)?))
        })?;
        let window = self.fees.clone();
        let page = PageTask::new(owner_of(owner), reply, deadline_ms, NO_TIME);
        self.page(env, page, move |snapshot, _, reply| {
            reply.append(|out| fees::tip_percentiles(snapshot, &window, &groups, span, out))
        })
    }
}

fn to_estimate(query: &FeeEstimateQuery) -> Checked<(Estimate, Option<Writable>)> {
    let level = match whole(query.level, 7, "level")? {
        7 => Level::All,
        6 => Level::Recommended,
        index => Level::One(index as usize),
    };
    let blocks = whole(query.blocks, 512, "blocks")? as usize;
    let named = match &query.transaction {
        Some(text) => Some(read_transaction(text, query.is_base64)?),
        None => None,
    };
    let estimate = Estimate {
        accounts: pubkeys(&query.accounts)?.to_vec(),
        level,
        span: span(blocks, query.span_ms)?,
        includes_votes: query.includes_votes,
        empty_is_zero: query.empty_is_zero,
        has_details: query.has_details,
        has_context: query.has_context,
    };
    Ok((estimate, named))
}

fn read_transaction(text: &str, is_base64: bool) -> Checked<Writable> {
    let bytes = if is_base64 {
        transaction::decode(text.as_bytes(), BYTES_MAX).ok()
    } else {
        decode_long_base58(text.as_bytes(), BYTES_MAX)
    };
    bytes
        .and_then(|bytes| writable(&bytes))
        .ok_or(Error::FeeTransaction)
}

/// The accounts that a transaction can write, those of its lookup tables included.
fn accounts_of(snapshot: &Snapshot<'_>, named: &Writable) -> Checked<Vec<Pubkey>> {
    let mut accounts = named.keys.clone();
    for (table, positions) in &named.tables {
        accounts.extend(fees::writable_of_table(snapshot, table, positions)?);
    }
    Ok(accounts)
}
