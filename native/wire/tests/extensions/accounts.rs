//! Extensions of token accounts.

use spl_token_2022_interface::extension::confidential_transfer::ConfidentialTransferAccount;
use spl_token_2022_interface::extension::confidential_transfer_fee::ConfidentialTransferFeeAmount;
use spl_token_2022_interface::extension::cpi_guard::CpiGuard;
use spl_token_2022_interface::extension::immutable_owner::ImmutableOwner;
use spl_token_2022_interface::extension::memo_transfer::MemoTransfer;
use spl_token_2022_interface::extension::non_transferable::NonTransferableAccount;
use spl_token_2022_interface::extension::pausable::PausableAccount;
use spl_token_2022_interface::extension::transfer_fee::TransferFeeAmount;
use spl_token_2022_interface::extension::transfer_hook::TransferHookAccount;

use super::*;

pub fn rows() -> Vec<Row> {
    let mut confidential = ConfidentialTransferAccount {
        approved: true.into(),
        allow_confidential_credits: true.into(),
        pending_balance_credit_counter: 1.into(),
        maximum_pending_balance_credit_counter: u64::MAX.into(),
        expected_pending_balance_credit_counter: 3.into(),
        actual_pending_balance_credit_counter: 4.into(),
        ..Default::default()
    };
    confidential.elgamal_pubkey.0.fill(1);
    confidential.pending_balance_lo.0.fill(2);
    confidential.pending_balance_hi.0.fill(3);
    confidential.available_balance.0.fill(4);
    confidential.decryptable_available_balance.0.fill(5);
    let withheld_amount = confidential.available_balance;
    vec![
        row!(account, ConfidentialTransferAccount: confidential => "confidentialTransferAccount", {
            "approved": true,
            "elgamalPubkey": base64(1, 32),
            "pendingBalanceLo": base64(2, 64),
            "pendingBalanceHi": base64(3, 64),
            "availableBalance": base64(4, 64),
            "decryptableAvailableBalance": base64(5, 36),
            "allowConfidentialCredits": true,
            "allowNonConfidentialCredits": false,
            "pendingBalanceCreditCounter": 1,
            "maximumPendingBalanceCreditCounter": u64::MAX,
            "expectedPendingBalanceCreditCounter": 3,
            "actualPendingBalanceCreditCounter": 4,
        }),
        row!(account, ConfidentialTransferFeeAmount: ConfidentialTransferFeeAmount {
            withheld_amount,
        } => "confidentialTransferFeeAmount", {"withheldAmount": base64(4, 64)}),
        row!(account, TransferFeeAmount: TransferFeeAmount {
            withheld_amount: u64::MAX.into(),
        } => "transferFeeAmount", {"withheldAmount": u64::MAX}),
        row!(account, MemoTransfer: MemoTransfer {
            require_incoming_transfer_memos: true.into(),
        } => "memoTransfer", {"requireIncomingTransferMemos": true}),
        row!(account, CpiGuard: CpiGuard {
            lock_cpi: true.into(),
        } => "cpiGuard", {"lockCpi": true}),
        row!(account, TransferHookAccount: TransferHookAccount {
            transferring: true.into(),
        } => "transferHookAccount", {"transferring": true}),
        row!(account, ImmutableOwner: ImmutableOwner => "immutableOwner", null),
        row!(account, NonTransferableAccount: NonTransferableAccount
            => "nonTransferableAccount", null),
        row!(account, PausableAccount: PausableAccount => "pausableAccount", null),
    ]
}
