//! What a site asks of programs, in its `robots.txt` (RFC 9309).

use haft_contract::{ToolContext, ToolError};
use url::Url;

use super::download;
use crate::shared::brief;
use crate::shared::polite::CallDeadline;

/// The name that rules call us by.
const NAME: &str = "haft";
const MOST_LINES: usize = 20_000;

/// Refuses a page that the site does not want programs to fetch.
pub(super) async fn check(url: &str, deadline: &CallDeadline, cx: &ToolContext) -> Result<(), ToolError> {
    let Ok(url) = Url::parse(url) else { return Ok(()) };
    let Ok(address) = url.join("/robots.txt") else { return Ok(()) };
    let host = url.host_str().unwrap_or_default();
    // A site that cannot be reached fails again below, with the better message.
    let Ok(answer) = download::get_any(address.as_str(), deadline, cx).await else { return Ok(()) };
    match answer.status {
        200 if !allows(&String::from_utf8_lossy(&answer.body), &path_of(&url)) => Err(ToolError::denied(format!(
            "robots.txt of {host} asks programs not to fetch {}. Use another source, or ask the user, who can set web.respect_robots = \"off\".",
            brief(url.path())
        ))),
        500.. => Err(ToolError::denied(format!(
            "robots.txt of {host} cannot be read (HTTP {}), so it is not known whether programs may fetch its pages. Try again later.",
            answer.status
        ))),
        _ => Ok(()),
    }
}

fn path_of(url: &Url) -> String {
    url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

/// Whether rules let us fetch a path: the longest one that matches counts, and `Allow` among equals.
pub(super) fn allows(robots: &str, path: &str) -> bool {
    if path == "/robots.txt" {
        return true;
    }
    let rules = rules_for(robots);
    let matching = rules.iter().filter(|(_, pattern)| matches(pattern, path));
    matching.max_by_key(|(allow, pattern)| (pattern.len(), *allow)).is_none_or(|(allow, _)| *allow)
}

/// The rules of the groups that name us, else of those for everyone.
fn rules_for(robots: &str) -> Vec<(bool, &str)> {
    let (mut named, mut general) = (None, Vec::new());
    let (mut is_named, mut is_general, mut in_rules) = (false, false, false);
    for (key, value) in robots.lines().take(MOST_LINES).filter_map(line) {
        match key.as_str() {
            "user-agent" => {
                if in_rules {
                    (is_named, is_general, in_rules) = (false, false, false);
                }
                let agent = value.to_ascii_lowercase();
                is_general |= agent == "*";
                is_named |= agent.split('/').next() == Some(NAME);
                if is_named {
                    named.get_or_insert_with(Vec::new);
                }
            }
            "allow" | "disallow" => {
                in_rules = true;
                let rule = (key == "allow", value);
                // An empty `Disallow` forbids nothing.
                if !value.is_empty() {
                    named.iter_mut().filter(|_| is_named).for_each(|rules| rules.push(rule));
                    general.extend(is_general.then_some(rule));
                }
            }
            _ => {}
        }
    }
    named.unwrap_or(general)
}

fn line(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split('#').next()?.split_once(':')?;
    Some((key.trim().to_ascii_lowercase(), value.trim()))
}

/// Whether a path begins as the pattern says; `*` is any text, `$` the end.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, to_end) = pattern.strip_suffix('$').map_or((pattern, false), |pattern| (pattern, true));
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if to_end && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    !to_end || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_the_standard_says() {
        let general = "User-agent: *\nDisallow: /private\nAllow: /private/open\nDisallow: /*.pdf$\n";
        let named = "user-agent: other\nuser-agent: Haft/1.0\nDISALLOW: / # all\n\nUser-agent: *\nDisallow:\n";
        for (robots, path, allowed) in [
            ("", "/a", true),
            (general, "/a", true),
            (general, "/private", false),
            (general, "/privateer", false),
            (general, "/private/open/x", true),
            (general, "/x/y.pdf", false),
            (general, "/x/y.pdf?z", true),
            (general, "/robots.txt", true),
            (named, "/a", false),
            ("User-agent: other\nDisallow: /", "/a", true),
            ("User-agent: *\nDisallow: /\nUser-agent: haft\nAllow: /", "/a", true),
            ("User-agent: *\nDisallow: /a*b*c", "/axxbyyc", false),
            ("User-agent: *\nDisallow: /a*b*c", "/axxcyyb", true),
            ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", true),
            ("Disallow: /\nnonsense\n\u{0}", "/a", true),
        ] {
            assert_eq!(allows(robots, path), allowed, "{robots:?} {path}");
        }
    }
}
