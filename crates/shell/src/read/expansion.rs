//! Parts of words that have an inside: substitutions, `${…}` and arithmetic.

use haft_programs::environment;

use tree_sitter::Node;

use super::{ShellReader, children};
use crate::builder::CommandPosition;
use crate::reason::{Concern, cut};

/// What may follow a name in `${name…}`. Not `=`, which assigns, nor `@`, `!` and `:1`, which evaluate.
const OPERATORS: &[&str] = &[":-", "-", ":+", "+", ":?", "?", "##", "#", "%%", "%", "//", "/", "^^", "^", ",,", ","];

impl ShellReader<'_> {
    /// Finds the commands inside, and says what can do more than give a text.
    pub(super) fn expansion(&mut self, node: Node<'_>) {
        match node.kind() {
            "command_substitution" => self.substitution(node),
            "process_substitution" => {
                self.found.analysis.needs_bash = true;
                self.substitution(node);
            }
            "arithmetic_expansion" => self.arithmetic(node),
            _ => self.parameter(node),
        }
    }

    fn substitution(&mut self, node: Node<'_>) {
        let text = self.text(node).trim_start();
        if text.starts_with('`') && text.contains('\\') {
            self.unclear(node, "backslashes inside backticks are read twice; use $(…)");
        }
        if text.starts_with("$((") {
            self.unclear(node, "it could be arithmetic; put a blank between the parentheses");
        }
        let outer = std::mem::replace(&mut self.in_backticks, text.starts_with('`'));
        self.statements(node, &CommandPosition::default());
        self.in_backticks = outer;
    }

    /// Only numbers: bash evaluates what a variable holds, and that can run commands.
    pub(super) fn arithmetic(&mut self, node: Node<'_>) {
        let text = self.text(node).trim_start().trim_start_matches('$');
        if !text.bytes().all(|byte| byte.is_ascii_digit() || b" +-*/%()".contains(&byte)) {
            let message = format!(
                "arithmetic evaluates what variables hold, and that can run commands: '{}'; compute the number beforehand",
                cut(self.text(node).trim())
            );
            self.found.unknown(Concern::Expansion, message);
            // A value such as 'a[$(command)]' would run: that of a file is no other than a script, one of the line is.
            self.found.analysis.unclear |= self.line.contains("[$(") || self.line.contains("[`");
        }
        self.inside(node);
    }

    fn parameter(&mut self, node: Node<'_>) {
        let text = self.text(node).trim_start();
        if !is_plain_parameter(text) {
            let message =
                format!("'{}' can do more than give the value of a variable; use a plain $name or $(…) with a command", cut(text));
            self.found.unknown(Concern::Expansion, message);
        }
        // The value is expanded once more, commands as well.
        self.found.analysis.unclear |= text.contains("@P");
        // Those that dash does not know.
        self.found.analysis.needs_bash |= text.contains(['/', '^', ',']);
        self.inside(node);
    }

    /// The commands somewhere inside a part that is not followed itself.
    pub(super) fn inside(&mut self, node: Node<'_>) {
        self.deeper(|reader| {
            for child in children(node).into_iter().filter(Node::is_named) {
                match child.kind() {
                    "command_substitution" | "process_substitution" | "arithmetic_expansion" | "expansion" => reader.expansion(child),
                    kind if super::gaps::is_statement(kind) => reader.statement(child, &CommandPosition::default()),
                    _ => reader.inside(child),
                }
            }
        });
    }
}

fn is_plain_parameter(text: &str) -> bool {
    let Some(inside) = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')) else { return false };
    let counted = inside.strip_prefix('#').filter(|name| is_name(name));
    let rest = inside.trim_start_matches(|ch: char| ch.is_ascii_alphanumeric() || ch == '_');
    let name = &inside[..inside.len() - rest.len()];
    let operand = OPERATORS.iter().find_map(|operator| rest.strip_prefix(operator));
    counted.is_some() || (is_name(name) && (rest.is_empty() || operand.is_some_and(is_plain_operand)))
}

fn is_plain_operand(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:,@%+=*?# -".contains(&byte))
}

/// A name of a variable, or the number of an argument.
fn is_name(text: &str) -> bool {
    environment::is_name(text) || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::is_plain_parameter;

    #[test]
    fn only_values_are_plain() {
        for plain in ["${x}", "${x_1}", "${#x}", "${12}", "${x:-a b}", "${x%.c}", "${x##*/}", "${x/a/b}", "${x^^}"] {
            assert!(is_plain_parameter(plain), "{plain}");
        }
        for other in ["${x:=y}", "${x=y}", "${!x}", "${x@P}", "${x[1]}", "${x:1}", "${x:-$(y)}", "${x:-'}'}", "${}", "${1x}", "${x"] {
            assert!(!is_plain_parameter(other), "{other}");
        }
    }
}
