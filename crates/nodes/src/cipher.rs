//! The sealed channel: every message is encrypted, authentic, and counted, so that none can be repeated, left out or moved.

use std::io;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

/// Bytes that encryption adds.
pub(crate) const OVERHEAD: usize = 16;

/// Encrypts what this end sends.
#[derive(Debug)]
pub(crate) struct Encryptor(Counted);

/// Decrypts what the other end sends.
#[derive(Debug)]
pub(crate) struct Decryptor(Counted);

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

impl Encryptor {
    pub(crate) fn new(key: LessSafeKey) -> Self {
        Self(Counted { key, next: 0 })
    }

    pub(crate) fn encrypt(&mut self, message: &mut Vec<u8>) -> io::Result<()> {
        let nonce = self.0.nonce();
        self.0.key.seal_in_place_append_tag(nonce, Aad::empty(), message).map_err(|_| io::Error::other("the message cannot be sealed"))
    }
}

impl Decryptor {
    pub(crate) fn new(key: LessSafeKey) -> Self {
        Self(Counted { key, next: 0 })
    }

    /// Opens the next message; one that was changed, repeated or left out cannot be opened, nor anything after it.
    pub(crate) fn decrypt(&mut self, mut message: Vec<u8>) -> io::Result<Vec<u8>> {
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

    fn ends() -> (Encryptor, Decryptor) {
        let (to_gateway, _) = keys(b"shared", b"transcript").unwrap();
        let (same, _) = keys(b"shared", b"transcript").unwrap();
        (Encryptor::new(to_gateway), Decryptor::new(same))
    }

    #[test]
    fn messages_arrive_in_order_and_nothing_else_opens() {
        let (mut encryptor, mut decryptor) = ends();
        let mut encrypted = |text: &str| {
            let mut message = text.as_bytes().to_vec();
            encryptor.encrypt(&mut message).unwrap();
            message
        };
        let (first, second, third) = (encrypted("one"), encrypted("two"), encrypted("three"));
        assert_eq!(decryptor.decrypt(first.clone()).unwrap(), b"one");
        assert!(decryptor.decrypt(first).is_err(), "a repeated message");
        // The number is used up: the channel is of no use any more.
        assert!(decryptor.decrypt(second.clone()).is_err());
        let (_, mut left_out) = ends();
        assert!(left_out.decrypt(second).is_err(), "a message without the one before it");
        let (_, mut changed) = ends();
        let mut bits = third;
        bits[0] ^= 1;
        assert!(changed.decrypt(bits).is_err());
        assert!(changed.decrypt(Vec::new()).is_err(), "an empty message");
    }

    #[test]
    fn each_direction_and_each_connection_has_its_own_key() {
        let (to_gateway, to_node) = keys(b"shared", b"transcript").unwrap();
        let (other, _) = keys(b"shared", b"another transcript").unwrap();
        let mut message = b"x".to_vec();
        Encryptor::new(to_gateway).encrypt(&mut message).unwrap();
        assert!(Decryptor::new(to_node).decrypt(message.clone()).is_err());
        assert!(Decryptor::new(other).decrypt(message).is_err());
    }
}
