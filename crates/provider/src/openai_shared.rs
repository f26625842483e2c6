//! What the two protocols of OpenAI have in common.

mod calls;
mod faults;
mod refusal;

pub(crate) use calls::Calls;
pub(crate) use faults::{call_fault, tool_faults};
pub(crate) use refusal::{broken_event, cut, error_event, error_in, refusal};

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::json;

use crate::json::Json;
use crate::{Block, Usage};

/// Whether the text is one whole JSON object. What was cut never is, and nothing but blanks can follow one that is.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Arguments as they are sent back. OpenAI takes any text, but the servers that speak its protocols parse it.
pub(crate) fn replayed_arguments(arguments: &str) -> Cow<'_, str> {
    if is_object(arguments) {
        Cow::Borrowed(arguments)
    } else if arguments.trim().is_empty() {
        Cow::Borrowed("{}")
    } else {
        Cow::Owned(json!({ "raw": arguments }).to_string())
    }
}

/// A picture as an address that holds it, or why it cannot be sent.
pub(crate) fn picture(mime: &str, data: &str) -> Result<String, String> {
    match mime {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" => Ok(format!("data:{mime};base64,{data}")),
        _ => Err(format!("a picture of the type '{mime}' was left out: the provider takes PNG, JPEG, WebP and GIF")),
    }
}

/// The texts of a message as one.
pub(crate) fn joined_text(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The model's own name: what gateways and fine-tuning put before it is gone.
fn bare_name(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.strip_prefix("ft:").unwrap_or(name)
}

/// Whether it is one of OpenAI's models that refuse `max_tokens`: o1 and what follows it, GPT-5 and what follows it.
/// Servers that speak the protocol for other models often know no other field.
pub(crate) fn wants_completion_limit(name: &str) -> bool {
    let name = bare_name(name);
    let generation = name.strip_prefix("gpt-").and_then(leading_number);
    let series = name.strip_prefix('o').and_then(leading_number);
    generation.is_some_and(|number| number >= 5) || series.is_some() || name.starts_with("codex-")
}

/// Whether it is one of OpenAI's models that do not reason, and refuse to be asked for it.
pub(crate) fn never_reasons(name: &str) -> bool {
    let name = bare_name(name);
    let generation = name.strip_prefix("gpt-").and_then(leading_number);
    generation.is_some_and(|number| number < 5) || name.starts_with("chatgpt-4")
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The numbers of an answer; both protocols give the same under other names.
pub(crate) fn usage(numbers: &Json<'_>) -> Option<Usage> {
    let either = |old: &str, new: &str| numbers.get(old).or_else(|| numbers.get(new));
    let number = |old: &str, new: &str| either(old, new).and_then(Json::as_u64);
    let detail = |old: &str, new: &str, name: &str| either(old, new)?.get(name)?.as_u64();
    let input_detail = |name: &str| detail("prompt_tokens_details", "input_tokens_details", name);
    let (input, output) = (number("prompt_tokens", "input_tokens"), number("completion_tokens", "output_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    Some(Usage {
        input: input.unwrap_or(0),
        output: output.unwrap_or(0),
        cached: input_detail("cached_tokens").or_else(|| numbers.get("prompt_cache_hit_tokens")?.as_u64()).unwrap_or(0),
        cache_writes: input_detail("cache_write_tokens").unwrap_or(0),
        reasoning: detail("completion_tokens_details", "output_tokens_details", "reasoning_tokens").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_back_as_an_object_whatever_came() {
        for (came, sent) in [
            (r#"{"path": "a"}"#, r#"{"path": "a"}"#),
            (" {} ", " {} "),
            ("", "{}"),
            (" \n", "{}"),
            (r#"{"path": "#, r#"{"raw":"{\"path\": "}"#),
            ("[1]", r#"{"raw":"[1]"}"#),
            ("null", r#"{"raw":"null"}"#),
            ("{} {}", r#"{"raw":"{} {}"}"#),
        ] {
            assert_eq!(replayed_arguments(came), sent, "{came}");
        }
    }

    #[test]
    fn names_tell_which_fields_a_model_takes() {
        for (name, completion_limit, no_reasoning) in [
            ("gpt-5", true, false),
            ("gpt-5.2-codex", true, false),
            ("gpt-10-mini", true, false),
            ("openai/gpt-5-mini", true, false),
            ("ft:gpt-5-nano:org::id", true, false),
            ("o1", true, false),
            ("o3-mini", true, false),
            ("openai/o4-mini", true, false),
            ("codex-mini-latest", true, false),
            ("gpt-4o", false, true),
            ("gpt-4.1-mini", false, true),
            ("gpt-3.5-turbo", false, true),
            ("chatgpt-4o-latest", false, true),
            ("gpt-oss-120b", false, false),
            ("olmo-3", false, false),
            ("qwen3-coder:30b", false, false),
            ("deepseek-v4-pro", false, false),
        ] {
            assert_eq!((wants_completion_limit(name), never_reasons(name)), (completion_limit, no_reasoning), "{name}");
        }
    }

    fn counted_in(numbers: &serde_json::Value) -> Option<Usage> {
        usage(&serde_json::from_str(&numbers.to_string()).unwrap())
    }

    #[test]
    fn both_ways_to_count_are_read() {
        let counted = Usage { input: 9, output: 5, cached: 4, cache_writes: 3, reasoning: 2 };
        for numbers in [
            json!({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 2}}),
            json!({"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
                "output_tokens_details": {"reasoning_tokens": 2}}),
            json!({"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 4, "prompt_tokens_details":
                {"cache_write_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2}}),
        ] {
            assert_eq!(counted_in(&numbers), Some(counted), "{numbers}");
        }
        assert_eq!(counted_in(&json!({"prompt_tokens": 9, "prompt_tokens_details": null})), Some(Usage { input: 9, ..Usage::default() }));
        for nothing in [json!(null), json!({}), json!("many")] {
            assert_eq!(counted_in(&nothing), None);
        }
    }
}
