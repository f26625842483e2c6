use proptest::prelude::*;

use super::*;

type Found = Vec<(String, String)>;

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> (Found, Result<bool, EventTooLarge>) {
    let (mut events, mut found) = (EventReader::with_limit(limit), Vec::new());
    for piece in pieces {
        let fed = events.feed(piece, |name, data| {
            found.push((name.to_owned(), data.to_owned()));
            Ok::<_, EventTooLarge>(())
        });
        if let Err(error) = fed {
            return (found, Err(error));
        }
    }
    let inside = events.finish();
    (found, Ok(inside))
}

fn whole(stream: &[u8]) -> (Found, Result<bool, EventTooLarge>) {
    read([stream], MAX_EVENT_BYTES)
}

#[test]
fn sse_streams_parse_as_the_standard_says() {
    for (what, stream, events, inside) in [
        // The examples of the HTML standard.
        (
            "three messages",
            "data: This is the first message.\n\ndata: This is the second message, it\ndata: has two lines.\n\ndata: This is the third message.\n\n",
            vec![
                ("", "This is the first message."),
                ("", "This is the second message, it\nhas two lines."),
                ("", "This is the third message."),
            ],
            false,
        ),
        (
            "named events",
            "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
            vec![("add", "73857293"), ("remove", "2153"), ("add", "113411")],
            false,
        ),
        ("stocks", "data: YHOO\ndata: +2\ndata: 10\n\n", vec![("", "YHOO\n+2\n10")], false),
        (
            "comment, ids, and a last block that is cut",
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
            vec![("", "first event"), ("", "second event")],
            true,
        ),
        ("empty data, and a last block that is cut", "data\n\ndata\ndata\n\ndata:\n", vec![("", ""), ("", "\n")], true),
        ("a space is no difference", "data:test\n\ndata: test\n\n", vec![("", "test"), ("", "test")], false),
        // Line ends.
        ("CRLF", "event: a\r\ndata: 1\r\ndata: 2\r\n\r\n", vec![("a", "1\n2")], false),
        ("CR", "event: a\rdata: 1\rdata: 2\r\r", vec![("a", "1\n2")], false),
        ("each differently", "data: 1\r\ndata: 2\rdata: 3\n\rdata: 4\n\n", vec![("", "1\n2\n3"), ("", "4")], false),
        ("a return before the end is a whole break", "data: 1\n\r", vec![("", "1")], false),
        // Beginning and fields.
        ("byte order mark", "\u{feff}data: 1\n\n", vec![("", "1")], false),
        ("a second mark is part of a name", "\u{feff}\u{feff}data: 1\n\n\u{feff}data: 2\n\n", vec![], false),
        ("a mark alone", "\u{feff}", vec![], true),
        ("only one space goes", "data:  two\n\ndata:\ttab\n\n", vec![("", " two"), ("", "\ttab")], false),
        ("colons in the value", "data: a: b:c\n\n", vec![("", "a: b:c")], false),
        ("the last name counts, and only for its event", "event: a\nevent: b\ndata: 1\n\ndata: 2\n\n", vec![("b", "1"), ("", "2")], false),
        ("an empty name takes it back", "event: a\nevent\ndata: 1\n\n", vec![("", "1")], false),
        ("no data, no event", "event: a\nid: 4\nretry: 10\n\ndata: 1\n\n", vec![("", "1")], false),
        ("fields of other names and cases", "Data: 0\ndata : 0\n data: 0\nfoo: 0\ndatax: 0\ndata: 1\n\n", vec![("", "1")], false),
        ("a name behind its data", "data: 1\nevent: late\n\n", vec![("late", "1")], false),
        ("comments between", ":\n: x\ndata: 1\n:data: 2\ndata: 3\n\n", vec![("", "1\n3")], false),
        ("blank lines", "\n\n\r\n\r\n", vec![], false),
        ("nothing", "", vec![], false),
        ("a comment that is cut", ": ping", vec![], false),
        ("a name that is cut", "event: a\n", vec![], true),
        ("text beyond ASCII", "event: größe\ndata: 漢字 🦀\n\n", vec![("größe", "漢字 🦀")], false),
        ("a line of many blocks", &format!("data: {}\n\n", "0123456789".repeat(20)), vec![("", "0123456789".repeat(20).as_str())], false),
    ] {
        let events = events.into_iter().map(|(name, data)| (name.to_owned(), data.to_owned())).collect();
        assert_eq!(whole(stream.as_bytes()), (events, Ok(inside)), "{what}");
        assert_eq!(read(stream.as_bytes().chunks(1), MAX_EVENT_BYTES), whole(stream.as_bytes()), "{what}, byte by byte");
    }
}

