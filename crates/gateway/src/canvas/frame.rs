//! The document of a frame: ours first, which answers the page, then that of the agent.

/// No network, no forms, no other document; the origin is opaque. Scripts run, because nothing that they can reach is worth protecting from
/// them.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; \
                                 media-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; webrtc 'block'; \
                                 sandbox allow-scripts";

/// What answers the page, and draws A2UI.
const SCRIPT: &str = include_str!("frame.js");
const STYLE: &str = include_str!("frame.css");

/// The whole document. Ours stands before a document type of the agent's, so that the frame is never in quirks mode.
pub(crate) fn document(html: &str) -> String {
    let style = if html.is_empty() { format!("<style>{STYLE}</style>") } else { String::new() };
    format!("<!DOCTYPE html><meta charset=\"utf-8\"><title>Canvas</title><script>{SCRIPT}</script>{style}{html}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_has_no_network_and_an_opaque_origin() {
        for part in ["default-src 'none'", "sandbox allow-scripts", "form-action 'none'", "webrtc 'block'"] {
            assert!(POLICY.contains(part), "{part}");
        }
        assert!(!POLICY.contains("allow-same-origin") && !POLICY.contains("connect-src") && !POLICY.contains("http"));
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("innerHTML"), "our script neither ends itself nor makes markup of text");
        assert!(document("<p>x</p>").ends_with("</script><p>x</p>"));
    }
}
