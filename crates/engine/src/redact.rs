//! Known shapes of secrets, taken out before anything is stored or shown to a model.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex, RegexBuilder};

/// One shape. The samples are tested: `hit` must be redacted, `miss` must not.
struct Shape {
    name: &'static str,
    pattern: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "samples are for the tests"))]
    hit: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "samples are for the tests"))]
    miss: &'static str,
}

/// Shapes begin with a literal wherever they can, so that clean text costs one scan. Longer prefixes come first.
const SHAPES: &[Shape] = &[
    Shape { name: "anthropic_key", pattern: r"sk-ant-[A-Za-z0-9_-]{16,}", hit: "sk-ant-api03-abcdefghijklmnop", miss: "sk-ant-short" },
    Shape {
        name: "openai_key",
        pattern: r"sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,}",
        hit: "sk-proj-abcdefghijklmnopqrst",
        miss: "sk-learn is a library",
    },
    Shape { name: "google_key", pattern: r"AIza[A-Za-z0-9_-]{35}", hit: "AIzaSyA0123456789abcdefghijklmnopqrstuv", miss: "AIzaTooShort" },
    Shape { name: "google_oauth", pattern: r"ya29\.[A-Za-z0-9_-]{20,}", hit: "ya29.a0AfH6SMBabcdefghijklmno", miss: "ya29.x" },
    Shape { name: "aws_key_id", pattern: r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", hit: "AKIAIOSFODNN7EXAMPLE", miss: "AKIAnope" },
    Shape {
        name: "github_token",
        pattern: r"gh[pousr]_[A-Za-z0-9]{36,}",
        hit: "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        miss: "ghp_short",
    },
    Shape {
        name: "github_pat",
        pattern: r"github_pat_[A-Za-z0-9_]{22,}",
        hit: "github_pat_11ABCDEFG0abcdefghijkl_mno",
        miss: "github_pat_x",
    },
    Shape { name: "gitlab_token", pattern: r"glpat-[A-Za-z0-9_-]{20,}", hit: "glpat-abcdefghij0123456789", miss: "glpat-x" },
    Shape { name: "slack_token", pattern: r"xox[abeoprs]-[A-Za-z0-9-]{10,}", hit: "xoxb-1234567890-abcdefghij", miss: "xoxb-1" },
    Shape { name: "stripe_key", pattern: r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", hit: "sk_live_abcdefghijklmnop", miss: "sk_live_x" },
    Shape {
        name: "hugging_face_token",
        pattern: r"hf_[A-Za-z0-9]{30,}",
        hit: "hf_abcdefghijklmnopqrstuvwxyz0123456789",
        miss: "hf_hub_download",
    },
    Shape { name: "npm_token", pattern: r"npm_[A-Za-z0-9]{36}", hit: "npm_0123456789abcdefghijklmnopqrstuvwxyz", miss: "npm_config_cache" },
    Shape { name: "groq_key", pattern: r"gsk_[A-Za-z0-9]{40,}", hit: "gsk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH", miss: "gsk_x" },
    Shape { name: "xai_key", pattern: r"xai-[A-Za-z0-9]{40,}", hit: "xai-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH", miss: "xai-x" },
    Shape {
        name: "json_web_token",
        pattern: r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        hit: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop",
        miss: "eyJhbGciOiJIUzI1NiJ9",
    },
    Shape {
        name: "authorization",
        pattern: r"(?i:authorization)(?P<keep>['\x22]?\s{0,8}[:=]\s{0,8}['\x22]?(?i:bearer|basic|token)\s{1,8})[A-Za-z0-9._~+/=-]{8,}",
        hit: "Authorization: Bearer abcdefgh12345678",
        miss: "Authorization: Bearer <token>",
    },
    Shape {
        name: "bearer",
        pattern: r"\b(?:Bearer|bearer)(?P<keep2> )[A-Za-z0-9._~+/=-]{20,}",
        hit: "Bearer abcdefghijklmnopqrstuvwx",
        miss: "Bearer of good news",
    },
];

// The patterns are constant and a test compiles them; if one ever did not compile, everything is withheld.
static ANY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let all: Vec<String> = SHAPES.iter().map(|shape| format!("(?P<{}>{})", shape.name, shape.pattern)).collect();
    compiled(&all.join("|"))
});
static KEY_BEGIN: LazyLock<Option<Regex>> = LazyLock::new(|| compiled("-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"));
static KEY_END: LazyLock<Option<Regex>> = LazyLock::new(|| compiled("-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"));

