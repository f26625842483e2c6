//! What the names of elements mean: which are empty, which are blocks, which close which.

/// Elements without content.
pub(crate) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "frame"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Elements that belong to a head; any other one ends it.
pub(crate) fn belongs_in_head(name: &str) -> bool {
    matches!(name, "title" | "meta" | "link" | "base" | "script" | "style" | "noscript" | "template" | "bgsound")
}

/// Elements that begin on a line of their own.
pub(crate) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "dir"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "frame"
            | "frameset"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "hr"
            | "html"
            | "iframe"
            | "legend"
            | "li"
            | "listing"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "p"
            | "plaintext"
            | "pre"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "tfoot"
            | "th"
            | "thead"
            | "tr"
            | "ul"
            | "xmp"
    )
}

/// The level of a heading.
pub(crate) fn heading_level(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(usize::from(level - b'0')),
        _ => None,
    }
}

/// No end tag outside a table closes what is within these.
pub(crate) fn is_barrier(name: &str) -> bool {
    matches!(name, "td" | "th" | "caption" | "table" | "template" | "object" | "button" | "body" | "html")
}

/// Which open elements a start tag closes, and which elements stop the search for them.
pub(crate) fn closed_by(name: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    Some(match name {
        "li" => (&["li"], &["ul", "ol", "menu", "dir"]),
        "dt" | "dd" => (&["dt", "dd"], &["dl"]),
        "tr" => (&["tr", "caption", "colgroup"], &["table", "tbody", "thead", "tfoot"]),
        "td" | "th" => (&["td", "th"], &["tr", "table"]),
        "thead" | "tbody" | "tfoot" => (&["thead", "tbody", "tfoot", "caption", "colgroup"], &["table"]),
        "option" => (&["option"], &["select", "datalist", "optgroup"]),
        "optgroup" => (&["optgroup"], &["select"]),
        "rt" | "rp" => (&["rt", "rp"], &["ruby"]),
        _ if is_block(name) => (&["p"], &["td", "th", "caption", "table", "object", "button"]),
        _ => return None,
    })
}
