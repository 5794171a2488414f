use proptest::prelude::*;
use quinn::ConnectionError;
use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair};

use super::fixture::{PROTOCOL, ask, certificate, client, connect, connect_with, end_of, open};
use crate::certificate::{ELEMENTS_READ, Identity, identify};

fn identity(token: &str, wants_protection: bool) -> Option<Identity> {
    let token = token.to_string();
    Some(Identity {
        token,
        wants_protection,
    })
}

fn der(names: &[(DnType, DnValue)]) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in names {
        params.distinguished_name.push(kind.clone(), value.clone());
    }
    let key = KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().der().to_vec()
}

#[test]
fn the_common_name_is_the_token() {
    let utf8 = DnValue::Utf8String("sl_tök".into());
    let printable = DnValue::PrintableString("sl-token".try_into().unwrap());
    let other = DnValue::Utf8String("else".into());
    let cn = DnType::CommonName;
    assert_eq!(
        identify(&der(&[(cn.clone(), utf8.clone())])),
        identity("sl_tök", false)
    );
    assert_eq!(
        identify(&der(&[(cn.clone(), printable)])),
        identity("sl-token", false)
    );
    let organised = der(&[
        (DnType::OrganizationName, other.clone()),
        (cn.clone(), utf8),
    ]);
    assert_eq!(identify(&organised), identity("sl_tök", false));
    assert_eq!(identify(&der(&[(DnType::OrganizationName, other)])), None);
    assert_eq!(identify(&der(&[])), None);
    let bmp = DnValue::BmpString("token".try_into().unwrap());
    assert_eq!(
        identify(&der(&[(cn.clone(), bmp)])),
        None,
        "another kind of text"
    );
    let long = |length| DnValue::Utf8String("t".repeat(length));
    assert!(identify(&der(&[(cn.clone(), long(256))])).is_some());
    assert_eq!(identify(&der(&[(cn.clone(), long(257))])), None);
    assert_eq!(identify(&der(&[(cn, long(0))])), None);
}

#[test]
fn protection_is_asked_for_by_an_extension() {
    let made = |value: &[u8]| identify(&certificate(&["token"], Some(value)).der);
    assert_eq!(made(&[1, 1, 0xff]), identity("token", true));
    assert_eq!(made(&[1, 1, 0]), identity("token", false));
    for wrong in [&[1, 1, 1][..], &[], &[4, 1, 0xff], &[1, 2, 0xff, 0xff]] {
        assert_eq!(made(wrong), None);
    }
}

/// An element with the shortest length.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match length {
        0..=0x7f => vec![tag, length as u8],
        0x80..=0xff => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [head, content.to_vec()].concat()
}

fn handmade(subject: &[u8], rest: &[u8]) -> Vec<u8> {
    let empty = element(0x30, &[]);
    let signed = [
        element(0xa0, &element(0x02, &[2])),
        element(0x02, &[1]),
        empty.clone(),
        empty.clone(),
        empty.clone(),
        element(0x30, subject),
        empty,
        rest.to_vec(),
    ];
    element(0x30, &element(0x30, &signed.concat()))
}

fn name(token: &[u8]) -> Vec<u8> {
    let attribute = [element(0x06, &[0x55, 4, 3]), element(0x0c, token)].concat();
    element(0x31, &element(0x30, &attribute))
}

