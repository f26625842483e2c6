//! Every shape, every way of cutting a stream, and what must be left alone.

use proptest::prelude::*;

use super::*;
use crate::stream::{HOLD, REACH};

const TOKEN: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
const BODY: [&str; 3] = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu",
    "+NMoSfm76oqFvAp8Gy0iz5sxjZmSnXyCdPEovGhLa0VzMaQ8s+CLOyS5==",
];

fn block(kind: &str) -> String {
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----", BODY.join("\n"))
}

fn is_left_alone(text: &str) -> bool {
    matches!(redact(text), Cow::Borrowed(_))
}

/// The sample as text, and what must become of it.
fn sample(hit: &str, name: &str) -> (String, String) {
    let mark = format!("[redacted:{name}]");
    let Some((before, rest)) = hit.split_once('«') else { return (hit.to_owned(), mark) };
    let (secret, after) = rest.split_once('»').unwrap();
    (format!("{before}{secret}{after}"), format!("{before}{mark}{after}"))
}

#[test]
fn each_shape_takes_its_hits_and_leaves_its_misses() {
    assert!(TOKENS.is_some() && KEYS.is_some(), "the patterns compile");
    for shape in SHAPES {
        for hit in shape.hits {
            let (text, clean) = sample(hit, shape.name);
            for (before, after) in [("", ""), ("before ", " after"), ("\"", "\""), ("key=(", ")\n")] {
                assert_eq!(redact(&format!("{before}{text}{after}")), format!("{before}{clean}{after}"));
            }
        }
        for miss in shape.misses {
            for text in [(*miss).to_owned(), format!("a {miss} b"), format!("https://example.com/{miss}?q=1"), format!("x='{miss}'")] {
                assert!(is_left_alone(&text), "{}: {text} became {}", shape.name, redact(&text));
            }
        }
    }
}

#[test]
fn a_word_begins_behind_escapes_and_colours_too() {
    let befores =
        [r"\n", r"\\n", r"\t", r"\x3d", r"\u003d", "%3D", "%20", "\u{1b}[0m", "\u{1b}[1;38;5;196m", r"\u001b[32m", "é", "=", ":", "@"];
    for before in befores {
        assert_eq!(redact(&format!("line{before}{TOKEN}")), format!("line{before}[redacted:github_token]"));
    }
    for before in ["n", "3D", "_", "0m", "u003d"] {
        assert!(is_left_alone(&format!("line{before}{TOKEN}")), "{before}");
    }
}

#[test]
fn words_are_no_secrets() {
    for words in ["authentication", "oauth2-code.flow_v2", "HTTP/2024", "tokenHandlerOptions", "YOUR_TOKEN", "", "-"] {
        assert!(is_words(words.as_bytes()), "{words}");
    }
    for secret in ["dXNlcjpwYXNz", "abcdefghijklmnop", "a1b2", "12345", "tOkEn", "e89b-12d3", "GetABTest"] {
        assert!(!is_words(secret.as_bytes()), "{secret}");
    }
}

