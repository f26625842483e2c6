//! How a connection begins: both machines prove their keys, and agree on keys for this connection alone.
//!
//! The node commits to its share before it sees that of the gateway, so neither a machine in the middle nor either end can choose the code
//! that both show. The signatures cover everything that was said. The node knows its gateway by its key: by the fingerprint in the address
//! when they are paired, by the whole key after that. The certificate of TLS says nothing of either.

use std::io;

use haft_text::{base64, display};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::digest::{Context, SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::cipher::{Decryptor, Encryptor, keys};
use crate::keys::{MachineKey, PeerKey};
use crate::link::{LinkReader, LinkWriter, OpenSocket};

/// The version of the protocol. Another one is refused with a sentence that names both.
pub const PROTOCOL: u32 = 1;
/// No message of a handshake is longer.
const MAX_BYTES: usize = 4096;
const NODE_PURPOSE: &[u8] = b"haft node v1 proof of the node";
const GATEWAY_PURPOSE: &[u8] = b"haft node v1 proof of the gateway";
const CODE_PURPOSE: &[u8] = b"haft node v1 code";
const NONCE: usize = 32;
/// Characters of a name that a node wants.
pub(crate) const MAX_NAME: usize = 64;

#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    protocol: u32,
    commitment: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Challenge {
    protocol: u32,
    gateway: String,
    share: String,
    nonce: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Proof {
    /// [`ProofBody`] as it was signed.
    body: String,
    signature: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct ProofBody {
    node: String,
    share: String,
    nonce: String,
    name: String,
}

/// The answer of the gateway.
#[derive(Debug, Serialize, Deserialize)]
struct Welcome {
    signature: String,
    is_paired: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// Why there is no connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The connection is lost, or what came is no handshake.
    Lost(io::Error),
    /// The other end is not the machine it should be, or does not speak our language.
    Refused(String),
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

impl std::fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lost(error) => write!(f, "the connection is lost: {error}"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

fn refused(why: impl Into<String>) -> HandshakeError {
    HandshakeError::Refused(why.into())
}

/// A connection whose ends know each other.
#[derive(Debug)]
pub(crate) struct Secured {
    pub(crate) reader: LinkReader,
    pub(crate) writer: LinkWriter,
    /// The other end.
    pub(crate) peer: PeerKey,
    /// The name that the node wants.
    pub(crate) name: String,
    /// What both ends show when they are paired.
    pub(crate) code: String,
    /// Whether the gateway knows the node.
    pub(crate) is_paired: bool,
}

/// What the gateway makes of a node that has proved its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PairingVerdict {
    Paired,
    Pending,
    Refused(String),
}

/// The node's side. `is_expected` says whether this is the gateway that the user means.
pub(crate) async fn as_node(
    mut socket: OpenSocket,
    key: &MachineKey,
    is_expected: impl Fn(&PeerKey) -> bool + Send,
    name: &str,
) -> Result<Secured, HandshakeError> {
    let (secret, share, nonce) = new_share()?;
    let commitment = base64::encode(&commitment(&share, &nonce));
    let hello = encode(&Hello { protocol: PROTOCOL, commitment });
    socket.writer.binary(&hello).await?;
    let challenge_bytes = message(&mut socket).await?;
    let challenge: Challenge = decode(&challenge_bytes)?;
    if challenge.protocol != PROTOCOL {
        return Err(other_protocol(challenge.protocol));
    }
    let gateway = key_of(&challenge.gateway)?;
    if !is_expected(&gateway) {
        return Err(refused(format!(
            "another gateway ({}) answers here than the one that this machine knows; nothing was sent to it. If the gateway is new, remove \
             the pairing with `haft node run --forget`, and use the address that `haft node pair` prints there",
            gateway.fingerprint()
        )));
    }
    let body = ProofBody {
        node: base64::encode(&key.public().0),
        share: base64::encode(&share),
        nonce: base64::encode(&nonce),
        name: name.to_owned(),
    };
    let body = String::from_utf8(encode(&body)).map_err(io::Error::other)?;
    let transcript = transcript(&[&hello, &challenge_bytes, body.as_bytes()]);
    let signature = base64::encode(&key.sign(&[NODE_PURPOSE, &transcript].concat()));
    socket.writer.binary(&encode(&Proof { body, signature })).await?;
    let welcome: Welcome = decode(&message(&mut socket).await?)?;
    if !gateway.verify(&[GATEWAY_PURPOSE, &transcript].concat(), &bytes_of(&welcome.signature)?) {
        return Err(refused("the gateway does not have the key that it says it has"));
    }
    if let Some(why) = welcome.refused {
        return Err(refused(display::escape_line(&display::shorten(&why, 400)).into_owned()));
    }
    let shared = agree(secret, &bytes_of(&challenge.share)?)?;
    let (to_gateway, to_node) = keys(&shared, &transcript)?;
    Ok(Secured {
        reader: LinkReader::new(socket.reader, Decryptor::new(to_node)),
        writer: LinkWriter { socket: socket.writer, encryptor: Encryptor::new(to_gateway) },
        peer: gateway,
        name: name.to_owned(),
        code: code(&transcript),
        is_paired: welcome.is_paired,
    })
}

/// The gateway's side. `admit` says what becomes of a node that has proved its key.
pub(crate) async fn as_gateway(
    mut socket: OpenSocket,
    key: &MachineKey,
    admit: impl FnOnce(&PeerKey, &str) -> PairingVerdict + Send,
) -> Result<Secured, HandshakeError> {
    let hello_bytes = message(&mut socket).await?;
    let hello: Hello = decode(&hello_bytes)?;
    let (secret, share, nonce) = new_share()?;
    let gateway = base64::encode(&key.public().0);
    let challenge = encode(&Challenge { protocol: PROTOCOL, gateway, share: base64::encode(&share), nonce: base64::encode(&nonce) });
    socket.writer.binary(&challenge).await?;
    if hello.protocol != PROTOCOL {
        return Err(other_protocol(hello.protocol));
    }
    let proof: Proof = decode(&message(&mut socket).await?)?;
    let body: ProofBody = decode(proof.body.as_bytes())?;
    let (node, node_share) = (key_of(&body.node)?, bytes_of(&body.share)?);
    if commitment(&node_share, &bytes_of(&body.nonce)?) != bytes_of(&hello.commitment)? {
        return Err(refused("the node has changed its share after it saw ours"));
    }
    let transcript = transcript(&[&hello_bytes, &challenge, proof.body.as_bytes()]);
    if !node.verify(&[NODE_PURPOSE, &transcript].concat(), &bytes_of(&proof.signature)?) {
        return Err(refused("the node does not have the key that it says it has"));
    }
    let name = clean_name(&body.name);
    let admission = admit(&node, &name);
    let signature = base64::encode(&key.sign(&[GATEWAY_PURPOSE, &transcript].concat()));
    let is_paired = admission == PairingVerdict::Paired;
    let why = if let PairingVerdict::Refused(why) = &admission { Some(why.clone()) } else { None };
    socket.writer.binary(&encode(&Welcome { signature, is_paired, refused: why })).await?;
    if let PairingVerdict::Refused(why) = admission {
        return Err(refused(why));
    }
    let (to_gateway, to_node) = keys(&agree(secret, &node_share)?, &transcript)?;
    Ok(Secured {
        reader: LinkReader::new(socket.reader, Decryptor::new(to_gateway)),
        writer: LinkWriter { socket: socket.writer, encryptor: Encryptor::new(to_node) },
        peer: node,
        name,
        code: code(&transcript),
        is_paired,
    })
}

fn other_protocol(theirs: u32) -> HandshakeError {
    refused(format!("the other machine speaks version {theirs} of the node protocol, and this one {PROTOCOL}; update the older Haft"))
}

fn new_share() -> io::Result<(EphemeralPrivateKey, Vec<u8>, Vec<u8>)> {
    let no_random = |_| io::Error::other("this machine gives no random numbers");
    let random = SystemRandom::new();
    let secret = EphemeralPrivateKey::generate(&X25519, &random).map_err(no_random)?;
    let share = secret.compute_public_key().map_err(no_random)?.as_ref().to_vec();
    let mut nonce = vec![0; NONCE];
    random.fill(&mut nonce).map_err(no_random)?;
    Ok((secret, share, nonce))
}

fn agree(secret: EphemeralPrivateKey, share: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    agree_ephemeral(secret, &UnparsedPublicKey::new(&X25519, share), <[u8]>::to_vec)
        .map_err(|_| refused("the other machine sent no usable share"))
}

fn commitment(share: &[u8], nonce: &[u8]) -> Vec<u8> {
    transcript(&[share, nonce])
}

/// A hash of everything that was said, in order, each part with its length.
fn transcript(parts: &[&[u8]]) -> Vec<u8> {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    context.finish().as_ref().to_vec()
}

/// Eight digits that both ends show: `4821-7730`.
fn code(transcript: &[u8]) -> String {
    let hash = digest(&SHA256, &[CODE_PURPOSE, transcript].concat());
    let number = hash.as_ref().iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte)) % 100_000_000;
    format!("{:04}-{:04}", number / 10_000, number % 10_000)
}

/// A name that a rule can have: lower case letters, digits, `-`, `_` and `.`.
pub(crate) fn clean_name(wanted: &str) -> String {
    let fits = |ch: char| if ch.is_alphanumeric() || matches!(ch, '-' | '_' | '.') { ch.to_ascii_lowercase() } else { '-' };
    let name: String = wanted.trim().chars().take(MAX_NAME).map(fits).filter(char::is_ascii).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    if name.is_empty() || RESERVED.contains(&name.as_str()) { format!("node-{name}").trim_end_matches('-').to_owned() } else { name }
}

/// Words with a meaning of their own in rules.
const RESERVED: &[&str] = &["this", "host", "to", "channel", "domain", "method", "http", "https"];

async fn message(socket: &mut OpenSocket) -> Result<Vec<u8>, HandshakeError> {
    let message = socket.message().await?;
    if message.len() > MAX_BYTES { Err(refused("the other machine sent a handshake that is too long")) } else { Ok(message) }
}

fn encode(message: &impl Serialize) -> Vec<u8> {
    // Texts and numbers alone: it cannot fail.
    serde_json::to_vec(message).unwrap_or_default()
}

fn decode<'de, T: Deserialize<'de>>(message: &'de [u8]) -> Result<T, HandshakeError> {
    serde_json::from_slice(message).map_err(|error| refused(format!("the other machine does not speak the node protocol: {error}")))
}

fn bytes_of(text: &str) -> Result<Vec<u8>, HandshakeError> {
    base64::decode(text).ok_or_else(|| refused("the other machine sent something that is no base64"))
}

fn key_of(text: &str) -> Result<PeerKey, HandshakeError> {
    PeerKey::new(bytes_of(text)?).ok_or_else(|| refused("the other machine sent something that is no key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_rules() {
        for (wanted, name) in [
            ("Laptop", "laptop"),
            ("my pc (office)", "my-pc--office"),
            ("  ", "node"),
            ("this", "node-this"),
            ("a:b*c\u{202e}d", "a-b-c-d"),
            ("…", "node"),
            ("host.example.org", "host.example.org"),
        ] {
            assert_eq!(clean_name(wanted), name, "{wanted:?}");
        }
        assert_eq!(clean_name(&"x".repeat(1_000_000)).len(), MAX_NAME);
    }

    #[test]
    fn code_has_eight_digits_and_depends_on_everything() {
        let codes: std::collections::HashSet<String> = (0..200_u32).map(|number| code(&transcript(&[&number.to_be_bytes()]))).collect();
        assert_eq!(codes.len(), 200);
        assert!(codes.iter().all(|code| code.len() == 9 && code.chars().filter(char::is_ascii_digit).count() == 8));
        assert_ne!(transcript(&[b"ab", b"c"]), transcript(&[b"a", b"bc"]));
    }
}
