//! The key of a machine: who it is to the other one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use haft_text::hex;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 16;
/// Hexadecimal digits of a fingerprint.
const FINGERPRINT_DIGITS: usize = 32;
/// A larger file is none of ours.
const MAX_KEY_BYTES: u64 = 4096;

/// The public key of another machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PeerKey(pub(crate) Vec<u8>);

impl PeerKey {
    /// Length of a key.
    const BYTES: usize = 32;

    /// A key that arrived, if it can be one.
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() == Self::BYTES).then_some(Self(bytes))
    }

    /// A key as a file has it.
    pub fn from_hex(digits: &str) -> Option<Self> {
        Self::new(hex::decode(digits)?)
    }

    /// As a file has it.
    pub fn to_hex(&self) -> String {
        hex::encode(&self.0)
    }

    /// The id of the machine: it cannot be chosen.
    pub fn id(&self) -> String {
        hex::encode(digest(&SHA256, &self.0))[..ID_DIGITS].to_owned()
    }

    /// What the user carries to the other machine, so that it knows this one: too long to be met by chance or by search.
    pub fn fingerprint(&self) -> String {
        hex::encode(digest(&SHA256, &self.0))[..FINGERPRINT_DIGITS].to_owned()
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).is_ok()
    }
}

/// The key pair of this machine.
#[derive(Debug)]
pub struct MachineKey(Ed25519KeyPair);

impl MachineKey {
    /// The key in this file, which is made if it is missing; readable by the user alone.
    pub fn open(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.len() > MAX_KEY_BYTES => Err(unusable(path)),
            Ok(_) => Self::read(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(path),
            Err(error) => Err(error),
        }
    }

    fn read(path: &Path) -> io::Result<Self> {
        Ed25519KeyPair::from_pkcs8(&fs::read(path)?).map(Self).map_err(|_| unusable(path))
    }

    fn create(path: &Path) -> io::Result<Self> {
        let no_random = |_| io::Error::other("this machine gives no random numbers, so no key can be made");
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(no_random)?;
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Two processes that start at once must not have two keys: the name appears with its content, and the first one stays.
        let temporary = path.with_extension(format!("new-{}", std::process::id()));
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(document.as_ref())?;
        file.sync_all()?;
        let linked = fs::hard_link(&temporary, path);
        fs::remove_file(&temporary).ok();
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Self::read(path),
        }
    }

    /// What other machines know this one by.
    pub fn public(&self) -> PeerKey {
        PeerKey(self.0.public_key().as_ref().to_vec())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).as_ref().to_vec()
    }
}

fn unusable(path: &Path) -> io::Error {
    let advice = "Remove it, and pair again with `haft node pair`.";
    io::Error::new(io::ErrorKind::InvalidData, format!("{} is not a key of this machine. {advice}", path.display()))
}
