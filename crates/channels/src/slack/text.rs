//! Texts of Slack, in which `&`, `<` and `>` stand for themselves only when they are escaped.

/// What may stand between `<` and `>`: one user, one channel, a link. `<!channel>` and the like would alert everybody there.
const KEPT: [&str; 5] = ["@", "#", "https://", "http://", "mailto:"];

/// A text as Slack wants it.
pub(super) fn escape(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['&', '<', '>']) {
        out.push_str(&rest[..at]);
        let (sign, after) = rest[at..].split_at(1);
        let kept = if sign == "<" { reference(after) } else { None };
        match (kept, sign) {
            (Some(reference), _) => {
                out.push_str(&rest[at..=at + reference.len() + 1]);
                rest = &after[reference.len() + 1..];
                continue;
            }
            (None, "&") => out.push_str("&amp;"),
            (None, "<") => out.push_str("&lt;"),
            (None, _) => out.push_str("&gt;"),
        }
        rest = after;
    }
    out + rest
}

/// What is before the next `>`, if that may be there.
fn reference(text: &str) -> Option<&str> {
    let (reference, _) = text.split_once('>')?;
    let is_whole = !reference.contains(['<', '&', '\n']);
    (is_whole && KEPT.iter().any(|kept| reference.len() > kept.len() && reference.starts_with(kept))).then_some(reference)
}

/// A text of Slack as its writer typed it.
pub(super) fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_escaped_and_nobody_but_single_users_is_alerted() {
        for (text, expected) in [
            ("Hello", "Hello"),
            ("a<b && c>d", "a&lt;b &amp;&amp; c&gt;d"),
            ("Vec<String>", "Vec&lt;String&gt;"),
            ("<!channel> <!here> <!everyone> <!subteam^S1>", "&lt;!channel&gt; &lt;!here&gt; &lt;!everyone&gt; &lt;!subteam^S1&gt;"),
            ("<@U1> in <#C1|ops>: <https://example.org|here>", "<@U1> in <#C1|ops>: <https://example.org|here>"),
            ("<@U1 <!channel>", "&lt;@U1 &lt;!channel&gt;"),
            ("<@><", "&lt;@&gt;&lt;"),
            ("ü<ü", "ü&lt;ü"),
        ] {
            assert_eq!(escape(text), expected, "{text}");
            assert_eq!(unescape(expected), text);
        }
    }
}
