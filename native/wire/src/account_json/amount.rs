//! Token amounts: raw, decimal string and double.

use solana_account_decoder::parse_token::token_amount_to_ui_amount_v3;

use super::mint::MintData;
use super::text::{push_f64, push_str, push_u64};

/// Appends the members of a token amount, without braces:
/// `"amount":"…","decimals":…,"uiAmount":…,…`.
pub fn push_amount(out: &mut Vec<u8>, amount: u64, mint: &MintData) {
    let MintData(mint) = mint;
    out.extend_from_slice(b"\"amount\":\"");
    push_u64(out, amount);
    out.extend_from_slice(b"\",\"decimals\":");
    push_u64(out, u64::from(mint.decimals));
    out.extend_from_slice(b",\"uiAmount\":");
    if mint.interest_bearing_config.is_some() || mint.scaled_ui_amount_config.is_some() {
        let ui = token_amount_to_ui_amount_v3(amount, mint);
        push_f64(out, ui.ui_amount.unwrap_or(f64::NAN));
        out.extend_from_slice(b",\"uiAmountString\":");
        push_str(out, &ui.ui_amount_string);
        return;
    }
    // 10²⁰ does not fit 64 bits: from there on Agave writes null.
    match 10u64.checked_pow(u32::from(mint.decimals)) {
        Some(unit) => push_f64(out, amount as f64 / unit as f64),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"uiAmountString\":\"");
    push_decimal(out, amount, usize::from(mint.decimals));
    out.push(b'"');
}

/// Appends `amount / 10^decimals` exactly, without trailing zeros.
fn push_decimal(out: &mut Vec<u8>, amount: u64, decimals: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(amount).as_bytes();
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(decimals));
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
    let kept = fraction
        .iter()
        .rposition(|digit| *digit != b'0')
        .map_or(0, |last| last + 1);
    if kept > 0 {
        out.push(b'.');
        out.extend(std::iter::repeat_n(b'0', decimals - fraction.len()));
        out.extend_from_slice(&fraction[..kept]);
    }
}
