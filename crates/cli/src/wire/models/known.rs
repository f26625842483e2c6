//! Providers and models that everyone knows.

use haft_provider::Protocol;

/// A provider that everyone knows.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) protocol: Protocol,
    pub(super) base_url: &'static str,
    /// The variable that people keep its key in.
    pub(super) key: &'static str,
    /// The model to begin with, when only the key says which provider is meant.
    pub(super) usual: &'static str,
}

pub(super) const KNOWN: &[Known] = &[
    Known {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        key: "ANTHROPIC_API_KEY",
        usual: "claude-sonnet-4-5",
    },
    Known {
        name: "openai",
        protocol: Protocol::OpenAiResponses,
        base_url: "https://api.openai.com/v1",
        key: "OPENAI_API_KEY",
        usual: "gpt-5.1",
    },
    Known {
        name: "gemini",
        protocol: Protocol::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key: "GEMINI_API_KEY",
        usual: "gemini-2.5-pro",
    },
];

/// The provider of this name.
pub(super) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// How much fits into a model's window, and how much of it one answer may be, by the beginning of its name. An answer of a
/// third of the window is more than anyone waits for, so some could do more than stands here.
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

/// The window and the longest answer of a model, whoever offers it: gateways put the maker before the name.
pub(super) fn limits(model: &str) -> Option<(u64, u32)> {
    let name = model.rsplit('/').next().unwrap_or(model);
    LIMITS.iter().find(|(beginning, ..)| name.starts_with(beginning)).map(|(_, window, output)| (*window, *output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_models_have_their_limits_and_others_none() {
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
        assert!(KNOWN.iter().all(|known| limits(known.usual).is_some()));
    }
}