#[test]
fn sse_invalid_utf8_is_replaced() {
    for (stream, name, data) in [
        (&b"data: a\xffb\n\n"[..], "", "a\u{fffd}b"),
        (b"event: \xc3\ndata: \xf0\x9f\xa6\n\n", "\u{fffd}", "\u{fffd}"),
        (b"data: \xf0\x9f\ndata: \xa6\x80\n\n", "", "\u{fffd}\n\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(whole(stream), (vec![(name.to_owned(), data.to_owned())], Ok(false)));
    }
}

#[test]
fn sse_event_size_is_limited() {
    let large = Err(EventTooLarge { limit: 10 });
    for (what, stream, expected) in [
        ("a line", "data:12345\n\n", (1, Ok(false))),
        ("a longer line", "data:123456\n\n", (0, large)),
        ("a line without an end", "data:123456", (0, large)),
        ("a comment", ":1234567890\n", (0, large)),
        ("a name", "event:12345\n", (0, large)),
        ("lines together", "data:12345\ndata:1234\n\n", (1, Ok(false))),
        ("lines that are too much together", "data:12345\ndata:12345\n\n", (0, large)),
        ("many small lines", "data:\ndata:\ndata:\ndata:\ndata:\ndata:\ndata:\ndata:\ndata:\ndata:\ndata:\ndata:\n\n", (0, large)),
        ("each event anew", "data:12345\n\ndata:12345\n\ndata:12345\n\n", (3, Ok(false))),
        ("what came before stays", "data:1\n\ndata:123456\n\n", (1, large)),
    ] {
        for size in [1, 3, stream.len()] {
            let (found, end) = read(stream.as_bytes().chunks(size), 10);
            assert_eq!((found.len(), end), expected, "{what}, by {size}");
        }
    }
}

#[test]
fn sse_default_limit_is_32_megabytes() {
    let mut events = EventReader::new();
    let piece = vec![b'x'; 1 << 20];
    let fed = |events: &mut EventReader, bytes: &[u8]| events.feed(bytes, |_, _| Ok::<_, EventTooLarge>(()));
    for _ in 0..32 {
        assert_eq!(fed(&mut events, &piece), Ok(()));
    }
    assert_eq!(fed(&mut events, b"x"), Err(EventTooLarge { limit: 33_554_432 }));
}

#[test]
fn sse_callback_error_ends_parsing() {
    #[derive(Debug, PartialEq)]
    enum Stop {
        Here(String),
        Large,
    }
    impl From<EventTooLarge> for Stop {
        fn from(_: EventTooLarge) -> Self {
            Self::Large
        }
    }
    let stopped = EventReader::new().feed(b"data: 1\n\ndata: 2\n\n", |_, data| Err(Stop::Here(data.to_owned())));
    assert_eq!(stopped, Err(Stop::Here("1".to_owned())));
    assert_eq!(EventReader::with_limit(3).feed(b"data: 1\n\n", |_, _| Ok(())), Err(Stop::Large));
}

#[test]
fn sse_event_in_one_chunk_is_not_copied() {
    let stream = b"event: a\ndata: where it lies\n\n";
    let handed = EventReader::new().feed(stream, |_, data| {
        assert!(stream.as_ptr_range().contains(&data.as_ptr()));
        Ok::<_, EventTooLarge>(())
    });
    assert_eq!(handed, Ok(()));
}

/// Written another way: the whole stream decoded, cut into lines, and read line by line.
fn reference(stream: &[u8]) -> Found {
    let decoded = String::from_utf8_lossy(stream).replace("\r\n", "\n").replace('\r', "\n");
    let decoded = decoded.strip_prefix('\u{feff}').unwrap_or(&decoded);
    let (mut found, mut name, mut data) = (Vec::new(), String::new(), Vec::new());
    let mut lines: Vec<_> = decoded.split('\n').collect();
    lines.pop();
    for line in lines {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                let event = (std::mem::take(&mut name), data.join("\n"));
                if !data.is_empty() {
                    found.push(event);
                }
                data.clear();
            }
            "data" => data.push(value.to_owned()),
            "event" => name = value.to_owned(),
            _ => {}
        }
    }
    found
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let words = ["data", "data:", "event: ", "event", "id: 1", "retry:", ":", ": ", " ", "x", "\u{feff}", "漢", "🦀", "{\"a\":1}"];
    let word = proptest::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec());
    let line_end = proptest::sample::select(vec!["\n", "\r", "\r\n", "\n\n", "\r\n\r\n"]).prop_map(|end| end.as_bytes().to_vec());
    let broken = proptest::collection::vec(any::<u8>(), 1..4);
    let long = (20_usize..100).prop_map(|length| vec![b'y'; length]);
    let part = prop_oneof![6 => word, 6 => line_end, 1 => broken, 1 => long];
    proptest::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn sse_chunking_does_not_change_events(stream in stream(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]);
        let in_pieces = read(pieces, MAX_EVENT_BYTES);
        prop_assert_eq!(&in_pieces, &whole(&stream));
        prop_assert_eq!(&in_pieces, &read(stream.chunks(1), MAX_EVENT_BYTES));
        prop_assert_eq!(in_pieces.0, reference(&stream));
    }

    #[test]
    fn sse_chunking_does_not_change_the_limit(stream in stream(), size in 1_usize..40) {
        prop_assert_eq!(read(stream.chunks(size), 24), read([&stream[..]], 24));
    }
}
