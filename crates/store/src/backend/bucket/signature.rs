//! Signatures of requests, version 4 of Amazon's, which every S3-compatible server takes.

use std::fmt::Write;
use std::time::SystemTime;

use ring::digest::{SHA256, digest};
use ring::hmac;

/// Who signs, and for which region.
#[derive(Clone)]
pub(super) struct Signer {
    pub(super) access_key: String,
    pub(super) secret_key: String,
    pub(super) region: String,
}

/// A request as far as it is signed.
pub(super) struct SignedRequest<'a> {
    pub(super) method: &'a str,
    /// As it is sent.
    pub(super) path: &'a str,
    /// Names and values, not yet encoded, sorted by name.
    pub(super) query: &'a [(&'a str, &'a str)],
    /// Names in lower case, sorted.
    pub(super) headers: &'a [(&'a str, &'a str)],
    /// SHA-256 of the body, in hex.
    pub(super) body_hash: &'a str,
}

impl Signer {
    /// The value of the header `Authorization` for a time such as `20130524T000000Z`.
    pub(super) fn authorization(&self, request: &SignedRequest<'_>, time: &str) -> String {
        let day = time.get(..8).unwrap_or(time);
        let names = request.headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let headers = request.headers.iter().fold(String::new(), |mut text, (name, value)| {
            writeln!(text, "{name}:{}", value.trim()).ok();
            text
        });
        let SignedRequest { method, path, query, body_hash, .. } = request;
        let canonical = format!("{method}\n{path}\n{}\n{headers}\n{names}\n{body_hash}", encoded_query(query));
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(digest(&SHA256, canonical.as_bytes()).as_ref()));
        let key = [day, &self.region, "s3", "aws4_request"]
            .iter()
            .fold(format!("AWS4{}", self.secret_key).into_bytes(), |key, part| mac(&key, part.as_bytes()));
        let signature = hex(&mac(&key, text.as_bytes()));
        format!("AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}", self.access_key)
    }
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

pub(in crate::backend) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").ok();
        text
    })
}

/// Encodes what is not a letter, a digit or one of `-._~`; a slash stays in a path.
pub(super) fn encoded(text: &str, keeps_slash: bool) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (keeps_slash && byte == b'/') {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").ok();
        }
        out
    })
}

pub(super) fn encoded_query(query: &[(&str, &str)]) -> String {
    query.iter().map(|(name, value)| format!("{}={}", encoded(name, false), encoded(value, false))).collect::<Vec<_>>().join("&")
}

/// A time as it is signed: `20130524T000000Z`.
pub(super) fn signed_time(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let ((year, month, day), rest) = (date(seconds / 86_400), seconds % 86_400);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The date of a day counted from 1970. Years begin in March here, so that the day of a leap year is the last one.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// Seconds since 1970 of a time such as `2026-05-31T10:20:30.000Z`, as lists have it.
pub(super) fn parsed_time(text: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (shifted_year, shifted_month) = if month <= 2 { (year.checked_sub(1)?, month + 9) } else { (year, month.checked_sub(3)?) };
    let day_of_year = (153 * shifted_month + 2) / 5 + day.checked_sub(1)?;
    let days = shifted_year * 365 + shifted_year / 4 - shifted_year / 100 + shifted_year / 400 + day_of_year;
    Some(days.checked_sub(719_468)? * 86_400 + number(11..13)? * 3600 + number(14..16)? * 60 + number(17..19)?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    /// The examples of Amazon's documentation.
    #[test]
    fn signatures_are_those_of_the_documentation() {
        let signer = Signer {
            access_key: "AKIAIOSFODNN7EXAMPLE".into(),
            secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            region: "us-east-1".into(),
        };
        let host = ("host", "examplebucket.s3.amazonaws.com");
        let (hash, time) = (("x-amz-content-sha256", EMPTY), ("x-amz-date", "20130524T000000Z"));
        let cases = [
            (
                "/test.txt",
                vec![],
                vec![host, ("range", "bytes=0-9"), hash, time],
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            ("/", vec![("lifecycle", "")], vec![host, hash, time], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            (
                "/",
                vec![("max-keys", "2"), ("prefix", "J")],
                vec![host, hash, time],
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ];
        for (path, query, headers, expected) in cases {
            let request = SignedRequest { method: "GET", path, query: &query, headers: &headers, body_hash: EMPTY };
            let authorization = signer.authorization(&request, time.1);
            assert_eq!(authorization.rsplit_once("Signature=").map(|(_, signature)| signature), Some(expected), "{path}");
        }
    }

    #[test]
    fn times_come_back() {
        for (seconds, signed, listed) in [
            (0, "19700101T000000Z", "1970-01-01T00:00:00.000Z"),
            (1_369_353_600, "20130524T000000Z", "2013-05-24T00:00:00Z"),
            (951_827_696, "20000229T123456Z", "2000-02-29T12:34:56.000Z"),
            (1_798_761_599, "20261231T235959Z", "2026-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(signed_time(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), signed);
            assert_eq!(parsed_time(listed), Some(seconds), "{listed}");
        }
        assert_eq!(parsed_time("soon"), None);
    }
}
