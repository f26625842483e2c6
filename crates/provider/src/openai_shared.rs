//! Shared by the two protocols of OpenAI.

mod calls;
mod refusal;

pub(crate) use calls::CallAssembler;
pub(crate) use refusal::{broken_event, error_event, error_in, refusal, truncated};

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::json::{EventJson, is_object};
use crate::{Block, Usage};

/// Arguments of a replayed call. OpenAI accepts any text, but other servers of the protocol parse it.
pub(crate) fn replayed_arguments(arguments: &str) -> Cow<'_, str> {
    if is_object(arguments) {
        Cow::Borrowed(arguments)
    } else if arguments.trim().is_empty() {
        Cow::Borrowed("{}")
    } else {
        Cow::Owned(json!({ "raw": arguments }).to_string())
    }
}

/// The part of an image, made from its data URL by `part`, or of a text that says why it is left out, made by `text_part`.
pub(crate) fn image_part(
    (mime, data): (&str, &str),
    part: impl Fn(String) -> Value,
    text_part: impl Fn(&str) -> Value,
    warnings: &mut Vec<String>,
) -> Value {
    if let "image/png" | "image/jpeg" | "image/webp" | "image/gif" = mime {
        return part(format!("data:{mime};base64,{data}"));
    }
    let why = format!("an image of type '{mime}' was left out: the provider accepts PNG, JPEG, WebP and GIF");
    let note = text_part(&format!("[{why}]"));
    warnings.push(why);
    note
}

/// The texts of a message, joined.
pub(crate) fn joined_text(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The model's own name, without the prefixes of gateways and fine-tuning.
fn bare_name(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.strip_prefix("ft:").unwrap_or(name)
}

/// Whether it is an OpenAI model that refuses `max_tokens`: o1 and later, GPT-5 and later. Other servers often know no other
/// field.
pub(crate) fn wants_completion_limit(name: &str) -> bool {
    let name = bare_name(name);
    let generation = name.strip_prefix("gpt-").and_then(leading_number);
    let series = name.strip_prefix('o').and_then(leading_number);
    generation.is_some_and(|number| number >= 5) || series.is_some() || name.starts_with("codex-")
}

/// Whether it is an OpenAI model without reasoning; it refuses requests for it.
pub(crate) fn never_reasons(name: &str) -> bool {
    let name = bare_name(name);
    let generation = name.strip_prefix("gpt-").and_then(leading_number);
    generation.is_some_and(|number| number < 5) || name.starts_with("chatgpt-4")
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Token counts of an answer; the two protocols use different names.
pub(crate) fn usage(numbers: EventJson<'_>) -> Option<Usage> {
    let either = |old: &str, new: &str| numbers.get(old).or_else(|| numbers.get(new));
    let number = |old: &str, new: &str| either(old, new).and_then(EventJson::as_u64);
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
    fn replayed_arguments_are_always_an_object() {
        for (received, sent) in [
            (r#"{"path": "a"}"#, r#"{"path": "a"}"#),
            (" {} ", " {} "),
            ("", "{}"),
            (" \n", "{}"),
            (r#"{"path": "#, r#"{"raw":"{\"path\": "}"#),
            ("[1]", r#"{"raw":"[1]"}"#),
            ("null", r#"{"raw":"null"}"#),
            ("{} {}", r#"{"raw":"{} {}"}"#),
        ] {
            assert_eq!(replayed_arguments(received), sent, "{received}");
        }
    }

    #[test]
    fn model_names_select_the_request_fields() {
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

    fn read_usage(numbers: &serde_json::Value) -> Option<Usage> {
        usage(crate::json::EventTree::event(&numbers.to_string()).unwrap().root())
    }

    #[test]
    fn usage_is_read_in_both_forms() {
        let counted = Usage { input: 9, output: 5, cached: 4, cache_writes: 3, reasoning: 2 };
        for numbers in [
            json!({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 2}}),
            json!({"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
                "output_tokens_details": {"reasoning_tokens": 2}}),
            json!({"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 4, "prompt_tokens_details":
                {"cache_write_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2}}),
        ] {
            assert_eq!(read_usage(&numbers), Some(counted), "{numbers}");
        }
        assert_eq!(read_usage(&json!({"prompt_tokens": 9, "prompt_tokens_details": null})), Some(Usage { input: 9, ..Usage::default() }));
        for nothing in [json!(null), json!({}), json!("many")] {
            assert_eq!(read_usage(&nothing), None);
        }
    }
}
