//! A text that is being parsed, with the lines and columns of its bytes.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{ConfigLayer, SettingSource};

/// A file, a variable or a flag that is being parsed.
#[derive(Debug)]
pub(crate) struct SourceText<'t> {
    whole: SettingSource,
    text: &'t str,
    line_starts: Vec<usize>,
}

impl<'t> SourceText<'t> {
    /// A file with this text.
    pub(crate) fn file(layer: ConfigLayer, path: Arc<PathBuf>, text: &'t str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { whole: SettingSource { layer, file: Some(path), ..SettingSource::BUILT_IN }, text, line_starts }
    }
    /// A variable or a flag of this name.
    pub(crate) fn variable(layer: ConfigLayer, name: &str) -> Self {
        Self { whole: SettingSource { layer, name: Some(name.to_owned()), ..SettingSource::BUILT_IN }, text: "", line_starts: Vec::new() }
    }
    /// A preset: its place is the place that names it.
    pub(crate) fn preset(name: &'static str, at: &SettingSource) -> Self {
        Self { whole: SettingSource { preset: Some(name), ..at.clone() }, text: "", line_starts: Vec::new() }
    }
    /// The layer it belongs to.
    pub(crate) fn layer(&self) -> ConfigLayer {
        self.whole.layer
    }
    /// All of it, without a line.
    pub(crate) fn whole(&self) -> SettingSource {
        self.whole.clone()
    }
    /// The place of a span. A variable has no lines.
    pub(crate) fn at(&self, span: Range<usize>) -> SettingSource {
        let line = self.line_starts.partition_point(|start| *start <= span.start);
        let Some(start) = line.checked_sub(1).and_then(|index| self.line_starts.get(index)) else { return self.whole() };
        let before = self.text.get(*start..span.start).map_or(span.start - start, |text| text.chars().count());
        SettingSource { line: u32::try_from(line).ok(), column: u32::try_from(before + 1).ok(), span, ..self.whole() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let text = "a = 1\r\nü漢b = 2\n\n\tc\n";
        let origin = SourceText::file(ConfigLayer::User, Arc::default(), text);
        let place = |offset: usize| {
            let source = origin.at(offset..offset);
            (source.line.unwrap(), source.column.unwrap())
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(text.find('b').unwrap()), (2, 3));
        assert_eq!(place(text.find('c').unwrap()), (4, 2));
        assert_eq!(place(text.len()), (5, 1));
        assert_eq!(place(text.find('漢').unwrap() + 1), (2, 4), "inside a character: bytes, not a panic");
    }

    #[test]
    fn a_variable_has_no_lines() {
        let source = SourceText::variable(ConfigLayer::Environment, "HAFT_ACCESS").at(3..4);
        assert_eq!((source.line, source.column, source.to_string()), (None, None, "HAFT_ACCESS".to_owned()));
    }
}
