//! A mail that came in: its headers and its text. Hostile until its server has verified it.

use haft_extract::{Style, read_page};
use haft_text::base64;

/// Parts within parts that are looked into.
const MOST_DEPTH: usize = 4;
/// Parts of one level.
const MOST_PARTS: usize = 50;

/// Headers and content of one part.
type LetterPart = (Vec<(String, String)>, Vec<u8>);

/// A mail.
#[derive(Debug)]
pub(super) struct Letter {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Letter {
    pub(super) fn new(header: &[u8], body: &[u8]) -> Self {
        Self { headers: headers(&String::from_utf8_lossy(header)), body: body.to_vec() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The one address of the sender, in lower case. Two are none.
    pub(super) fn from(&self) -> Option<String> {
        let mut all = self.headers.iter().filter(|(name, _)| name == "from");
        let (_, from) = all.next()?;
        if all.next().is_some() {
            return None;
        }
        let address = match (from.rfind('<'), from.rfind('>')) {
            (Some(begin), Some(end)) if begin < end && from[end + 1..].trim().is_empty() => &from[begin + 1..end],
            (None, None) => from.trim(),
            _ => return None,
        };
        let (local, domain) = address.split_once('@')?;
        let is_address = !local.is_empty()
            && domain.contains('.')
            && !address.chars().any(|ch| ch.is_whitespace() || ",;<>\"()@".contains(ch) && ch != '@');
        (is_address && !domain.contains('@')).then(|| address.to_ascii_lowercase())
    }

    pub(super) fn id(&self) -> Option<String> {
        self.header("message-id").map(|id| haft_text::truncate::first_chars(id.trim(), 200).to_owned()).filter(|id| !id.is_empty())
    }

    pub(super) fn date(&self) -> Option<String> {
        let parsed = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(self.header("date")?.trim());
        parsed.ok().map(|time| time.to_string())
    }

    pub(super) fn subject(&self) -> String {
        self.header("subject").map(decode_words).unwrap_or_default()
    }

    /// Whether a program has written it by itself, such as a notice of absence or a list: that is not answered (RFC 3834).
    pub(super) fn is_automatic(&self) -> bool {
        let says = |name: &str| self.header(name).map(|value| value.split([';', ' ']).next().unwrap_or_default().to_ascii_lowercase());
        says("auto-submitted").is_some_and(|word| word != "no")
            || says("precedence").is_some_and(|word| ["bulk", "list", "junk", "auto_reply"].contains(&word.as_str()))
            || self.header("list-id").is_some()
    }

    /// Whether the trusted server says, in the header that it put on top, that the domain of the sender vouches for the mail.
    pub(super) fn is_verified(&self, server: &str) -> bool {
        let Some(results) = self.header("authentication-results") else { return false };
        let (by, results) = results.split_once(';').unwrap_or((results, ""));
        let is_trusted = by.split_ascii_whitespace().next().is_some_and(|by| !server.is_empty() && by.eq_ignore_ascii_case(server));
        is_trusted
            && without_comments(results)
                .split(';')
                .any(|result| result.split_ascii_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("dmarc=pass")))
    }

    /// The first part that is plain text; of a mail that has none, what can be read of its HTML.
    pub(super) fn text(&self) -> String {
        let part = |kind| part_text(&self.headers, &self.body, kind, 0).filter(|text| !text.trim().is_empty());
        let text = part(TextKind::Plain).or_else(|| Some(read_page(&part(TextKind::Html)?, "", Style::Text).content));
        text.unwrap_or_default().trim().to_owned()
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Names in lower case; lines that continue are put together.
fn headers(text: &str) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for line in text.lines().take(2_000) {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    headers
}

/// Words in parentheses are for people, and could say `dmarc=pass`.
fn without_comments(text: &str) -> String {
    let mut depth = 0_usize;
    let mut out = String::new();
    for ch in text.chars() {
        match ch {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ch if depth == 0 => out.push(ch),
            _ => {}
        }
    }
    out
}

/// The kind of a part.
#[derive(Debug, Clone, Copy)]
enum TextKind {
    Plain,
    Html,
}

impl TextKind {
    const fn media_type(self) -> &'static str {
        match self {
            Self::Plain => "text/plain",
            Self::Html => "text/html",
        }
    }
}

/// The first part of a kind.
fn part_text(headers: &[(String, String)], body: &[u8], wanted: TextKind, depth: usize) -> Option<String> {
    let kind = find(headers, "content-type").unwrap_or("text/plain").to_owned();
    let lower = kind.to_ascii_lowercase();
    if lower.starts_with("multipart/") {
        let boundary = parameter(&kind, "boundary").filter(|_| depth < MOST_DEPTH)?;
        return parts(body, &boundary).into_iter().find_map(|(headers, body)| part_text(&headers, &body, wanted, depth + 1));
    }
    if !lower.starts_with(wanted.media_type()) || find(headers, "content-disposition").is_some_and(|value| value.starts_with("attachment"))
    {
        return None;
    }
    let decoded = match find(headers, "content-transfer-encoding").unwrap_or_default().to_ascii_lowercase().as_str() {
        "base64" => base64::decode_lenient(&String::from_utf8_lossy(body))?,
        "quoted-printable" => quoted_printable(body),
        _ => body.to_vec(),
    };
    Some(in_charset(&decoded, parameter(&kind, "charset").as_deref()))
}

/// Bytes as text; without a charset they are UTF-8.
fn in_charset(bytes: &[u8], charset: Option<&str>) -> String {
    haft_extract::decode(bytes, Some(charset.unwrap_or("utf-8"))).0.into_owned()
}

fn parameter(value: &str, name: &str) -> Option<String> {
    let mut parameters = value.split(';').skip(1).filter_map(|part| part.split_once('='));
    let (_, found) = parameters.find(|(key, _)| key.trim().eq_ignore_ascii_case(name))?;
    Some(found.trim().trim_matches('"').to_owned()).filter(|found| !found.is_empty())
}

/// The parts between lines `--boundary`.
fn parts(body: &[u8], boundary: &str) -> Vec<LetterPart> {
    let text = String::from_utf8_lossy(body);
    let mark = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut current: Option<Vec<&str>> = None;
    for line in text.lines() {
        let is_mark = line.trim_end().strip_prefix(&mark);
        match is_mark {
            Some(rest) if rest.is_empty() || rest == "--" => {
                parts.extend(current.take().map(|lines| part(&lines)));
                if rest == "--" || parts.len() >= MOST_PARTS {
                    return parts;
                }
                current = Some(Vec::new());
            }
            _ => current.iter_mut().for_each(|lines| lines.push(line)),
        }
    }
    // A text that was cut off has no last mark.
    parts.extend(current.map(|lines| part(&lines)));
    parts
}

fn part(lines: &[&str]) -> LetterPart {
    let end = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
    let body = lines.get(end + 1..).unwrap_or_default().join("\n");
    (headers(&lines[..end].join("\n")), body.into_bytes())
}

fn quoted_printable(body: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(body.len()), body);
    while let [first, after @ ..] = rest {
        let skipped = match (first, after) {
            (b'=', [b'\r', b'\n', ..]) => 2,
            (b'=', [b'\n', ..]) => 1,
            (b'=', [high, low, ..]) => {
                let decoded = haft_text::hex::decode(&String::from_utf8_lossy(&[*high, *low])).and_then(|bytes| bytes.first().copied());
                out.push(decoded.unwrap_or(*first));
                if decoded.is_some() { 2 } else { 0 }
            }
            _ => {
                out.push(*first);
                0
            }
        };
        rest = &after[skipped..];
    }
    out
}

/// `=?utf-8?B?…?=` and `=?utf-8?Q?…?=`.
fn decode_words(text: &str) -> String {
    let (mut out, mut is_after_word) = (String::new(), false);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("=?") {
        let mut parts = after.splitn(4, '?');
        let (Some(charset), Some(encoding), Some(word), Some(end)) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            out.push_str(before);
            out.push_str("=?");
            (rest, is_after_word) = (after, false);
            continue;
        };
        // Blanks between two words are there because a line has only so many characters.
        if !(is_after_word && before.trim().is_empty()) {
            out.push_str(before);
        }
        let decoded = match encoding {
            "B" | "b" => base64::decode_lenient(word).unwrap_or_default(),
            _ => quoted_printable(word.replace('_', " ").as_bytes()),
        };
        out.push_str(&in_charset(&decoded, Some(charset)));
        (rest, is_after_word) = (end.strip_prefix('=').unwrap_or(end), true);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(header: &str, body: &str) -> Letter {
        Letter::new(header.as_bytes(), body.as_bytes())
    }

    #[test]
    fn sender_is_one_address_or_none() {
        for (from, expected) in [
            ("From: Ann <Ann@Example.org>", Some("ann@example.org")),
            ("From: ann@example.org", Some("ann@example.org")),
            ("From: \"boss@example.org\" <eve@evil.org>", Some("eve@evil.org")),
            ("From: ann@example.org\r\nFrom: eve@evil.org", None),
            ("From: ann@example.org, eve@evil.org", None),
            ("From: <ann@example.org> eve@evil.org", None),
            ("From: <ann@example.org@evil.org>", None),
            ("From: ann", None),
            ("", None),
        ] {
            assert_eq!(letter(from, "").from().as_deref(), expected, "{from}");
        }
    }

    #[test]
    fn only_the_topmost_result_of_the_trusted_server_counts() {
        for (header, expected) in [
            ("Authentication-Results: mx.example.org; spf=pass; dmarc=pass (p=none) header.from=a.org", true),
            ("Authentication-Results: MX.example.org 1;\r\n dkim=pass;\r\n dmarc=pass", true),
            ("Authentication-Results: mx.example.org; dmarc=fail", false),
            ("Authentication-Results: mx.example.org; dmarc=none (dmarc=pass; dmarc=pass)", false),
            ("Authentication-Results: mx.example.org; spf=pass reason=\"; dmarc=passed\"", false),
            ("Authentication-Results: evil.org; dmarc=pass", false),
            ("Authentication-Results: mx.example.org; dmarc=fail\r\nAuthentication-Results: mx.example.org; dmarc=pass", false),
            ("Subject: Authentication-Results: mx.example.org; dmarc=pass", false),
            ("", false),
        ] {
            assert_eq!(letter(header, "").is_verified("mx.example.org"), expected, "{header}");
        }
        assert!(!letter("Authentication-Results: ; dmarc=pass", "").is_verified(""));
    }

    #[test]
    fn what_programs_write_by_themselves_is_known() {
        for (header, expected) in [
            ("Auto-Submitted: auto-replied (vacation)", true),
            ("Auto-Submitted: Auto-Generated; x=y", true),
            ("Precedence: bulk", true),
            ("List-Id: <rust.example.org>", true),
            ("Auto-Submitted: no", false),
            ("Precedence: first-class", false),
            ("Subject: Auto-Submitted: auto-replied", false),
            ("", false),
        ] {
            assert_eq!(letter(header, "").is_automatic(), expected, "{header}");
        }
    }

    #[test]
    fn text_is_decoded_from_its_part() {
        assert_eq!(letter("Content-Type: text/plain", "hello\r\n").text(), "hello");
        assert_eq!(letter("Content-Transfer-Encoding: quoted-printable", "Gr=C3=BC=\r\n=C3=9Fe =zz").text(), "Grüße =zz");
        assert_eq!(letter("Content-Transfer-Encoding: base64", "R3LDvMOf\r\nZQ==").text(), "Grüße");
        assert_eq!(Letter::new(b"Content-Type: text/plain; charset=iso-8859-1", b"Gr\xfc\xdfe").text(), "Grüße");
        let mixed = "--x\r\nContent-Type: text/html\r\n\r\n<b>no</b>\r\n--x\r\nContent-Type: multipart/alternative; boundary=\"y\"\r\n\r\n--y\r\n\r\nyes\r\n--y--\r\n--x--\r\n";
        assert_eq!(letter("Content-Type: multipart/mixed; boundary=x", mixed).text(), "yes");
        assert_eq!(letter("Content-Type: text/html", "<style>p{}</style><p>Call <b>me</b></p><p>now</p>").text(), "Call me\n\nnow");
        let empty = "--x\r\nContent-Type: text/plain\r\n\r\n \r\n--x\r\nContent-Type: text/html\r\n\r\n<p>yes</p>\r\n--x--\r\n";
        assert_eq!(letter("Content-Type: multipart/alternative; boundary=x", empty).text(), "yes");
        assert_eq!(Letter::new(b"Content-Type: text/plain; charset=koi8-r", b"\xf0\xd2\xc9").text(), "\u{41f}\u{440}\u{438}");
        assert_eq!(letter("Content-Type: multipart/mixed", "x").text(), "");
        // Each part names itself: the depth is bounded.
        let nested = "--x\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n".repeat(50);
        assert_eq!(letter("Content-Type: multipart/mixed; boundary=x", &nested).text(), "");
    }

    #[test]
    fn subjects_and_dates_are_read() {
        let letter = letter(
            "Subject: =?utf-8?Q?Gr=C3=BC_e?= and =?UTF-8?B?w58=?= =?x\r\nDate: Tue, 1 Jul 2025 10:52:37 +0200\r\nMessage-ID: <1@x>",
            "",
        );
        assert_eq!(letter.subject(), "Grü e and ß =?x");
        assert_eq!(letter.date().as_deref(), Some("2025-07-01T08:52:37Z"));
        assert_eq!(letter.id().as_deref(), Some("<1@x>"));
        for (subject, expected) in [
            ("=?iso-8859-1?Q?Gr=FC=DFe?=", "Gr\u{fc}\u{df}e"),
            ("=?utf-8?Q?Gr=C3=BC?= =?utf-8?Q?=C3=9Fe?= you", "Gr\u{fc}\u{df}e you"),
            ("=?no-such?Q?plain?=", "plain"),
        ] {
            assert_eq!(Letter::new(format!("Subject: {subject}").as_bytes(), b"").subject(), expected);
        }
    }
}