#[test]
fn key_blocks_go_as_a_whole() {
    for kind in ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let block = block(kind);
        let headers = block.replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B2C3D\n\n", 1);
        let windows = headers.replace('\n', "\r\n");
        let (escaped, twice) = (block.replace('\n', r"\n"), headers.replace('\n', r"\\r\\n").replace('/', r"\/"));
        let (flat, strange) = (block.replace('\n', " "), block.replacen('\n', "\nThis one: (it has expired.)\n", 1));
        for text in [block, headers, windows, escaped, twice, flat, strange] {
            assert_eq!(redact(&format!("a\n{text}\nb")), "a\n[redacted:private_key]\nb", "{text}");
            assert_eq!(redact(&format!(r#"{{"key": "{text}\n", "b": 1}}"#)), r#"{"key": "[redacted:private_key]\n", "b": 1}"#, "{text}");
        }
    }
    assert!(is_left_alone(&block("CERTIFICATE")));
}

#[test]
fn key_blocks_are_seen_behind_what_tools_put_before_lines() {
    let gutters =
        ["    ", "\t", "+", "-", "> ", "# ", "// ", " * ", "  7  ", "  12\t", "12:", "9→", "  3 | ", "deploy/key.pem:12:", "key.pem-12-"];
    for gutter in gutters {
        let text = gutter.to_owned() + &block("RSA PRIVATE KEY").replace('\n', &format!("\n{gutter}"));
        assert_eq!(redact(&text), format!("{gutter}[redacted:private_key]"), "{text}");
        let text = text.replace("-----END RSA PRIVATE KEY-----", "this one is cut");
        assert_eq!(redact(&text), format!("{gutter}[redacted:private_key]\n{gutter}this one is cut"), "{text}");
    }
    for (before, after) in [("\"", "\\n\" +"), ("  '", "',"), ("\"", "\\n\""), ("'", "\\n' ."), ("", "\\n\\")] {
        let text = format!("{before}{}{after}\n", block("PRIVATE KEY").replace('\n', &format!("{after}\n{before}")));
        assert_eq!(redact(&text), format!("{before}[redacted:private_key]{after}\n"), "{text}");
    }
}

#[test]
fn a_key_without_an_end_goes_as_far_as_it_is_one() {
    let begin = "-----BEGIN PRIVATE KEY-----";
    let [first, second, third] = BODY;
    let cases = [
        (format!("x {begin}\n{first}\n{second}"), "x [redacted:private_key]"),
        (format!("x {begin}\n{first}\n{second}\n{third}\n"), "x [redacted:private_key]\n"),
        (format!("{begin}\n{first}\n{third}\n\n(cut here)\nfn main() {{}}\n"), "[redacted:private_key]\n\n(cut here)\nfn main() {}\n"),
        (format!("{begin}\nProc-Type: 4,ENCRYPTED\n\n{first}\nlet a = 1;\n"), "[redacted:private_key]\nlet a = 1;\n"),
        (format!("{begin}\n{first}\nreturn\n}}\n"), "[redacted:private_key]\nreturn\n}\n"),
        (format!("{begin}\n{first}\n{}", block("PRIVATE KEY")), "[redacted:private_key]\n[redacted:private_key]"),
        (format!(r#"{{"key": "{begin}\n{first}\n{second}", "b": "c d"}}"#), r#"{"key": "[redacted:private_key]", "b": "c d"}"#),
        (format!("{begin}\n{first}\nq1W2==\n(cut here)"), "[redacted:private_key]\n(cut here)"),
        (format!(r"{begin}\nProc-Type: 4,ENCRYPTED\n\n{first}\n{second}"), "[redacted:private_key]"),
        (format!("KEY={begin} {first} {second} {third}\nB=1\n"), "KEY=[redacted:private_key]\nB=1\n"),
    ];
    for (text, clean) in cases {
        assert_eq!(redact(&text), clean, "{text}");
    }
}

#[test]
fn a_marker_that_is_only_mentioned_stays_with_all_around_it() {
    let texts = [
        "const BEGIN: &str = \"-----BEGIN PRIVATE KEY-----\";\nconst END: &str = \"-----END PRIVATE KEY-----\";\nfn main() {}\n",
        "if text.contains(\"-----BEGIN PRIVATE KEY-----\") {\n    return\n}\n",
        "BEGIN = '-----BEGIN RSA PRIVATE KEY-----'\nEND = '-----END RSA PRIVATE KEY-----'\n",
        "begin = \"-----BEGIN PRIVATE KEY-----\\n\"\nfooter = \"\\n-----END PRIVATE KEY-----\"\nreturn\n",
        "[\n  \"-----BEGIN PRIVATE KEY-----\",\n  \"-----BEGIN EC PRIVATE KEY-----\",\n  \"-----END PRIVATE KEY-----\",\n]\n",
        "x = \"-----BEGIN PRIVATE KEY-----\" + body + \"-----END PRIVATE KEY-----\"\n",
        "expected -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- around it\n",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
        r"key='-----BEGIN PRIVATE KEY-----\nXXXX\nXXXX\n-----END PRIVATE KEY-----'",
        "-----BEGIN PRIVATE KEY-----\nYOUR KEY HERE\n-----END PRIVATE KEY-----\n",
        "expected -----BEGIN PRIVATE KEY----- but there was nothing",
        "-----BEGIN PRIVATE KEY-----",
        "[\"-----BEGIN PRIVATE KEY-----\",\n  sha256WithRSAEncryption,\n]\n",
    ];
    for text in texts {
        assert!(is_left_alone(text), "{text} became {}", redact(text));
    }
    let begin = "-----BEGIN PRIVATE KEY-----";
    for between in ["word\n".repeat(9), "let a = f(1);\n".to_owned()] {
        let text = format!("{begin}\n{between}e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n");
        assert!(is_left_alone(&text), "{text} became {}", redact(&text));
    }
}

fn streamed(text: &str, size: usize) -> String {
    let mut redactor = Redactor::default();
    let mut out = Vec::new();
    for piece in text.as_bytes().chunks(size) {
        let (first, then) = redactor.push(piece);
        out.extend(first.iter().chain(then.iter()));
        let (held, capacity) = (redactor.pending.len(), redactor.pending.capacity());
        assert!(held <= HOLD && capacity <= 4 * HOLD, "{held} bytes are held in {capacity}");
    }
    out.extend(redactor.finish());
    String::from_utf8(out).unwrap()
}

#[test]
fn any_way_of_cutting_a_stream_gives_the_same() {
    let key = block("RSA PRIVATE KEY");
    let escaped = key.replace('\n', r"\n");
    let text = format!(
        "one\ntoken {TOKEN}\n{key}\n{{\"a\": \"{escaped}\"}}\n-----BEGIN PRIVATE KEY-----\n{}\nof a cut key\n\
         Authorization: Basic dXNlcjpwYXNz\n\"-----BEGIN PRIVATE KEY-----\"\n12:{key}\ntail without newline sk-ant-api03-abcdefghijklmnop",
        BODY[0]
    );
    let whole = redact(&text).into_owned();
    assert_eq!(whole.matches("[redacted:").count(), 7, "{whole}");
    for size in 1..text.len() {
        assert_eq!(streamed(&text, size), whole, "pieces of {size}");
    }
}

#[test]
fn a_token_at_any_place_of_a_long_line_is_seen() {
    let key = block("PRIVATE KEY").replace('\n', r"\n");
    let fillers = ["task-ant-api03-abcdefghijklmnop ", "a1B2+c3/"];
    let secrets = [
        (format!("\"{TOKEN}\""), "\"[redacted:github_token]\"", 7),
        (";Authorization: Basic dXNlcjpwYXNz;".to_owned(), ";Authorization: Basic [redacted:authorization];", 7),
        (format!("\"{key}\""), "\"[redacted:private_key]\"", 61),
    ];
    for (filler, (secret, clean, step)) in fillers.iter().flat_map(|filler| secrets.iter().map(move |secret| (filler, secret))) {
        for (gap, step) in [(140, *step), (3 * REACH, 2999)] {
            let gap = filler.repeat(gap / filler.len());
            let count = 200_000 / (gap.len() + secret.len());
            // Each round moves all of them by a step; together they lie at every place.
            for shift in (0..gap.len() + secret.len()).step_by(step) {
                let line = |secret: &str| "x".repeat(shift) + &format!(" {secret}{gap}").repeat(count);
                assert!(streamed(&line(secret), 16 * 1024) == line(clean), "{secret} in {filler} moved by {shift}");
            }
        }
    }
}

#[test]
fn what_never_ends_is_passed_on_with_bounded_memory() {
    let count = 1 << 20;
    let plain = "x".repeat(count);
    for size in [16 * 1024, count] {
        assert!(streamed(&plain, size) == plain, "a line goes through whole");
    }
    let token = streamed(&format!("\"sk-ant-api03-{plain}"), 10_000);
    assert!(token.starts_with("\"[redacted:anthropic_key]x") && token.len() < count, "{} bytes", token.len());
    for line_break in ["\n", r"\n"] {
        let body = format!("{}{line_break}", BODY[0]).repeat(count / 64) + "q1W2==" + line_break;
        let key = streamed(&format!("a\n-----BEGIN PRIVATE KEY-----{line_break}{body}-----END PRIVATE KEY-----\nb"), 10_000);
        assert_eq!(key.replace("[redacted:private_key]", ""), "a\n\nb");
    }
}

#[test]
fn no_text_makes_the_search_slow() {
    let starts = "eyJ-".repeat(1000);
    assert_eq!(TOKENS.as_ref().unwrap().find(starts.as_bytes()).unwrap().range(), 0..starts.len(), "not tried once for each");
    let mut redactor = Redactor::default();
    redactor.push(b"-----BEGIN PRIVATE KEY-----\n");
    let mut looks = 0;
    for _ in 0..HOLD / 100 {
        let recheck_at = redactor.recheck_at;
        let line = format!("{}\n", BODY[0]);
        assert_eq!(redactor.push(line.as_bytes()), (Vec::new(), Cow::Borrowed(&b""[..])));
        looks += usize::from(redactor.recheck_at != recheck_at);
    }
    assert!((1..20).contains(&looks), "an open key was looked at {looks} times");
}

fn text_of_pieces() -> impl Strategy<Value = String> {
    let samples = SHAPES.iter().flat_map(|shape| shape.starts.iter().chain(shape.hits).chain(shape.misses));
    let between =
        ["\\", "n", "u003d", "%3D", "[", "1", ";", "m", " ", ": ", "_", "a", "0123456789abcdef", ".", "é", "\"", "\n", "\n\n", r"\n"];
    let keys = ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\nProc-Type: 4,ENCRYPTED\n", "some words here\n"];
    let pieces: Vec<String> = samples.chain(&between).chain(&keys).chain(&BODY).map(|piece| piece.replace(['«', '»'], "")).collect();
    let common = prop::sample::select([&between[..], &keys, &BODY].concat()).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![prop::sample::select(pieces), common], 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_cheap_scan_misses_nothing(text in text_of_pieces()) {
        let matches = TOKENS.as_ref().unwrap().is_match(text.as_bytes());
        prop_assert!(!matches || is_suspicious(text.as_bytes()));
    }

    #[test]
    fn no_border_between_pieces_changes_what_is_found(text in text_of_pieces(), size in 1..200_usize) {
        prop_assert_eq!(streamed(&text, size), redact(&text));
    }
}
