//! Statements: lists, pipes, groups, loops and conditions. Each of their commands is found.

use haft_programs::environment;

use tree_sitter::Node;

use super::{ShellReader, children};
use crate::analysis::Directory;
use crate::builder::CommandPosition;
use crate::reason::{Concern, cut};
use crate::word::Word;

impl ShellReader<'_> {
    /// All statements of a node.
    pub(super) fn statements(&mut self, node: Node<'_>, around: &CommandPosition) {
        self.deeper(|reader| {
            reader.check_gaps(node);
            let parts = children(node);
            for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.is_named()) {
                let last = parts.get(index + 1).is_some_and(|next| next.kind() == "&");
                let around = CommandPosition { background: around.background || last, ..around.clone() };
                reader.statement(*part, &around);
            }
        });
    }

    pub(super) fn statement(&mut self, node: Node<'_>, around: &CommandPosition) {
        if let Some((id, before)) = &mut self.tail
            && *id == node.id()
        {
            *before = self.found.analysis.commands.len();
        }
        match node.kind() {
            "comment" => self.comment(node),
            "command" => self.command(node, &[], around),
            "redirected_statement" => self.redirected(node, around),
            "variable_assignment" | "variable_assignments" => self.assigned(node, around),
            "declaration_command" | "unset_command" => self.declaration(node, around),
            "test_command" => self.test(node, around),
            "pipeline" => self.pipeline(node, around),
            "list" => self.list(node, around),
            "compound_statement" if self.text(node).starts_with("((") => {
                self.found.analysis.needs_bash = true;
                self.arithmetic(node);
            }
            "for_statement" => self.for_loop(node, around),
            "case_statement" | "case_item" => self.cases(node, around),
            "negated_command" | "compound_statement" | "subshell" | "if_statement" | "elif_clause" | "else_clause" | "while_statement"
            | "do_group" => self.statements(node, around),
            "function_definition" => {
                self.unfollowed(node, "a function gives a name another meaning; write its commands where they are needed");
                self.inside(node);
            }
            "c_style_for_statement" => {
                self.unfollowed(node, "arithmetic evaluates what variables hold; use 'for x in …'");
                self.inside(node);
            }
            _ => {
                self.unclear(node, "this form is not known here; write it in simpler parts");
                self.inside(node);
            }
        }
    }

    /// A comment begins where a word would, and bash must see the same.
    fn comment(&mut self, node: Node<'_>) {
        let before = self.line.get(..node.start_byte()).unwrap_or_default();
        if !before.is_empty() && !before.ends_with([' ', '\t', '\n', ';', '&', '|', '(', ')']) {
            self.unclear(node, "it may be no comment; put a blank before '#'");
        }
    }

    fn pipeline(&mut self, node: Node<'_>, around: &CommandPosition) {
        self.deeper(|reader| {
            reader.check_gaps(node);
            let mut piped = around.piped;
            for part in children(node) {
                if part.is_named() {
                    reader.statement(part, &CommandPosition { piped, ..around.clone() });
                } else {
                    piped = true;
                    reader.found.analysis.needs_bash |= part.kind() == "|&";
                }
            }
        });
    }

    fn list(&mut self, node: Node<'_>, around: &CommandPosition) {
        self.deeper(|reader| {
            reader.check_gaps(node);
            for part in children(node).into_iter().filter(Node::is_named) {
                reader.statement(part, around);
            }
        });
    }

    fn for_loop(&mut self, node: Node<'_>, around: &CommandPosition) {
        self.deeper(|reader| {
            reader.check_gaps(node);
            for part in children(node) {
                match part.kind() {
                    "variable_name" => reader.sets(part),
                    "do_group" | "compound_statement" => reader.statement(part, around),
                    "select" => reader.found.analysis.needs_bash = true,
                    _ if part.is_named() => drop(reader.word(part)),
                    _ => {}
                }
            }
        });
    }

    fn cases(&mut self, node: Node<'_>, around: &CommandPosition) {
        self.deeper(|reader| {
            reader.check_gaps(node);
            for part in children(node).into_iter().filter(Node::is_named) {
                match part.kind() {
                    "extglob_pattern"
                        if !reader.text(part).bytes().all(|byte| byte.is_ascii_alphanumeric() || b"*?._-".contains(&byte)) =>
                    {
                        reader.unfollowed(part, "only plain patterns are");
                    }
                    "extglob_pattern" => {}
                    kind if super::gaps::is_statement(kind) => reader.statement(part, around),
                    _ => drop(reader.word(part)),
                }
            }
        });
    }

    /// A name that gets a value.
    pub(super) fn sets(&mut self, name: Node<'_>) {
        let text = self.text(name);
        if let Some(why) = environment::danger(text) {
            let message = format!("it sets {}, {why}; leave it as it is", cut(text));
            self.found.unknown(Concern::Environment, message);
        }
    }

    /// Assignments alone: they change the shell for what follows.
    fn assigned(&mut self, node: Node<'_>, around: &CommandPosition) {
        let parts = if node.kind() == "variable_assignment" { vec![node] } else { children(node) };
        if node.kind() == "variable_assignments" {
            self.check_gaps(node);
        }
        let assignments = parts.into_iter().map(|part| self.assignment(part)).collect();
        self.record(assignments, Vec::new(), Vec::new(), around);
    }

    /// `cd PATH && …` and nothing but `&&` behind it: all the rest runs there.
    pub(super) fn opening_directory(&mut self, root: Node<'_>) -> Option<String> {
        let statements: Vec<Node<'_>> = children(root).into_iter().filter(|child| child.kind() != "\n").collect();
        let [only] = statements.as_slice() else { return None };
        // A redirection at the end of the list stands around it.
        let body = children(*only).into_iter().find(|child| child.kind() == "list");
        let mut node = body.filter(|_| only.kind() == "redirected_statement").unwrap_or(*only);
        while node.kind() == "list" {
            let parts = children(node);
            let [left, operator, _] = parts.as_slice() else { return None };
            if operator.kind() != "&&" {
                return None;
            }
            node = *left;
        }
        let parts = children(node);
        let [program, path] = parts.as_slice() else { return None };
        if node.kind() != "command" || self.text(*program) != "cd" || node.id() == only.id() {
            return None;
        }
        match self.part(*path) {
            // A bare name may be found along CDPATH, and '-' is where the shell was before.
            Word::Literal(path) if !path.is_empty() && !path.starts_with('-') => Some(path),
            _ => None,
        }
    }

    /// Where the commands run; `opening` gives the folder of [`Self::opening_directory`].
    pub(super) fn settle_directory(&mut self, opening: impl FnOnce(&mut Self) -> Option<String>) {
        let changes = |name: Option<&str>| matches!(name, Some("cd" | "pushd" | "popd" | "chdir"));
        let count = self.found.analysis.commands.iter().filter(|command| changes(command.name())).count();
        if count == 0 {
            return;
        }
        self.found.analysis.directory = match opening(self) {
            Some(path) if count == 1 => Directory::Changed(path),
            _ => Directory::Unclear,
        };
    }
}
