//! What a reader of the page does not see. Text for machines alone is where instructions to models are hidden.

use std::collections::HashSet;

use crate::html::attributes::Attributes;
use crate::html::tree::{HtmlTree, NodeId};

/// Elements whose content is never shown.
const NEVER_SHOWN: &[&str] = &[
    "script", "style", "template", "head", "noscript", "svg", "canvas", "object", "datalist", "select", "textarea", "input", "button",
    "map", "noframes", "noembed", "audio", "colgroup", "rp",
];

/// Classes that style sheets of the well-known kits hide by.
const HIDING_CLASSES: &[&str] = &[
    "hidden",
    "hide",
    "is-hidden",
    "u-hidden",
    "d-none",
    "invisible",
    "sr-only",
    "screen-reader-text",
    "screen-reader-only",
    "visually-hidden",
    "visuallyhidden",
    "offscreen",
    "off-screen",
    "a11y-hidden",
    "noprint",
];

/// Classes and ids that the page's own style sheets hide.
#[derive(Debug, Default)]
pub(crate) struct HidingRules {
    classes: HashSet<String>,
    ids: HashSet<String>,
}

impl HidingRules {
    pub(crate) fn from_tree(tree: &HtmlTree<'_>) -> Self {
        let mut rules = Self::default();
        for id in tree.ids().filter(|id| tree.name(*id) == "style") {
            rules.read(&without_comments(&tree.all_text(id)));
        }
        rules
    }

    /// Reads simple rules: `.name { display: none }`. Selectors of several parts, and rules for some media, depend on more than the page.
    fn read(&mut self, css: &str) {
        let mut rest = css;
        while let Some((selectors, after)) = rest.split_once('{') {
            // Statements such as `@import` end before.
            let selectors = selectors.rsplit(';').next().unwrap_or_default();
            if selectors.trim_start().starts_with('@') {
                rest = skip_block(after);
                continue;
            }
            let (declarations, after) = after.split_once('}').unwrap_or((after, ""));
            if hides(declarations) {
                selectors.split(',').for_each(|selector| self.add(selector.trim()));
            }
            rest = after;
        }
    }

    fn add(&mut self, selector: &str) {
        let is_plain = |name: &str| !name.is_empty() && name.chars().all(|ch| ch.is_alphanumeric() || matches!(ch, '-' | '_'));
        if let Some(class) = selector.strip_prefix('.').filter(|name| is_plain(name)) {
            self.classes.insert(class.to_owned());
        } else if let Some(id) = selector.strip_prefix('#').filter(|name| is_plain(name)) {
            self.ids.insert(id.to_owned());
        }
    }

    /// Whether an element and all in it is not shown.
    pub(crate) fn hide(&self, tree: &HtmlTree<'_>, id: NodeId) -> bool {
        let (name, attributes) = (tree.name(id), tree.attributes(id));
        if NEVER_SHOWN.contains(&name) {
            return true;
        }
        if attributes.is_empty() {
            return name == "dialog";
        }
        attributes.has("hidden")
            || (name == "dialog" && !attributes.has("open"))
            || attributes.get("aria-hidden").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
            || attributes.get("style").is_some_and(|style| hides(&style))
            || self.hides_by_name(attributes)
    }

    fn hides_by_name(&self, attributes: Attributes<'_>) -> bool {
        if attributes.get("id").is_some_and(|id| self.ids.contains(id.trim())) {
            return true;
        }
        let Some(classes) = attributes.get("class") else { return false };
        // `hidden md:block`, `d-none d-md-block`: shown on a larger screen.
        let shown_elsewhere = classes.split_whitespace().any(|class| {
            ["block", "flex", "inline", "grid", "table"].iter().any(|shown| class.ends_with(shown) && class.contains([':', '-']))
        });
        let hiding = |class: &str| self.classes.contains(class) || (!shown_elsewhere && HIDING_CLASSES.contains(&class));
        classes.split_whitespace().any(hiding)
    }
}

fn without_comments(css: &str) -> String {
    let mut parts = css.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once("*/").map_or("", |(_, after)| after))
}

/// What follows a block with blocks in it.
fn skip_block(css: &str) -> &str {
    let mut depth = 1;
    for (at, byte) in css.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &css[at + 1..];
        }
    }
    ""
}

/// Whether declarations make an element invisible.
fn hides(declarations: &str) -> bool {
    let lower = declarations.to_ascii_lowercase();
    let all: Vec<(&str, &str)> = lower
        .split(';')
        .filter_map(|declaration| declaration.split_once(':'))
        .map(|(property, value)| (property.trim(), value.trim().trim_end_matches("!important").trim_end()))
        .collect();
    let value_of = |name: &str| all.iter().find(|(property, _)| *property == name).map(|(_, value)| *value);
    let clipped = value_of("overflow").is_some_and(|value| value.starts_with("hidden"));
    let same_color = value_of("color").is_some_and(|color| {
        let background = value_of("background-color").or_else(|| value_of("background"));
        color == "transparent" || background.is_some_and(|background| normal_color(background) == normal_color(color))
    });
    same_color || all.iter().any(|(property, value)| declaration_hides(property, value, clipped))
}

