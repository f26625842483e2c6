//! Numbers that nobody can guess: the proof that the client that ends a sign-in is the one that began it.

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

/// A verifier, and the challenge that is sent ahead of it (S256).
pub(super) struct CodeProof {
    pub(super) verifier: String,
    pub(super) challenge: String,
}

impl CodeProof {
    pub(super) fn new() -> Result<Self, String> {
        let verifier = random()?;
        let challenge = base64_url(digest(&SHA256, verifier.as_bytes()).as_ref());
        Ok(Self { verifier, challenge })
    }
}

/// 256 bits as text.
pub(super) fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "this machine gives no random numbers".to_owned())?;
    Ok(base64_url(&bytes))
}

fn base64_url(bytes: &[u8]) -> String {
    haft_text::base64::encode(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_is_that_of_the_standard() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(base64_url(digest(&SHA256, verifier.as_bytes()).as_ref()), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (CodeProof::new().unwrap(), CodeProof::new().unwrap());
        assert!(one.verifier != other.verifier && one.verifier.len() == 43 && one.challenge.len() == 43);
    }
}
