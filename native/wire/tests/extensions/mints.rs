//! Extensions of mints.

use spl_token_2022_interface::extension::confidential_mint_burn::ConfidentialMintBurn;
use spl_token_2022_interface::extension::confidential_transfer::ConfidentialTransferMint;
use spl_token_2022_interface::extension::confidential_transfer_fee::ConfidentialTransferFeeConfig;
use spl_token_2022_interface::extension::default_account_state::DefaultAccountState;
use spl_token_2022_interface::extension::group_member_pointer::GroupMemberPointer;
use spl_token_2022_interface::extension::group_pointer::GroupPointer;
use spl_token_2022_interface::extension::interest_bearing_mint::InterestBearingConfig;
use spl_token_2022_interface::extension::metadata_pointer::MetadataPointer;
use spl_token_2022_interface::extension::mint_close_authority::MintCloseAuthority;
use spl_token_2022_interface::extension::pausable::PausableConfig;
use spl_token_2022_interface::extension::permanent_delegate::PermanentDelegate;
use spl_token_2022_interface::extension::scaled_ui_amount::ScaledUiAmountConfig;
use spl_token_2022_interface::extension::transfer_fee::{TransferFee, TransferFeeConfig};
use spl_token_2022_interface::extension::transfer_hook::TransferHook;
use spl_token_group_interface::state::{TokenGroup, TokenGroupMember};
use spl_token_metadata_interface::state::TokenMetadata;

use super::*;

pub fn rows() -> Vec<Row> {
    [authorities(), pointers(), amounts(), fees(), contents()].concat()
}

fn authorities() -> Vec<Row> {
    vec![
        row!(mint, MintCloseAuthority: MintCloseAuthority {
            close_authority: address(6).into(),
        } => "mintCloseAuthority", {"closeAuthority": text(6)}),
        row!(mint, PermanentDelegate: PermanentDelegate {
            delegate: address(7).into(),
        } => "permanentDelegate", {"delegate": text(7)}),
        row!(mint, PermissionedBurn: PermissionedBurnConfig {
            authority: address(8).into(),
        } => "permissionedBurnConfig", {"authority": text(8)}),
        row!(mint, PermissionedBurn: PermissionedBurnConfig::default()
            => "permissionedBurnConfig", {"authority": null}),
        row!(mint, Pausable: PausableConfig {
            authority: address(9).into(),
            paused: true.into(),
        } => "pausableConfig", {"authority": text(9), "paused": true}),
        row!(mint, NonTransferable: NonTransferable => "nonTransferable", null),
        row!(mint, DefaultAccountState: DefaultAccountState {
            state: AccountState::Frozen.into(),
        } => "defaultAccountState", {"accountState": "frozen"}),
    ]
}

fn pointers() -> Vec<Row> {
    let authority = || address(10).into();
    vec![
        row!(mint, TransferHook: TransferHook {
            authority: authority(),
            program_id: address(11).into(),
        } => "transferHook", {"authority": text(10), "programId": text(11)}),
        row!(mint, MetadataPointer: MetadataPointer {
            authority: authority(),
            metadata_address: address(12).into(),
        } => "metadataPointer", {"authority": text(10), "metadataAddress": text(12)}),
        row!(mint, GroupPointer: GroupPointer {
            authority: authority(),
            group_address: address(13).into(),
        } => "groupPointer", {"authority": text(10), "groupAddress": text(13)}),
        row!(mint, GroupMemberPointer: GroupMemberPointer {
            authority: authority(),
            member_address: address(14).into(),
        } => "groupMemberPointer", {"authority": text(10), "memberAddress": text(14)}),
    ]
}

fn amounts() -> Vec<Row> {
    vec![
        row!(mint, InterestBearingConfig: InterestBearingConfig {
            rate_authority: address(21).into(),
            initialization_timestamp: i64::MIN.into(),
            pre_update_average_rate: i16::MIN.into(),
            last_update_timestamp: i64::MAX.into(),
            current_rate: i16::MAX.into(),
        } => "interestBearingConfig", {
            "rateAuthority": text(21),
            "initializationTimestamp": i64::MIN,
            "preUpdateAverageRate": i16::MIN,
            "lastUpdateTimestamp": i64::MAX,
            "currentRate": i16::MAX,
        }),
        row!(mint, ScaledUiAmount: ScaledUiAmountConfig {
            authority: address(22).into(),
            multiplier: 1.1.into(),
            new_multiplier_effective_timestamp: 7.into(),
            new_multiplier: 1e300.into(),
        } => "scaledUiAmountConfig", {
            "authority": text(22),
            "multiplier": "1.1",
            "newMultiplierEffectiveTimestamp": 7,
            "newMultiplier": format!("1{}", "0".repeat(300)),
        }),
    ]
}