fn declaration_hides(property: &str, value: &str, clipped: bool) -> bool {
    let number = leading_number(value);
    match property {
        "display" => value == "none",
        "visibility" | "content-visibility" => matches!(value, "hidden" | "collapse"),
        "opacity" => number.is_some_and(|number| number < 0.05 || (value.ends_with('%') && number < 5.0)),
        "font-size" => number.is_some_and(|number| number <= if value.ends_with("px") || value.ends_with("pt") { 1.0 } else { 0.05 }),
        "width" | "height" | "max-height" | "max-width" => clipped && number.is_some_and(|number| number <= 1.0),
        "text-indent" | "left" | "right" | "top" | "margin-left" => number.is_some_and(|number| number <= -500.0),
        "clip" => value.starts_with("rect(0") || value.starts_with("rect(1px"),
        "clip-path" => value.starts_with("inset(50%") || value.starts_with("inset(100%"),
        "transform" => value.starts_with("scale(0"),
        _ => false,
    }
}

fn leading_number(value: &str) -> Option<f32> {
    let end = value.find(|ch: char| !(ch.is_ascii_digit() || matches!(ch, '-' | '.'))).unwrap_or(value.len());
    value[..end].parse().ok()
}

fn normal_color(color: &str) -> String {
    match color {
        "white" | "#fff" | "rgb(255,255,255)" | "rgb(255, 255, 255)" => "#ffffff".to_owned(),
        "black" | "#000" | "rgb(0,0,0)" | "rgb(0, 0, 0)" => "#000000".to_owned(),
        other => other.to_owned(),
    }
}

/// Whether a character is written and never seen: tags, joiners of nothing, marks that reorder what is shown.
pub(crate) fn is_invisible(ch: char) -> bool {
    matches!(
        ch,
        '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{202d}' | '\u{202e}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}' | '\u{fff9}'..='\u{fffb}'
    ) || (ch.is_control() && !matches!(ch, '\n' | '\t' | '\r' | '\u{c}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_that_hide_are_recognised() {
        for (style, expected) in [
            ("display:none", true),
            ("DISPLAY : None !important", true),
            ("color: red; visibility: hidden", true),
            ("opacity: 0", true),
            ("opacity:.01", true),
            ("opacity: 0.8", false),
            ("font-size:0", true),
            ("font-size:1px", true),
            ("font-size:1em", false),
            ("font-size:12px", false),
            ("position:absolute;left:-9999px", true),
            ("left:-3px", false),
            ("height:0;overflow:hidden", true),
            ("height:0", false),
            ("color:#fff;background:white", true),
            ("color:#fff;background:#000", false),
            ("color:transparent", true),
            ("clip: rect(0 0 0 0)", true),
            ("display:block", false),
            ("", false),
        ] {
            assert_eq!(hides(style), expected, "{style}");
        }
    }

    #[test]
    fn style_sheets_hide_by_simple_selectors_alone() {
        let mut rules = HidingRules::default();
        rules.read("@import 'x'; .a, #b { display: none } p .c { display:none } @media print { .d { display: none } } .e{opacity:0}");
        rules.read(".js .f{display:none} .g:hover{display:none} .h{color:red} .i{display:none");
        let mut classes: Vec<_> = rules.classes.iter().map(String::as_str).collect();
        classes.sort_unstable();
        assert_eq!((classes, rules.ids.iter().map(String::as_str).collect::<Vec<_>>()), (vec!["a", "e", "i"], vec!["b"]));
    }

    #[test]
    fn elements_are_hidden_by_name_attribute_class_and_style() {
        for (html, expected) in [
            ("<p hidden>", true),
            ("<p aria-hidden=true>", true),
            ("<p aria-hidden=false>", false),
            ("<p class='x sr-only'>", true),
            ("<p class='hidden md:block'>", false),
            ("<p class='d-none d-md-flex'>", false),
            ("<p class='mine'>", true),
            ("<p id=gone>", true),
            ("<p style='display:none'>", true),
            ("<template>", true),
            ("<dialog>", true),
            ("<dialog open>", false),
            ("<p>", false),
        ] {
            let page = format!("<style>/* .other{{display:none}} */ .mine, #gone {{ display:none }}</style>{html}x");
            let tree = HtmlTree::parse(&page);
            let last = tree.ids().rev().find(|id| !tree.name(*id).is_empty()).unwrap();
            assert_eq!(HidingRules::from_tree(&tree).hide(&tree, last), expected, "{html}");
        }
    }
}
