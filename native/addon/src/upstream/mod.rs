//! What upstreams answer.

mod lanes;

use napi::bindgen_prelude::Uint32Array;
use napi_derive::napi;
use wire::upstream::error::ErrorScan;
use wire::upstream::secret::Forms;

use crate::arguments::whole;
use crate::failure::{Result, guard};
use crate::js_bytes::Bytes;

/// Finds a secret in bytes, in every form in which a server may repeat it.
#[napi]
pub struct SecretForms {
    forms: Forms,
}

#[napi]
impl SecretForms {
    /// `exact` are found as they are, `escapable` whichever of their characters are escaped.
    #[napi(constructor)]
    pub fn new(exact: Vec<String>, escapable: Vec<String>) -> Self {
        let exact: Vec<&[u8]> = exact.iter().map(String::as_bytes).collect();
        let escapable: Vec<&[u8]> = escapable.iter().map(String::as_bytes).collect();
        SecretForms {
            forms: Forms::new(&exact, &escapable),
        }
    }

    /// Begins and ends of what begins in `[from, to)`, in order and without overlaps.
    #[napi]
    pub fn find(
        &self,
        #[napi(ts_arg_type = "Uint8Array")] text: Bytes<'_>,
        from: f64,
        to: f64,
    ) -> Result<Uint32Array> {
        guard(|| {
            let from = whole(from, u32::MAX, "from")? as usize;
            let to = whole(to, u32::MAX, "to")? as usize;
            let found = text.read(|text| Ok(self.forms.find(text, from, to)))?;
            // Positions up to `to`, or a form behind it.
            let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            let ends = found
                .into_iter()
                .flat_map(|(start, end)| [position(start), position(end)]);
            Ok(Uint32Array::new(ends.collect()))
        })
    }
}

/// The error of an answer.
#[napi(object, object_from_js = false)]
pub struct AnswerError {
    /// Where it has a number as its code.
    pub code: Option<f64>,
    /// Begin and end of its message, as it is escaped, where that is a string.
    pub message_start: Option<f64>,
    pub message_end: Option<f64>,
}

/// Finds the top-level `error` of one JSON-RPC answer.
#[napi]
#[derive(Default)]
pub struct AnswerErrorScan {
    scan: ErrorScan,
}

#[napi]
impl AnswerErrorScan {
    #[napi(constructor)]
    pub fn new() -> Self {
        AnswerErrorScan::default()
    }

    /// Scans the next bytes of the answer.
    #[napi]
    pub fn feed(&mut self, #[napi(ts_arg_type = "Uint8Array")] piece: Bytes<'_>) -> Result<()> {
        guard(|| {
            piece.read(|piece| {
                self.scan.feed(piece);
                Ok(())
            })
        })
    }

    /// The error of what was scanned; undefined where there is none.
    #[napi]
    pub fn found(&self) -> Option<AnswerError> {
        let found = self.scan.found()?;
        let (start, end) = found.message.unzip();
        Some(AnswerError {
            code: found.code,
            message_start: start.map(|at| at as f64),
            message_end: end.map(|at| at as f64),
        })
    }
}