fn fees() -> Vec<Row> {
    let fee = |epoch: u64, max: u64, points: u16| TransferFee {
        epoch: epoch.into(),
        maximum_fee: max.into(),
        transfer_fee_basis_points: points.into(),
    };
    vec![row!(mint, TransferFeeConfig: TransferFeeConfig {
        transfer_fee_config_authority: address(3).into(),
        withdraw_withheld_authority: Default::default(),
        withheld_amount: u64::MAX.into(),
        older_transfer_fee: fee(u64::MAX, u64::MAX - 1, 1),
        newer_transfer_fee: fee(1 << 53, (1 << 53) + 1, u16::MAX),
    } => "transferFeeConfig", {
        "transferFeeConfigAuthority": text(3),
        "withdrawWithheldAuthority": null,
        "withheldAmount": u64::MAX,
        "olderTransferFee":
            {"epoch": u64::MAX, "maximumFee": u64::MAX - 1, "transferFeeBasisPoints": 1},
        "newerTransferFee": {
            "epoch": 9_007_199_254_740_992u64,
            "maximumFee": 9_007_199_254_740_993u64,
            "transferFeeBasisPoints": 65_535,
        },
    })]
}

/// Bytes of a type and a length before the value of TokenMetadata, by the interface of metadata.
const METADATA_HEAD_BYTES: usize = 12;

fn contents() -> Vec<Row> {
    let metadata = TokenMetadata {
        update_authority: address(15).into(),
        mint: address(16),
        name: "naïve \"token\"".to_string(),
        symbol: "N\u{0}T".to_string(),
        uri: String::new(),
        additional_metadata: vec![("key".to_string(), "\u{1F980}".to_string())],
    };
    let value_bytes = metadata.tlv_size_of().unwrap() - METADATA_HEAD_BYTES;
    let data = mint_of(value_bytes, |state| {
        state.init_variable_len_extension(&metadata, true).unwrap();
    });
    let shown = json!({
        "updateAuthority": text(15),
        "mint": text(16),
        "name": "naïve \"token\"",
        "symbol": "N\u{0}T",
        "uri": "",
        "additionalMetadata": [["key", "\u{1F980}"]],
    });
    vec![
        (ExtensionType::TokenMetadata, data, "tokenMetadata", shown),
        row!(mint, TokenGroup: TokenGroup {
            update_authority: address(17).into(),
            mint: address(18),
            size: 1.into(),
            max_size: u64::MAX.into(),
        } => "tokenGroup", {
            "updateAuthority": text(17), "mint": text(18), "size": 1, "maxSize": u64::MAX,
        }),
        row!(mint, TokenGroupMember: TokenGroupMember {
            mint: address(19),
            group: address(20),
            member_number: u64::MAX.into(),
        } => "tokenGroupMember", {
            "mint": text(19), "group": text(20), "memberNumber": u64::MAX,
        }),
    ]
}

pub fn confidential_rows() -> Vec<Row> {
    let mut burn = ConfidentialMintBurn::default();
    burn.confidential_supply.0.fill(1);
    burn.decryptable_supply.0.fill(2);
    burn.supply_elgamal_pubkey.0.fill(3);
    burn.pending_burn.0.fill(4);
    let key = burn.supply_elgamal_pubkey;
    vec![
        row!(mint, ConfidentialTransferMint: ConfidentialTransferMint {
            authority: address(4).into(),
            auto_approve_new_accounts: true.into(),
            auditor_elgamal_pubkey: key.into(),
        } => "confidentialTransferMint", {
            "authority": text(4),
            "autoApproveNewAccounts": true,
            "auditorElgamalPubkey": base64(3, 32),
        }),
        row!(mint, ConfidentialTransferFeeConfig: ConfidentialTransferFeeConfig {
            authority: address(5).into(),
            withdraw_withheld_authority_elgamal_pubkey: key,
            harvest_to_mint_enabled: true.into(),
            withheld_amount: burn.pending_burn,
        } => "confidentialTransferFeeConfig", {
            "authority": text(5),
            "withdrawWithheldAuthorityElgamalPubkey": base64(3, 32),
            "harvestToMintEnabled": true,
            "withheldAmount": base64(4, 64),
        }),
        row!(mint, ConfidentialMintBurn: burn => "confidentialMintBurn", {
            "confidentialSupply": base64(1, 64),
            "decryptableSupply": base64(2, 36),
            "supplyElgamalPubkey": base64(3, 32),
            "pendingBurn": base64(4, 64),
        }),
    ]
}
