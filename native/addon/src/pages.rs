//! Converts page queries from JavaScript.

use std::time::Duration;

use napi_derive::napi;
use primitives::token::TokenProgram;
use store::{Filter, OwnerFilter, OwnerQuery, ProgramQuery};
use sys::error::Result as Checked;
use wire::reads::PageView;

use crate::arguments::{count, pubkey, slot_or_none, view, whole, wrong};
use crate::js_bytes::CopiedBytes;

/// One condition of a program page: `dataSize`, or `offset` with `bytes`.
#[napi(object, object_to_js = false)]
pub struct FilterData {
    pub data_size: Option<f64>,
    pub offset: Option<f64>,
    #[napi(ts_type = "Uint8Array")]
    pub bytes: Option<CopiedBytes>,
}

/// A page of a program's accounts. `changedSinceSlot` and `sliceOffset` are −1 where there is none.
#[napi(object, object_to_js = false)]
pub struct ProgramPageQuery {
    #[napi(ts_type = "Uint8Array")]
    pub program: CopiedBytes,
    pub filters: Vec<FilterData>,
    pub changed_since_slot: f64,
    pub page: PageData,
}

/// A page of a wallet's token accounts: of one `mint`, or of the token program 1 or 2.
#[napi(object, object_to_js = false)]
pub struct OwnerPageQuery {
    #[napi(ts_type = "Uint8Array")]
    pub wallet: CopiedBytes,
    #[napi(ts_type = "Uint8Array")]
    pub mint: Option<CopiedBytes>,
    pub token_program: Option<f64>,
    pub page: PageData,
}

/// What every page has in common.
#[napi(object, object_to_js = false)]
pub struct PageData {
    pub encoding: f64,
    pub slice_offset: f64,
    pub slice_length: f64,
    pub limit: f64,
    #[napi(ts_type = "Uint8Array")]
    pub after: Option<CopiedBytes>,
    /// Time that the scan may take once it runs, in milliseconds.
    pub scan_ms: f64,
    pub reply_bytes_max: f64,
}

impl PageData {
    fn view(&self) -> Checked<PageView> {
        Ok(PageView {
            view: view(self.encoding, self.slice_offset, self.slice_length)?,
            reply_bytes_max: count(self.reply_bytes_max, "replyBytesMax")? as usize,
        })
    }

    fn limit(&self) -> Checked<usize> {
        whole(self.limit, u32::MAX, "limit").map(|limit| limit as usize)
    }

    fn after(&self) -> Checked<Option<primitives::Pubkey>> {
        self.after.as_ref().map(|bytes| pubkey(bytes)).transpose()
    }

    fn scan_time(&self) -> Checked<Duration> {
        Ok(Duration::from_millis(count(self.scan_ms, "scanMs")?))
    }
}

pub fn to_filter(filter: &FilterData) -> Checked<Filter> {
    match filter {
        FilterData {
            data_size: Some(bytes),
            ..
        } => Ok(Filter::DataSize(count(*bytes, "dataSize")?)),
        FilterData {
            offset: Some(offset),
            bytes: Some(bytes),
            ..
        } => Ok(Filter::Memcmp {
            offset: count(*offset, "offset")?,
            bytes: bytes.to_vec(),
        }),
        _ => Err(wrong("a filter must hold dataSize, or offset and bytes")),
    }
}

pub fn to_program_query(query: &ProgramPageQuery) -> Checked<(ProgramQuery, PageView, Duration)> {
    let changed_since = slot_or_none(query.changed_since_slot, "changedSinceSlot")?;
    let native_query = ProgramQuery {
        program: pubkey(&query.program)?,
        filters: query
            .filters
            .iter()
            .map(to_filter)
            .collect::<Checked<_>>()?,
        limit: query.page.limit()?,
        after: query.page.after()?,
        changed_since,
    };
    Ok((native_query, query.page.view()?, query.page.scan_time()?))
}

pub fn to_owner_query(query: &OwnerPageQuery) -> Checked<(OwnerQuery, PageView, Duration)> {
    let filter = match (&query.mint, query.token_program) {
        (Some(mint), _) => OwnerFilter::Mint(pubkey(mint)?),
        (None, Some(1.0)) => OwnerFilter::Program(TokenProgram::Token),
        (None, Some(2.0)) => OwnerFilter::Program(TokenProgram::Token2022),
        _ => return Err(wrong("an owner page needs mint, or tokenProgram 1 or 2")),
    };
    let native_query = OwnerQuery {
        wallet: pubkey(&query.wallet)?,
        filter,
        limit: query.page.limit()?,
        after: query.page.after()?,
    };
    Ok((native_query, query.page.view()?, query.page.scan_time()?))
}
