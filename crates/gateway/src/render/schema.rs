//! A schema as lines of JSON, in which what a provider does not get is struck through.

use serde_json::Value;

use super::escape;

/// The schema; keys that `sent` lacks are marked as deleted.
pub(crate) fn schema_difference(schema: &Value, sent: &Value) -> String {
    let mut html = String::from("<pre>");
    write_part(&mut html, schema, Some(sent), ("", ""), 0);
    html.push_str("</pre>");
    html
}

/// `label` and `comma` stand before and after the value on its lines.
fn write_part(html: &mut String, value: &Value, sent: Option<&Value>, (label, comma): (&str, &str), level: usize) {
    let indent = "  ".repeat(level);
    let (children, open, close): (Vec<(String, &Value, Option<&Value>)>, _, _) = match value {
        Value::Object(map) => {
            (map.iter().map(|(key, child)| (format!("{}: ", Value::from(key.as_str())), child, field(sent, key))).collect(), '{', '}')
        }
        Value::Array(list) => {
            (list.iter().enumerate().map(|(at, child)| (String::new(), child, sent.and_then(|sent| sent.get(at)))).collect(), '[', ']')
        }
        other => {
            html.push_str(&escape(&format!("{indent}{label}{other}{comma}\n")));
            return;
        }
    };
    html.push_str(&escape(&format!("{indent}{label}{open}\n")));
    let last = children.len().saturating_sub(1);
    for (at, (name, child, other)) in children.into_iter().enumerate() {
        let is_missing = other.is_none() && sent.is_some_and(|sent| sent.is_object() || sent.is_array());
        html.push_str(if is_missing { "<del>" } else { "" });
        write_part(html, child, other, (&name, if at == last { "" } else { "," }), level + 1);
        html.push_str(if is_missing { "</del>" } else { "" });
    }
    html.push_str(&escape(&format!("{indent}{close}{comma}\n")));
}

fn field<'v>(sent: Option<&'v Value>, key: &str) -> Option<&'v Value> {
    sent.and_then(|sent| sent.get(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_that_are_not_sent_are_struck_through_and_text_is_escaped() {
        let schema = json!({ "a": { "minimum": 1, "type": "<b>" }, "b": [1, 2] });
        let html = schema_difference(&schema, &json!({ "a": { "type": "<b>" }, "b": [1] }));
        let lines = [
            "<pre>{",
            "  &quot;a&quot;: {",
            "<del>    &quot;minimum&quot;: 1,",
            "</del>    &quot;type&quot;: &quot;&lt;b&gt;&quot;",
            "  },",
            "  &quot;b&quot;: [",
            "    1,",
            "<del>    2",
            "</del>  ]",
            "}",
            "</pre>",
        ];
        assert_eq!(html, lines.join("\n"));
        assert!(!schema_difference(&schema, &schema).contains("<del>"));
    }
}
