//! Known providers and the limits of their models.

use crate::Protocol;

/// A provider that needs no configuration but its key.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct KnownProvider {
    /// Its name.
    pub name: &'static str,
    /// Its protocol.
    pub protocol: Protocol,
    /// Where it answers.
    pub base_url: &'static str,
    /// The environment variable of its key.
    pub key: &'static str,
    /// The default model.
    pub default_model: &'static str,
}

/// All of them.
pub const KNOWN: &[KnownProvider] = &[
    KnownProvider {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        key: "ANTHROPIC_API_KEY",
        default_model: "claude-sonnet-4-5",
    },
    KnownProvider {
        name: "openai",
        protocol: Protocol::OpenAiResponses,
        base_url: "https://api.openai.com/v1",
        key: "OPENAI_API_KEY",
        default_model: "gpt-5.1",
    },
    KnownProvider {
        name: "gemini",
        protocol: Protocol::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key: "GEMINI_API_KEY",
        default_model: "gemini-2.5-pro",
    },
];

/// The provider of this name.
pub fn provider(name: &str) -> Option<&'static KnownProvider> {
    KNOWN.iter().find(|known| known.name == name)
}

/// Context window and longest answer, by prefix of the model name. Some models allow longer answers.
#[rustfmt::skip] // one family a line
const LIMITS: &[(&str, u64, u32)] = &[
    ("claude-3-5", 200_000, 8_192),
    ("claude-3-", 200_000, 4_096),
    ("claude-", 200_000, 32_000),
    ("gpt-5", 400_000, 128_000),
    ("gpt-4.1", 1_047_576, 32_768),
    ("gpt-4o", 128_000, 16_384),
    ("o3", 200_000, 100_000),
    ("o4-mini", 200_000, 100_000),
    ("gemini-3", 1_048_576, 65_536),
    ("gemini-2.5", 1_048_576, 65_536),
    ("gemini-2.0", 1_048_576, 8_192),
];

/// Context window and longest answer of a model. Gateways put the maker before the name.
pub fn limits(model: &str) -> Option<(u64, u32)> {
    let name = model.rsplit('/').next().unwrap_or(model);
    LIMITS.iter().find(|(prefix, ..)| name.starts_with(prefix)).map(|(_, window, output)| (*window, *output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_models_have_limits() {
        for (model, expected) in [
            ("claude-sonnet-4-5", Some((200_000, 32_000))),
            ("claude-3-5-haiku-latest", Some((200_000, 8_192))),
            ("gpt-5.1", Some((400_000, 128_000))),
            ("gemini-2.5-pro", Some((1_048_576, 65_536))),
            ("openai/gpt-4o-mini", Some((128_000, 16_384))),
            ("qwen3", None),
        ] {
            assert_eq!(limits(model), expected, "{model}");
        }
        assert!(KNOWN.iter().all(|known| limits(known.default_model).is_some()));
    }
}