#[test]
fn what_is_not_one_name_is_unreadable() {
    assert_eq!(identify(&handmade(&name(b"t"), &[])), identity("t", false));
    let twice = [name(b"t"), name(b"u")].concat();
    assert_eq!(identify(&handmade(&twice, &[])), None);
    assert_eq!(identify(&handmade(&name(&[0xff]), &[])), None, "no UTF-8");
    let whole = handmade(&name(b"t"), &[]);
    let more = [whole.as_slice(), &[0]].concat();
    assert_eq!(identify(&more), None, "bytes after it");
    assert_eq!(identify(&[0x30, 0x80, 0, 0]), None, "an indefinite length");
    assert_eq!(
        identify(&[0x30, 0x81, 0x01, 0]),
        None,
        "a longer form than needed"
    );
    assert_eq!(identify(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    assert_eq!(identify(&[0x3f; 64]), None, "a tag of several bytes");
    assert_eq!(identify(&vec![0x30; 8 << 20]), None, "8 MiB");
}

/// How many elements are read of some bytes. Each has two bytes at least, and is within five others
/// at most.
fn elements_read(bytes: &[u8]) -> usize {
    ELEMENTS_READ.set(0);
    let _ = identify(bytes);
    ELEMENTS_READ.get()
}

fn elements_max(bytes: &[u8]) -> usize {
    8 + 3 * bytes.len()
}

/// Well-formed elements of any tags within others, as what reads them expects, or nearly.
fn tree() -> impl Strategy<Value = Vec<u8>> {
    let tags =
        || prop::sample::select(vec![0x30u8, 0x31, 0x06, 0x02, 0x01, 0x04, 0x0c, 0x13, 0xa3]);
    let content = prop_oneof![
        Just(vec![0x55, 4, 3]),
        Just(vec![0x88, 0x37, 1, 1]),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    let leaf = (tags(), content).prop_map(|(tag, content)| element(tag, &content));
    leaf.prop_recursive(6, 64, 6, move |inner| {
        let within = prop::collection::vec(inner, 0..6);
        (tags(), within).prop_map(|(tag, within)| element(tag, &within.concat()))
    })
}

#[test]
fn the_work_is_at_most_proportional_to_the_bytes() {
    let read = |count: usize| {
        let set = element(0x31, &element(0x30, &element(0x06, &[1])).repeat(count));
        elements_read(&handmade(&set.repeat(4), &element(0xa3, &[])))
    };
    for count in [10, 100, 200] {
        assert!(read(2 * count) <= 2 * read(count) + 8);
    }
    let empty = |count: usize| handmade(&element(0x31, &[]).repeat(count), &[]);
    assert!(elements_read(&empty(4_000)) >= 4_000);
    assert!(elements_read(&empty(4_000)) <= elements_max(&empty(4_000)));
    assert_eq!(elements_read(&vec![0x30; 8 << 20]), 0, "8 MiB are not read");
}

proptest! {
    #[test]
    fn any_elements_are_read_once(trees in prop::collection::vec(tree(), 0..4)) {
        let bytes = trees.concat();
        let placed = [
            bytes.clone(),
            element(0x30, &bytes),
            element(0x30, &element(0x30, &bytes)),
            handmade(&bytes, &[]),
            handmade(&name(b"t"), &bytes),
            handmade(&name(b"t"), &element(0xa3, &bytes)),
            handmade(&name(b"t"), &element(0xa3, &element(0x30, &bytes))),
        ];
        for der in placed.iter().filter(|der| der.len() < 8 * 1024) {
            prop_assert!(elements_read(der) <= elements_max(der));
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = identify(&bytes);
        let _ = identify(&handmade(&bytes, &[]));
        let _ = identify(&handmade(&name(b"t"), &element(0xa3, &bytes)));
    }

    #[test]
    fn a_cut_certificate_is_unreadable(token in "[ -~]{1,60}", at in 0usize..10_000) {
        let whole = handmade(&name(token.as_bytes()), &element(0xa3, &element(0x30, &[])));
        prop_assert_eq!(identify(&whole), identity(&token, false));
        let cut = &whole[..at % whole.len()];
        prop_assert_eq!(identify(cut), None);
    }

    #[test]
    fn a_changed_byte_names_no_other_length(at in 0usize..400, value in any::<u8>()) {
        let mut bytes = handmade(&name(&[b't'; 200]), &[]);
        let at = at % bytes.len();
        bytes[at] = value;
        if let Some(found) = identify(&bytes) {
            prop_assert!(found.token.len() <= 256);
        }
    }
}

#[tokio::test]
async fn a_client_without_a_token_is_told_why() {
    let edge = open();
    let without = connect_with(edge.address, None).await.unwrap();
    assert_eq!(end_of(&without).await, (2, "bad_cert".into()));
    let nameless = certificate(&[], None);
    let nameless = connect_with(edge.address, Some(nameless)).await.unwrap();
    assert_eq!(end_of(&nameless).await, (2, "bad_cert".into()));
    let unknown = connect(&edge, "unknown").await;
    assert_eq!(end_of(&unknown).await, (1, "invalid_auth".into()));
    assert_eq!(ask(&unknown, b"t").await, None);
    let known = connect(&edge, "good").await;
    assert_eq!(ask(&known, b"four").await, Some((200, "4".into())));
}

#[tokio::test]
async fn another_protocol_fails_the_handshake() {
    let edge = open();
    let certified = certificate(&["good"], None);
    let endpoint = client(Some(certified), b"h3");
    let error = endpoint
        .connect(edge.address, "any")
        .unwrap()
        .await
        .unwrap_err();
    let ConnectionError::ConnectionClosed(close) = error else {
        panic!("{error}");
    };
    assert_eq!(u64::from(close.error_code), 0x178);
    assert_eq!(edge.listener.stats().connections, 0);
    let endpoint = client(None, PROTOCOL);
    assert!(endpoint.connect(edge.address, "any").unwrap().await.is_ok());
}

#[tokio::test]
async fn a_certificate_that_is_no_der_is_refused() {
    let edge = open();
    let mut certified = certificate(&["good"], None);
    let mut bytes = certified.der.to_vec();
    // The version: a certificate of version 1 is not read.
    let at = bytes
        .windows(5)
        .position(|five| five == [0xa0, 3, 2, 1, 2])
        .unwrap();
    bytes[at + 4] = 0;
    certified.der = bytes.into();
    let connection = connect_with(edge.address, Some(certified)).await.unwrap();
    let words = connection.closed().await.to_string();
    assert!(words.contains("bad_cert"), "{words}");
}

#[tokio::test]
async fn a_certificate_of_another_key_is_refused() {
    let edge = open();
    let mut certified = certificate(&["good"], None);
    certified.key = certificate(&["good"], None).key;
    let failed = match connect_with(edge.address, Some(certified)).await {
        Ok(connection) => connection.closed().await,
        Err(error) => error,
    };
    assert!(
        matches!(failed, ConnectionError::ConnectionClosed(_)),
        "{failed}"
    );
    assert_eq!(edge.listener.stats().connections, 0);
}
