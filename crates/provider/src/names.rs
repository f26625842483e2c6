//! Tool names on the wire: each fits the protocol and maps back to the original.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use crate::Protocol;

/// Length of the separator and the hash of a replaced name.
const SUFFIX_LENGTH: usize = 9;

/// Maps the tool names of one request to wire names and back.
///
/// A name that fits stays. Any other keeps its valid chars and gets a hash of the name, so the result does not depend on the other
/// tools or their order, and the prompt cache stays valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameMap {
    rule: NameRule,
    to_wire: HashMap<String, String>,
    from_wire: HashMap<String, String>,
}

impl NameMap {
    /// The map for the tools of a request.
    pub fn new(protocol: Protocol, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut map = Self { rule: NameRule::for_protocol(protocol), to_wire: HashMap::new(), from_wire: HashMap::new() };
        let names: BTreeSet<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        // Names that fit come first, so that no replaced name takes theirs.
        let (fitting, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| map.rule.fits(name));
        for name in fitting.into_iter().chain(others) {
            let wire = map.find_wire(&name).into_owned();
            map.from_wire.insert(wire.clone(), name.clone());
            map.to_wire.insert(name, wire);
        }
        map
    }

    /// The name on the wire. A name outside the list, such as that of an old call whose tool is gone, never gets the wire name of
    /// a listed one.
    pub fn wire<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        self.to_wire.get(name).map_or_else(|| self.find_wire(name), |wire| Cow::Borrowed(wire.as_str()))
    }

    /// The original of a wire name; an unknown name is returned unchanged.
    pub fn original(&self, wire: &str) -> String {
        self.from_wire.get(wire).map_or_else(|| wire.to_owned(), Clone::clone)
    }

    /// The first free candidate. Each salt gives another hash, so this ends.
    fn find_wire<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if self.rule.fits(name) && !self.from_wire.contains_key(name) {
            return Cow::Borrowed(name);
        }
        let mut salt = 0;
        loop {
            let candidate = self.rule.replacement(name, salt);
            if !self.from_wire.contains_key(&candidate) {
                return Cow::Owned(candidate);
            }
            salt += 1;
        }
    }
}

/// Rule of a protocol for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NameRule {
    length: usize,
    punctuation: &'static str,
}

impl NameRule {
    fn for_protocol(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Gemini => Self { length: 128, punctuation: "_-.:" },
            Protocol::OpenAi | Protocol::OpenAiResponses | Protocol::Anthropic => Self { length: 64, punctuation: "_-" },
        }
    }

    fn fits(self, name: &str) -> bool {
        name.len() <= self.length && name.starts_with(may_begin) && name.chars().all(|c| self.allows(c))
    }

    fn allows(self, c: char) -> bool {
        c.is_ascii_alphanumeric() || self.punctuation.contains(c)
    }

    fn replacement(self, name: &str, salt: u32) -> String {
        let hash = stable_hash(name, salt);
        let short = (hash ^ (hash >> 64)) & 0xffff_ffff;
        let lead = if name.starts_with(may_begin) { "" } else { "_" };
        let readable = name.chars().map(|c| if self.allows(c) { c } else { '_' });
        let prefix: String = lead.chars().chain(readable).take(self.length - SUFFIX_LENGTH).collect();
        format!("{prefix}_{short:08x}")
    }
}

fn may_begin(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// FNV-1a. It is stored in conversations and caches, so it must be the same in every version and on every machine, which the
/// standard library's hasher does not promise.
pub(crate) fn stable_hash(text: &str, salt: u32) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = text.bytes().chain(if salt == 0 { Vec::new() } else { salt.to_le_bytes().to_vec() });
    bytes.fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_fit_stay_and_others_get_a_hash() {
        let long = format!("mcp__server__{}", "x".repeat(200));
        let table = [
            (Protocol::OpenAi, "read_file", "read_file"),
            (Protocol::OpenAiResponses, "_x-1", "_x-1"),
            (Protocol::OpenAi, "mcp.files.read", "mcp_files_read_afd62ed5"),
            (Protocol::Gemini, "mcp.files:read-1", "mcp.files:read-1"),
            (Protocol::Anthropic, "9lives", "_9lives_"),
            (Protocol::Gemini, "-x", "_-x_"),
            (Protocol::Anthropic, "größe", "gr__e_"),
            (Protocol::Anthropic, "", "__"),
            (Protocol::OpenAi, long.as_str(), &format!("mcp__server__{}_", "x".repeat(42))),
            (Protocol::Gemini, long.as_str(), &format!("mcp__server__{}_", "x".repeat(106))),
        ];
        for (protocol, name, expected) in table {
            let map = NameMap::new(protocol, [name]);
            let wire = map.wire(name).into_owned();
            assert!(wire == expected || (wire.strip_prefix(expected).is_some_and(|hash| hash.len() == 8)), "{protocol} {name}: {wire}");
            assert_eq!(map.original(&wire), name, "{protocol}");
        }
    }

    #[test]
    fn replaced_name_never_collides_with_a_real_one() {
        let alone = NameMap::new(Protocol::OpenAi, ["a.b"]);
        let taken = alone.wire("a.b").into_owned();
        let map = NameMap::new(Protocol::OpenAi, ["a.b", taken.as_str()]);
        assert_eq!(map.wire(&taken), taken);
        assert_ne!(map.wire("a.b"), taken);
        assert_eq!((map.original(&taken), map.original(&map.wire("a.b"))), (taken.clone(), "a.b".to_owned()));
        // A tool that is gone must not be taken for one that is there.
        assert_ne!(alone.wire(&taken), taken);
        assert_eq!(alone.original("never_sent"), "never_sent");
    }

    #[test]
    fn stable_hash_matches_published_fnv_vectors() {
        // Test vectors of FNV-1a, 128 bits.
        assert_eq!(stable_hash("", 0), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(stable_hash("a", 0), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(stable_hash("foobar", 0), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof!["[a-c._:-]{0,3}", "[a-zA-Z0-9_.:/ é-]{0,20}", "[a-z.]{60,140}"]
    }

    proptest! {
        #[test]
        fn wire_names_fit_and_map_back(names in proptest::collection::vec(name(), 0..12), gone in name(), which in 0..4_usize) {
            let protocol = Protocol::ALL[which];
            let map = NameMap::new(protocol, &names);
            for name in &names {
                let wire = map.wire(name);
                prop_assert!(map.rule.fits(&wire), "{wire}");
                prop_assert_eq!(&map.original(&wire), name);
                prop_assert!(!map.rule.fits(name) || wire == *name);
            }
            let wire = map.wire(&gone);
            prop_assert!(map.rule.fits(&wire));
            prop_assert!(names.contains(&gone) || names.iter().all(|name| map.wire(name) != wire));
            prop_assert_eq!(NameMap::new(protocol, names.iter().rev()), map.clone(), "the order of the tools does not count");
        }
    }
}
