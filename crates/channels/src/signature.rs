//! Signatures of requests: HMAC-SHA256 as Slack and Standard Webhooks write it, Ed25519 as Discord does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haft_text::{base64, hex};
use ring::{digest, hmac, signature as ring_signature};

use crate::ChannelSecret;
use crate::driver::HookRequest;

/// How old a signed request may be; older ones are replays.
const MOST_AGE: Duration = Duration::from_mins(5);

/// SHA-256 as hex.
pub(crate) fn sha256(content: &[u8]) -> String {
    hex::encode(digest::digest(&digest::SHA256, content))
}

fn key(secret: &ChannelSecret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes())
}

/// The key of a webhook: `whsec_` announces that base64 follows, as the libraries of the specification write their secrets.
fn webhook_key(secret: &ChannelSecret) -> hmac::Key {
    let decoded = secret.expose().strip_prefix("whsec_").and_then(base64::decode_lenient);
    decoded.map_or_else(|| key(secret), |bytes| hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

/// The time of a request, if it is recent.
fn is_recent(timestamp: &str, now: SystemTime) -> bool {
    let Ok(seconds) = timestamp.parse::<u64>() else { return false };
    let Some(at) = UNIX_EPOCH.checked_add(Duration::from_secs(seconds)) else { return false };
    let age = now.duration_since(at).unwrap_or_else(|early| early.duration());
    age <= MOST_AGE
}

/// Slack: `v0=` and HMAC of `v0:timestamp:body`, as hex.
pub(crate) fn is_from_slack(request: &HookRequest, secret: &ChannelSecret) -> bool {
    let (Some(timestamp), Some(signature)) = (request.header("x-slack-request-timestamp"), request.header("x-slack-signature")) else {
        return false;
    };
    let Some(signature) = signature.strip_prefix("v0=").and_then(hex::decode) else { return false };
    let signed = [b"v0:", timestamp.as_bytes(), b":", &request.body].concat();
    is_recent(timestamp, request.at) && hmac::verify(&key(secret), &signed, &signature).is_ok()
}

/// Discord: Ed25519 of timestamp and body.
pub(crate) fn is_from_discord(request: &HookRequest, public_key: &str) -> bool {
    let (Some(timestamp), Some(signature)) = (request.header("x-signature-timestamp"), request.header("x-signature-ed25519")) else {
        return false;
    };
    let (Some(signature), Some(public_key)) = (hex::decode(signature), hex::decode(public_key)) else { return false };
    let signed = [timestamp.as_bytes(), &request.body].concat();
    let verifier = ring_signature::UnparsedPublicKey::new(&ring_signature::ED25519, public_key);
    is_recent(timestamp, request.at) && verifier.verify(&signed, &signature).is_ok()
}

/// Standard Webhooks: `v1,` and HMAC of `id.timestamp.body`, as base64.
pub(crate) fn sign_webhook(secret: &ChannelSecret, id: &str, timestamp: u64, body: &[u8]) -> String {
    let signed = [id.as_bytes(), b".", timestamp.to_string().as_bytes(), b".", body].concat();
    format!("v1,{}", base64::encode(hmac::sign(&webhook_key(secret), &signed).as_ref()))
}

/// The id of a signed webhook, if its signature is right and it is recent. One of several signatures is enough.
pub(crate) fn webhook_id<'a>(request: &'a HookRequest, secret: &ChannelSecret) -> Option<&'a str> {
    let (id, timestamp) = (request.header("webhook-id")?, request.header("webhook-timestamp")?);
    let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", &request.body].concat();
    let is_right = |signature: &str| {
        let decoded = signature.strip_prefix("v1,").and_then(base64::decode);
        decoded.is_some_and(|decoded| hmac::verify(&webhook_key(secret), &signed, &decoded).is_ok())
    };
    let is_signed = request.header("webhook-signature")?.split(' ').take(8).any(is_right);
    let is_id = !id.is_empty() && id.len() <= 200 && !id.contains('.');
    (is_signed && is_id && is_recent(timestamp, request.at)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)], body: &str, at: u64) -> HookRequest {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HookRequest { headers, body: body.as_bytes().to_vec(), at: UNIX_EPOCH + Duration::from_secs(at) }
    }

    /// The example of Slack's documentation on verifying requests.
    #[test]
    fn example_of_slack_is_right_and_every_change_is_wrong() {
        let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar\
                    &user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com\
                    %2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
        let secret = ChannelSecret::new("8f742231b10e8888abcd99yyyzzz85a5");
        let with = |time: &str, signature: &str, body: &str, at| {
            is_from_slack(&request(&[("x-slack-request-timestamp", time), ("x-slack-signature", signature)], body, at), &secret)
        };
        assert!(with("1531420618", signature, body, 1_531_420_700));
        assert!(!with("1531420618", signature, &format!("{body}x"), 1_531_420_700), "another body");
        assert!(!with("1531420619", signature, body, 1_531_420_700), "another time");
        assert!(!with("1531420618", &signature.replace('a', "b"), body, 1_531_420_700), "another signature");
        assert!(!with("1531420618", signature, body, 1_531_421_000), "a replay");
        assert!(!with("1531420618", signature, body, 1_531_420_000), "from the future");
        assert!(!with("", signature, body, 1_531_420_700) && !with("x", "v0=", body, 0));
        let twice = [("x-slack-request-timestamp", "1531420618"), ("x-slack-signature", signature), ("x-slack-signature", signature)];
        assert!(!is_from_slack(&request(&twice, body, 1_531_420_700), &secret), "two signatures");
        let other = ChannelSecret::new("another");
        let one = request(&[("x-slack-request-timestamp", "1531420618"), ("x-slack-signature", signature)], body, 1_531_420_700);
        assert!(!is_from_slack(&one, &other));
    }

    /// As the libraries of Standard Webhooks sign: the secret is base64 behind a prefix.
    #[test]
    fn secret_of_standard_webhooks_is_decoded() {
        let secret = ChannelSecret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signature = sign_webhook(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let plain = ChannelSecret::new("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        assert_ne!(sign_webhook(&plain, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#), signature);
    }

    #[test]
    fn webhook_with_the_right_signature_is_known_by_its_id() {
        let secret = ChannelSecret::new("k");
        let signature = sign_webhook(&secret, "msg_1", 1000, b"{}");
        let with = |id: &str, time: &str, signature: &str, body: &str, at| {
            let headers = [("webhook-id", id), ("webhook-timestamp", time), ("webhook-signature", signature)];
            webhook_id(&request(&headers, body, at), &secret).map(str::to_owned)
        };
        assert_eq!(with("msg_1", "1000", &signature, "{}", 1100), Some("msg_1".to_owned()));
        assert_eq!(with("msg_1", "1000", &format!("v1,AAAA v2,x {signature}"), "{}", 1100), Some("msg_1".to_owned()));
        for (id, time, signature, body, at) in [
            ("msg_2", "1000", signature.as_str(), "{}", 1100),
            ("msg_1", "1001", &signature, "{}", 1100),
            ("msg_1", "1000", &signature, "{ }", 1100),
            ("msg_1", "1000", "v1,", "{}", 1100),
            ("msg_1", "1000", "", "{}", 1100),
            ("msg_1", "1000", &signature, "{}", 1301),
            ("", "1000", &signature, "{}", 1100),
        ] {
            assert_eq!(with(id, time, signature, body, at), None, "{id} {time} {signature} {body} {at}");
        }
        // A dot in the id would let parts move between id and time.
        let moved = sign_webhook(&secret, "a.1000", 1000, b"{}");
        assert_eq!(with("a.1000", "1000", &moved, "{}", 1100), None);
    }

    #[test]
    fn requests_of_discord_are_verified() {
        use ring::signature::KeyPair;
        let pair = ring_signature::Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let public_key = hex::encode(pair.public_key().as_ref());
        let signature = hex::encode(pair.sign(b"1000{\"type\":1}").as_ref());
        let with = |time: &str, signature: &str, body: &str, key: &str| {
            is_from_discord(&request(&[("x-signature-timestamp", time), ("x-signature-ed25519", signature)], body, 1010), key)
        };
        assert!(with("1000", &signature, "{\"type\":1}", &public_key));
        assert!(!with("1001", &signature, "{\"type\":1}", &public_key));
        assert!(!with("1000", &signature, "{\"type\":2}", &public_key));
        assert!(!with("1000", "00", "{\"type\":1}", &public_key));
        assert!(!with("1000", &signature, "{\"type\":1}", "zz"));
    }
}
