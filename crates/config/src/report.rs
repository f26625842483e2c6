//! Renders problems: message, place, source line and advice; or JSON.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::{ConfigLayer, Loaded, Problem, Severity};

/// Whether the report has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportStyle {
    /// Text alone.
    #[default]
    Plain,
    /// With the escape codes of a terminal.
    Styled,
}

/// Longer lines are not shown.
const MAX_LINE_BYTES: usize = 1000;

impl Loaded {
    /// Every problem in the form of a compiler's message, one blank line between; empty if there is none.
    pub fn report(&self, look: ReportStyle, width: usize) -> String {
        let renderer = match look {
            ReportStyle::Plain => Renderer::plain(),
            ReportStyle::Styled => Renderer::styled(),
        }
        .term_width(width);
        let parts: Vec<_> = self.problems.iter().map(|problem| renderer.render(&self.groups(problem)) + "\n").collect();
        parts.join("\n")
    }

    fn groups<'p>(&'p self, problem: &'p Problem) -> Vec<Group<'p>> {
        let level = match problem.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut what = Group::with_title(level.primary_title(problem.message.as_str()));
        if let Some(snippet) = self.snippet(problem) {
            what = what.element(snippet);
        } else if let Some(origin) = origin(problem) {
            what = what.element(origin);
        }
        let help = problem.help.as_deref().map(|help| Group::with_title(Level::HELP.secondary_title(help)));
        std::iter::once(what).chain(help).collect()
    }

    /// The line with the faulty part marked.
    fn snippet<'p>(&'p self, problem: &'p Problem) -> Option<Snippet<'p, annotate_snippets::Annotation<'p>>> {
        let file = problem.source.file.as_ref()?;
        let line_number = usize::try_from(problem.source.line?).ok()?;
        let text = &self.texts.iter().find(|(path, _)| path == file)?.1;
        let (line, marked) = line_around(text, &problem.source.span)?;
        let snippet = Snippet::source(line).line_start(line_number).path(path_of(problem)?);
        Some(snippet.annotation(AnnotationKind::Primary.span(marked)))
    }
}

/// The place without its line, for files that could not be read and lines that are too long.
fn origin(problem: &Problem) -> Option<Origin<'_>> {
    let origin = Origin::path(path_of(problem)?);
    let (Some(line), Some(column)) = (problem.source.line, problem.source.column) else { return Some(origin) };
    Some(origin.line(usize::try_from(line).ok()?).char_column(usize::try_from(column).ok()?))
}

/// The file, the variable or the flag.
fn path_of(problem: &Problem) -> Option<Cow<'_, str>> {
    match (&problem.source.name, &problem.source.file) {
        (Some(name), _) if problem.source.layer == ConfigLayer::Flag => Some(format!("command line: {name}").into()),
        (Some(name), _) => Some(format!("environment: {name}").into()),
        (None, file) => file.as_ref().map(|file| file.to_string_lossy()),
    }
}

/// The line in which a span starts, and the part of the span that lies in it.
fn line_around<'t>(text: &'t str, span: &Range<usize>) -> Option<(&'t str, Range<usize>)> {
    let (before, after) = text.split_at_checked(span.start)?;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = span.start + after.find('\n').unwrap_or(after.len());
    let line = text.get(start..end)?.trim_end_matches('\r');
    let from = span.start - start;
    (line.len() <= MAX_LINE_BYTES && from <= line.len()).then(|| (line, from..(span.end - start).clamp(from, line.len())))
}

/// The problems as JSON: severity, message, key, help, layer, file, line, column, name.
pub fn json(problems: &[Problem]) -> serde_json::Value {
    // Texts and numbers only: this cannot fail.
    serde_json::to_value(problems).unwrap_or_default()
}
