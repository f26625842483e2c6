//! Text that nobody can guess.

use ring::rand::{SecureRandom, SystemRandom};

/// 256 bits in hexadecimal; `None` if the machine gives no random numbers.
pub(super) fn random_text() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(haft_text::hex::encode(bytes))
}
