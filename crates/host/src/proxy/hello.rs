//! The first words of a client in a tunnel. Who was permitted to reach one host must not ask its server for another.
//!
//! Only the beginning of TLS is read, and nothing is decrypted. On the port of HTTPS nothing but TLS passes. TLS to a name must
//! name it, on every port. The name that counts is the outer one: with Encrypted Client Hello a provider that serves both names
//! could be asked for another one inside, which cannot be told from the decoy that browsers always send; nor can a different
//! `Host` within TLS. On other ports what is not TLS is checked if it is HTTP (`plain`), and passes otherwise.

use url::Host;

use super::ProxyTarget;

const HTTPS: u16 = 443;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// The largest record of TLS, with its head.
pub(super) const LONGEST: usize = HEAD + (1 << 14) + 256;
pub(super) const HEAD: usize = 5;

/// Whether these bytes begin TLS.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.first() == Some(&HANDSHAKE)
}

/// How long the record is that these bytes begin; `None` where they begin none.
pub(super) fn record(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [HANDSHAKE, 3, _, high, low, ..] => Some(HEAD + usize::from(u16::from_be_bytes([*high, *low]))),
        _ => None,
    }
}

/// Whether a client that begins so may continue.
pub(super) fn check(target: &ProxyTarget, bytes: &[u8]) -> Result<(), String> {
    match (begins(bytes), server_name(bytes)) {
        (true, Ok(Some(name))) if is_of(target, &name) => Ok(()),
        (true, Ok(Some(name))) => Err(format!("its handshake asks for '{name}'")),
        (true, Ok(None)) if !matches!(target.host, Host::Domain(_)) => Ok(()),
        (true, Ok(None)) => Err("its handshake names no host".to_owned()),
        (true, Err(())) => Err("its handshake cannot be read".to_owned()),
        (false, _) if target.port == HTTPS => Err("it does not speak TLS, and nothing else passes on port 443".to_owned()),
        (false, _) => Ok(()),
    }
}

fn is_of(target: &ProxyTarget, name: &str) -> bool {
    ProxyTarget::new(name, target.port).is_some_and(|named| named == *target)
}

/// The host that a handshake names; an error where it cannot be read whole.
fn server_name(bytes: &[u8]) -> Result<Option<String>, ()> {
    let mut record = HelloReader(bytes.get(HEAD..).ok_or(())?);
    if record.byte()? != CLIENT_HELLO {
        return Err(());
    }
    let mut hello = HelloReader(record.sized(3)?);
    // Version and random number, session, ciphers, compressions.
    hello.take(2 + 32)?;
    hello.sized(1)?;
    hello.sized(2)?;
    hello.sized(1)?;
    if hello.0.is_empty() {
        return Ok(None);
    }
    let mut extensions = HelloReader(hello.sized(2)?);
    let mut found = None;
    while !extensions.0.is_empty() {
        let (kind, content) = (extensions.number(2)?, extensions.sized(2)?);
        if kind == usize::from(SERVER_NAME) {
            // Two of them could be read in two ways.
            found = Some(found.map_or_else(|| name(content), |_: String| Err(()))?);
        }
    }
    Ok(found)
}

fn name(content: &[u8]) -> Result<String, ()> {
    let mut names = HelloReader(HelloReader(content).sized(2)?);
    if names.byte()? != HOST_NAME {
        return Err(());
    }
    let name = String::from_utf8(names.sized(2)?.to_vec()).map_err(|_| ())?;
    if names.0.is_empty() { Ok(name) } else { Err(()) }
}

struct HelloReader<'a>(&'a [u8]);

impl<'a> HelloReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ()> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(())?;
        self.0 = rest;
        Ok(taken)
    }
    fn byte(&mut self) -> Result<u8, ()> {
        self.take(1)?.first().copied().ok_or(())
    }
    fn number(&mut self, bytes: usize) -> Result<usize, ()> {
        Ok(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }
    /// What follows a length of so many bytes.
    fn sized(&mut self, bytes: usize) -> Result<&'a [u8], ()> {
        let count = self.number(bytes)?;
        self.take(count)
    }
}

/// A handshake that asks for these names.
#[cfg(test)]
pub(super) fn asking_for(names: &[&str]) -> Vec<u8> {
    let sized = |width: usize, content: &[u8]| [&u32::try_from(content.len()).unwrap().to_be_bytes()[4 - width..], content].concat();
    let extension = |name: &&str| {
        let list = sized(2, &[&[HOST_NAME][..], &sized(2, name.as_bytes())].concat());
        [&[0, 0][..], &sized(2, &list)].concat()
    };
    let other = [&[0, 43][..], &sized(2, &[2, 3, 4])].concat();
    let extensions = [other, names.iter().flat_map(extension).collect()].concat();
    let body = [&[3, 3][..], &[7; 32], &sized(1, &[1; 32]), &sized(2, &[0x13, 1]), &sized(1, &[0]), &sized(2, &extensions)].concat();
    let hello = [&[CLIENT_HELLO][..], &sized(3, &body)].concat();
    [&[HANDSHAKE, 3, 1][..], &sized(2, &hello)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d15_who_may_reach_one_host_may_not_ask_for_another() {
        let cases: [(&str, Vec<u8>, Option<&str>); 14] = [
            ("good.example:443", asking_for(&["good.example"]), None),
            ("good.example:443", asking_for(&["Good.Example"]), None),
            ("good.example:443", asking_for(&["evil.example"]), Some("asks for 'evil.example'")),
            ("good.example:443", asking_for(&["good.example.evil"]), Some("asks for")),
            ("good.example:443", asking_for(&["good.example\0.evil"]), Some("asks for")),
            ("good.example:443", asking_for(&[]), Some("names no host")),
            ("good.example:443", asking_for(&["good.example", "evil.example"]), Some("cannot be read")),
            ("good.example:443", b"GET / HTTP/1.1\r\n".to_vec(), Some("does not speak TLS")),
            ("good.example:443", asking_for(&["good.example"])[..60].to_vec(), Some("cannot be read")),
            ("good.example:8443", asking_for(&["evil.example"]), Some("asks for 'evil.example'")),
            ("good.example:8443", asking_for(&[]), Some("names no host")),
            ("good.example:22", b"SSH-2.0-x\r\n".to_vec(), None),
            ("127.0.0.1:443", asking_for(&[]), None),
            ("127.0.0.1:443", asking_for(&["evil.example"]), Some("asks for")),
        ];
        for (target, bytes, refused) in cases {
            let target = ProxyTarget::of_authority(target).unwrap();
            let checked = check(&target, &bytes).err().unwrap_or_default();
            assert!(checked.contains(refused.unwrap_or_default()) && checked.is_empty() == refused.is_none(), "{target}: {checked}");
        }
        assert_eq!(record(&asking_for(&["good.example"])), Some(asking_for(&["good.example"]).len()));
    }

    #[test]
    fn whatever_is_cut_off_is_refused_without_a_panic() {
        let (target, whole) = (ProxyTarget::of_authority("good.example:443").unwrap(), asking_for(&["good.example"]));
        for length in 0..whole.len() {
            assert!(check(&target, &whole[..length]).is_err(), "{length}");
        }
    }
}
