//! Maps whose keys are names of a configuration.
//!
//! A decision looks up a dozen names. The hash of the standard library withstands keys that an attacker chooses, which costs time; here
//! only the user's own files choose the keys, and a call can only look one up.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by names of a configuration.
pub(crate) type NameMap<V> = HashMap<String, V, BuildHasherDefault<NameHasher>>;

/// Hashes eight bytes at a time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NameHasher(u64);

impl NameHasher {
    fn add(&mut self, word: u64) {
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER);
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(byte.into());
    }

    /// The map takes its buckets from the low bits, and the multiplication mixes upwards.
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn names_spread_over_buckets() {
        let hash = |name: &str| BuildHasherDefault::<NameHasher>::default().hash_one(name);
        let names: Vec<String> = (0..4096).map(|number| format!("mcp__files__tool_{number}")).collect();
        let buckets: HashSet<u64> = names.iter().map(|name| hash(name) & 0xfff).collect();
        // A random function leaves 63 % of as many buckets filled.
        assert!(buckets.len() > 2300, "{}", buckets.len());
        let all: HashSet<u64> = names.iter().map(|name| hash(name)).collect();
        assert_eq!(all.len(), names.len());
        assert!(hash("") != hash("\0") && hash("abcdefgh") != hash("abcdefg") && hash("a") != hash("a\0"));
    }
}
