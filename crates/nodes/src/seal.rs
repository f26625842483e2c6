//! The sealed channel: every message is encrypted, authentic, and counted, so that none can be repeated, left out or moved.

use std::io;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

/// Bytes that a seal adds.
pub(crate) const OVERHEAD: usize = 16;

/// Seals what this end sends.
#[derive(Debug)]
pub(crate) struct Sealer(Counted);

/// Opens what the other end sends.
#[derive(Debug)]
pub(crate) struct Opener(Counted);

#[derive(Debug)]
struct Counted {
    key: LessSafeKey,
    next: u64,
}

impl Counted {
    /// A number is used once: with 2^64 of them no connection comes to their end.
    fn nonce(&mut self) -> Nonce {
        let mut bytes = [0; NONCE_LEN];
        bytes[NONCE_LEN - 8..].copy_from_slice(&self.next.to_be_bytes());
        self.next += 1;
        Nonce::assume_unique_for_key(bytes)
    }
}

/// The two keys of a connection: to the gateway, and to the node.
pub(crate) fn keys(shared: &[u8], transcript: &[u8]) -> io::Result<(LessSafeKey, LessSafeKey)> {
    let secret = Salt::new(HKDF_SHA256, transcript).extract(shared);
    let key = |purpose: &[u8]| {
        let info = [purpose];
        let okm = secret.expand(&info, &CHACHA20_POLY1305).map_err(|_| io::Error::other("no key can be derived"))?;
        Ok::<_, io::Error>(LessSafeKey::new(UnboundKey::from(okm)))
    };
    Ok((key(b"haft node v1 to gateway")?, key(b"haft node v1 to node")?))
}

impl Sealer {
    pub(crate) fn new(key: LessSafeKey) -> Self {
        Self(Counted { key, next: 0 })
    }

    pub(crate) fn seal(&mut self, message: &mut Vec<u8>) -> io::Result<()> {
        let nonce = self.0.nonce();
        self.0.key.seal_in_place_append_tag(nonce, Aad::empty(), message).map_err(|_| io::Error::other("the message cannot be sealed"))
    }
}

impl Opener {
    pub(crate) fn new(key: LessSafeKey) -> Self {
        Self(Counted { key, next: 0 })
    }

    /// Opens the next message; one that was changed, repeated or left out cannot be opened, nor anything after it.
    pub(crate) fn open(&mut self, mut message: Vec<u8>) -> io::Result<Vec<u8>> {
        let nonce = self.0.nonce();
        let broken = |_| io::Error::new(io::ErrorKind::InvalidData, "a message was changed, repeated or left out on its way");
        let length = self.0.key.open_in_place(nonce, Aad::empty(), &mut message).map_err(broken)?.len();
        message.truncate(length);
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> (Sealer, Opener) {
        let (to_gateway, _) = keys(b"shared", b"transcript").unwrap();
        let (same, _) = keys(b"shared", b"transcript").unwrap();
        (Sealer::new(to_gateway), Opener::new(same))
    }

    #[test]
    fn messages_arrive_in_order_and_nothing_else_opens() {
        let (mut sealer, mut opener) = ends();
        let mut seal = |text: &str| {
            let mut message = text.as_bytes().to_vec();
            sealer.seal(&mut message).unwrap();
            message
        };
        let (first, second, third) = (seal("one"), seal("two"), seal("three"));
        assert_eq!(opener.open(first.clone()).unwrap(), b"one");
        assert!(opener.open(first).is_err(), "a repeated message");
        // The number is used up: the channel is of no use any more.
        assert!(opener.open(second.clone()).is_err());
        let (_, mut left_out) = ends();
        assert!(left_out.open(second).is_err(), "a message without the one before it");
        let (_, mut changed) = ends();
        let mut bits = third;
        bits[0] ^= 1;
        assert!(changed.open(bits).is_err());
        assert!(changed.open(Vec::new()).is_err(), "an empty message");
    }

    #[test]
    fn each_direction_and_each_connection_has_its_own_key() {
        let (to_gateway, to_node) = keys(b"shared", b"transcript").unwrap();
        let (other, _) = keys(b"shared", b"another transcript").unwrap();
        let mut message = b"x".to_vec();
        Sealer::new(to_gateway).seal(&mut message).unwrap();
        assert!(Opener::new(to_node).open(message.clone()).is_err());
        assert!(Opener::new(other).open(message).is_err());
    }
}
