use super::*;

/// What a reader makes of bytes.
async fn read(role: WsRole, bytes: &[u8]) -> Result<WsMessage, String> {
    WsReader::new(bytes, role).next().await.map_err(|error| error.to_string())
}

#[test]
fn the_key_of_the_standard_has_the_answer_of_the_standard() {
    assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[tokio::test]
async fn messages_of_every_size_arrive_as_they_were_sent() {
    for (from, to) in [(WsRole::Client, WsRole::Server), (WsRole::Server, WsRole::Client)] {
        for size in [0, 1, 3, 125, 126, 127, 65_535, 65_536, MAX_MESSAGE] {
            let payload: Vec<u8> = (0..size).map(|index| u8::try_from(index % 251).unwrap()).collect();
            let mut wire = Vec::new();
            WsWriter::new(&mut wire, from).send(&WsMessage::Binary(payload.clone())).await.unwrap();
            assert_eq!(read(to, &wire).await, Ok(WsMessage::Binary(payload)), "{size} bytes from {from:?}");
        }
    }
    let mut wire = Vec::new();
    let refused = WsWriter::new(&mut wire, WsRole::Server).binary(&vec![0; MAX_MESSAGE + 1]).await;
    assert!(refused.is_err() && wire.is_empty());
}

#[tokio::test]
async fn fragments_are_put_together_and_controls_are_told_apart() {
    // As a client reads: "Hel" + "lo" as in the standard, with a ping first.
    assert_eq!(read(WsRole::Client, &[0x02, 3, b'H', b'e', b'l', 0x80, 2, b'l', b'o']).await, Ok(WsMessage::Binary(b"Hello".to_vec())));
    assert_eq!(read(WsRole::Client, &[0x81, 2, 0xc3, 0xbc]).await, Ok(WsMessage::Text("ü".into())));
    let mut between = WsReader::new(&[0x01, 1, 0xc3, 0x89, 0, 0x80, 1, 0xbc][..], WsRole::Client);
    assert_eq!(between.next().await.unwrap(), WsMessage::Ping(Vec::new()));
    assert_eq!(between.next().await.unwrap(), WsMessage::Text("ü".into()));
    assert_eq!(read(WsRole::Client, &[0x89, 2, b'h', b'i']).await, Ok(WsMessage::Ping(b"hi".to_vec())));
    assert_eq!(read(WsRole::Client, &[0x8a, 0]).await, Ok(WsMessage::Pong));
    assert_eq!(read(WsRole::Client, &[0x88, 0]).await, Ok(WsMessage::Close));
}

#[tokio::test]
async fn what_nobody_may_send_ends_the_connection() {
    let long = |length: u64| [&[0x82, 127][..], &length.to_be_bytes()].concat();
    let half = MAX_MESSAGE as u64 / 2 + 1;
    let fragment = |first: u8| [&[first, 127][..], &half.to_be_bytes(), &vec![0; usize::try_from(half).unwrap()]].concat();
    for (name, bytes, why) in [
        ("an extension", vec![0xc2, 0], "it uses an extension"),
        ("a mask from a server", vec![0x82, 0x80, 0, 0, 0, 0], "exactly what a client sends is masked"),
        ("text that is none", vec![0x81, 1, 0xff], "a text that is none"),
        ("an unknown kind", vec![0x83, 0], "a kind of message that does not exist"),
        ("a lone fragment", vec![0x80, 1, b'x'], "a fragment without a beginning"),
        ("a second beginning", vec![0x02, 1, b'x', 0x82, 1, b'x'], "a message begins before the one before has ended"),
        ("a long ping", vec![0x89, 126, 0, 126], "a control message is long or cut"),
        ("a cut ping", vec![0x09, 0], "a control message is long or cut"),
        ("one byte too many", long(MAX_MESSAGE as u64 + 1), "the message is too long"),
        ("2^64 - 1 bytes", long(u64::MAX), "the message is too long"),
        ("many fragments", [fragment(0x02), fragment(0x80)].concat(), "the message is too long"),
    ] {
        assert_eq!(
            read(WsRole::Client, &bytes).await,
            Err(format!("the other end does not speak WebSocket as it should: {why}")),
            "{name}"
        );
    }
    assert!(read(WsRole::Server, &[0x82, 0]).await.is_err(), "a client that does not mask");
    assert!(read(WsRole::Client, &[0x82, 5, 1]).await.is_err(), "the end in the middle of a message");
}