fn compiled(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

/// What stands in a secret's place.
fn mark(found: &Captures<'_>) -> Vec<u8> {
    let name = SHAPES.iter().find(|shape| found.name(shape.name).is_some()).map_or("secret", |shape| shape.name);
    match name {
        "authorization" => [b"Authorization".as_slice(), &found["keep"], b"[redacted:authorization]"].concat(),
        "bearer" => b"Bearer [redacted:bearer]".to_vec(),
        name => format!("[redacted:{name}]").into_bytes(),
    }
}

/// No shape is shorter than this.
const SHORTEST: usize = 16;

/// The text without secrets; borrowed when there are none.
pub fn redact(text: &str) -> Cow<'_, str> {
    if text.len() < SHORTEST {
        return Cow::Borrowed(text);
    }
    match clean(text.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn clean(bytes: &[u8]) -> Cow<'_, [u8]> {
    let (Some(any), Some(begin), Some(end)) = (ANY.as_ref(), KEY_BEGIN.as_ref(), KEY_END.as_ref()) else {
        return Cow::Owned(b"[withheld: the secret patterns could not be compiled]".to_vec());
    };
    match without_key_blocks(bytes, begin, end) {
        // Nearly always there is nothing to replace, and asking is far cheaper than replacing.
        Cow::Borrowed(bytes) if !any.is_match(bytes) => Cow::Borrowed(bytes),
        Cow::Borrowed(bytes) => any.replace_all(bytes, mark),
        Cow::Owned(bytes) => Cow::Owned(any.replace_all(&bytes, mark).into_owned()),
    }
}

/// Private key blocks, from their first line to their last, or to the end where the last is missing.
fn without_key_blocks<'a>(bytes: &'a [u8], begin: &Regex, end: &Regex) -> Cow<'a, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let mut rest = bytes;
    while let Some(found) = begin.find(rest) {
        let out = out.get_or_insert_default();
        out.extend_from_slice(&rest[..found.start()]);
        out.extend_from_slice(b"[redacted:private_key]");
        rest = end.find_at(rest, found.end()).map_or(&[], |last| &rest[last.end()..]);
    }
    match out {
        None => Cow::Borrowed(bytes),
        Some(mut out) => {
            out.extend_from_slice(rest);
            Cow::Owned(out)
        }
    }
}

/// How much of a stream is held back at most, so that a secret across two pieces is still seen.
const HOLD: usize = 64 * 1024 + 256;

/// Redacts a stream piece by piece, with bounded memory.
#[derive(Debug, Default)]
pub struct Redactor {
    held: Vec<u8>,
}

impl Redactor {
    /// Takes a piece, gives what is safe to pass on.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let cut = self.safe_length();
        let rest = self.held.split_off(cut);
        let ready = std::mem::replace(&mut self.held, rest);
        clean(&ready).into_owned()
    }

    /// Gives the rest.
    pub fn finish(self) -> Vec<u8> {
        clean(&self.held).into_owned()
    }

    /// Up to the last line break, because no shape but a key block spans lines, and before an open key block.
    fn safe_length(&self) -> usize {
        let line = self.held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let begin = KEY_BEGIN.as_ref().and_then(|begin| begin.find_iter(&self.held).last()).map(|found| found.start());
        let closed = |at: &usize| KEY_END.as_ref().is_some_and(|end| end.is_match(&self.held[*at..line.max(*at)]));
        let safe = begin.filter(|at| !closed(at)).map_or(line, |at| at.min(line));
        // A line, or a block, longer than any secret: pass on all but its tail.
        if self.held.len() - safe > HOLD { self.held.len() - HOLD / 2 } else { safe }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_takes_its_sample_and_leaves_the_other() {
        assert!(ANY.is_some(), "the patterns compile");
        for shape in SHAPES {
            let text = format!("before {} after", shape.hit);
            let clean = redact(&text);
            assert!(clean.contains(&format!("[redacted:{}]", shape.name)), "{}: {clean}", shape.name);
            assert!(clean.starts_with("before ") && clean.ends_with(" after"), "{clean}");
            assert!(matches!(redact(shape.miss), Cow::Borrowed(_)), "{}: {}", shape.name, redact(shape.miss));
        }
    }

    #[test]
    fn key_blocks_go_as_a_whole_also_when_cut_off() {
        let block = |kind: &str| format!("-----BEGIN {kind}-----\nMIIE\n-----END {kind}-----");
        for kind in ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
            assert_eq!(redact(&format!("a\n{}\nb", block(kind))), "a\n[redacted:private_key]\nb");
        }
        assert_eq!(redact("x -----BEGIN PRIVATE KEY-----\nMIIE"), "x [redacted:private_key]");
        assert!(matches!(redact(&block("CERTIFICATE")), Cow::Borrowed(_)));
    }

    #[test]
    fn clean_text_is_not_copied() {
        assert!(matches!(redact("nothing to see here"), Cow::Borrowed(_)));
    }

    #[test]
    fn any_way_of_cutting_a_stream_gives_the_same() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----";
        let text =
            format!("one\ntoken ghp_0123456789abcdefghijklmnopqrstuvwxyz\n{key}\ntail without newline sk-ant-api03-abcdefghijklmnop");
        let whole = redact(&text).into_owned();
        for size in 1..text.len() {
            let mut redactor = Redactor::default();
            let mut out = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                out.extend(redactor.push(piece));
            }
            out.extend(redactor.finish());
            assert_eq!(String::from_utf8(out).unwrap(), whole, "pieces of {size}");
        }
    }

    #[test]
    fn an_endless_line_is_passed_on_with_bounded_memory() {
        let mut redactor = Redactor::default();
        let mut total = 0;
        for _ in 0..64 {
            total += redactor.push(&[b'x'; 16 * 1024]).len();
            assert!(redactor.held.len() <= HOLD);
        }
        assert_eq!(total + redactor.finish().len(), 64 * 16 * 1024);
    }
}
