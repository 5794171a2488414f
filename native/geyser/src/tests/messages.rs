//! An account is written as prost would write it.

use std::sync::Arc;

use proptest::prelude::*;
use store::testing::{account, number};
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::{
    SubscribeUpdate, SubscribeUpdateAccount, SubscribeUpdateAccountInfo,
};
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::prost_types::Timestamp;

use super::content_of;
use crate::content::Slice;
use crate::message::{AccountUpdate, Update};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_account_is_written_as_by_prost(
        lamports in 1..u64::MAX,
        rent_epoch in prop_oneof![Just(0), Just(u64::MAX)],
        executable: bool,
        data in prop::collection::vec(any::<u8>(), 0..300),
        slices in prop::collection::vec((0u64..320, 0u64..320), 0..3),
        names in prop::collection::vec("[a-z]{0,12}", 0..3),
    ) {
        let mut update = account(number(7), lamports, number(9), &data);
        (update.rent_epoch, update.executable) = (rent_epoch, executable);
        let content = Arc::new(content_of(vec![update]));
        let slices: Arc<[Slice]> =
            slices.iter().map(|&(offset, length)| Slice { offset, length }).collect();
        let sliced: Vec<u8> = match slices.is_empty() {
            true => data.clone(),
            false => slices
                .iter()
                .filter_map(|slice| {
                    data.get(slice.offset as usize..(slice.offset + slice.length) as usize)
                })
                .flatten()
                .copied()
                .collect(),
        };
        let created_at = Timestamp { seconds: 5, nanos: 0 };
        let update = Update::Account(Box::new(AccountUpdate {
            filters: names.iter().map(|name| Arc::from(name.as_str())).collect(),
            content,
            index: 0,
            slices,
            created_at,
        }));
        let mut bytes = Vec::new();
        update.encode(&mut bytes);
        prop_assert_eq!(bytes.len(), update.byte_count());
        let info = SubscribeUpdateAccountInfo {
            pubkey: number(7).to_vec(),
            lamports,
            owner: number(9).to_vec(),
            executable,
            rent_epoch,
            data: sliced,
            write_version: 5 << 20,
            txn_signature: None,
        };
        let wanted = SubscribeUpdate {
            filters: names,
            created_at: Some(created_at),
            update_oneof: Some(UpdateOneof::Account(SubscribeUpdateAccount {
                account: Some(info),
                slot: 5,
                is_startup: false,
                bank_id: Some(5),
            })),
        };
        prop_assert_eq!(SubscribeUpdate::decode(&bytes[..]).unwrap(), wanted.clone());
        prop_assert_eq!(bytes.len(), wanted.encoded_len());
    }
}
