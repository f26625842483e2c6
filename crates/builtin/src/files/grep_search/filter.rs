//! Which files are searched: by patterns on their paths, and by type.

use std::path::Path;

use haft_contract::ToolError;
use haft_text::suggest::nearest;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{FileTypeDef, Types, TypesBuilder};

use crate::shared::brief;

/// The name of an ad-hoc type for a file extension.
const EXTENSION: &str = "extension";

#[derive(Debug)]
pub(super) struct FileFilter {
    only: Option<Override>,
    /// Excludes files, whatever else names them.
    not: Option<Override>,
    types: Option<Types>,
}

impl FileFilter {
    pub(super) fn new(globs: &[String], kind: Option<&str>) -> Result<Self, ToolError> {
        let globs = globs.iter().flat_map(|text| split_patterns(text));
        let (not, only): (Vec<&str>, Vec<&str>) = globs.partition(|glob| glob.starts_with('!'));
        Ok(Self { only: overrides(&only)?, not: overrides(&not)?, types: kind.map(types).transpose()? })
    }

    /// Whether a file is searched, by its path beneath the searched directory.
    pub(super) fn admits(&self, location: &str, path: &Path) -> bool {
        if self.types.as_ref().is_some_and(|types| !types.matched(path, false).is_whitelist()) {
            return false;
        }
        if self.only.is_none() && self.not.is_none() {
            return true;
        }
        // Patterns may be relative to the searched directory or to the workspace.
        let whole = (location != ".").then(|| Path::new(location).join(path));
        let paths = [Some(path), whole.as_deref()];
        let mut paths = paths.into_iter().flatten();
        !paths.clone().any(|path| self.leaves_out(path)) && paths.any(|path| self.names(path))
    }

    fn names(&self, path: &Path) -> bool {
        self.only.as_ref().is_none_or(|only| only.matched(path, false).is_whitelist())
    }
    /// By its own name, or by that of a directory above it.
    fn leaves_out(&self, path: &Path) -> bool {
        let Some(not) = &self.not else { return false };
        let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        not.matched(path, false).is_ignore() || folders.any(|folder| not.matched(folder, true).is_ignore())
    }
}

/// Splits patterns at commas outside of braces and brackets.
fn split_patterns(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, ch) in text.char_indices() {
        match ch {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn overrides(globs: &[&str]) -> Result<Option<Override>, ToolError> {
    if globs.is_empty() {
        return Ok(None);
    }
    let mut builder = OverrideBuilder::new("");
    builder.allow_unclosed_class(false);
    for glob in globs {
        let (negation, plain) = glob.strip_prefix('!').map_or(("", *glob), |plain| ("!", plain));
        builder.add(&format!("{negation}{}", plain.trim_start_matches("./"))).map_err(|error| bad(glob, &error))?;
    }
    builder.build().map(Some).map_err(|error| bad(&globs.join(", "), &error))
}

fn bad(glob: &str, error: &ignore::Error) -> ToolError {
    let why = match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    };
    ToolError::validation(format!("Parameter 'glob' is not a pattern: '{}': {why}. Write something like '*.rs'.", brief(glob)))
}

fn types(name: &str) -> Result<Types, ToolError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let known = builder.definitions();
    let outcome = match extension_of(name, &known) {
        Some(ending) => builder.add(EXTENSION, &ending).and_then(|()| builder.select(EXTENSION).build()),
        None => builder.select(name).build(),
    };
    outcome.map_err(|_| unknown(name, &known))
}

/// `rs` for the type `rust` means the extension alone.
fn extension_of(name: &str, known: &[FileTypeDef]) -> Option<String> {
    let ending = format!("*.{}", plain(name));
    let is_named = known.iter().any(|known| known.name() == name);
    let is_known = known.iter().any(|known| known.globs().contains(&ending));
    (is_known && !is_named).then_some(ending)
}

fn plain(name: &str) -> String {
    name.trim_start_matches('.').to_ascii_lowercase()
}

fn unknown(name: &str, known: &[FileTypeDef]) -> ToolError {
    let wanted = plain(name);
    let names: Vec<String> = nearest(&wanted, known.iter().map(FileTypeDef::name)).iter().map(|name| format!("'{name}'")).collect();
    let hint = if names.is_empty() { String::new() } else { format!(" Perhaps {}?", names.join(", ")) };
    ToolError::validation(format!(
        "Parameter 'type' is not a known file type: '{}'.{hint} Or use 'glob', such as '*.{}'.",
        brief(name),
        brief(&wanted)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(globs: &[&str], kind: Option<&str>) -> Result<FileFilter, ToolError> {
        FileFilter::new(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>(), kind)
    }

    #[test]
    fn patterns_and_types_choose_files() {
        for (globs, kind, location, path, expected) in [
            (&[][..], None, ".", "a", true),
            (&["*.rs"], None, ".", "a/b.rs", true),
            (&["*.rs"], None, ".", "a/b.ts", false),
            (&["*.{ts,tsx}"], None, ".", "b.tsx", true),
            (&["*.ts,*.md"], None, ".", "b.md", true),
            (&["*.ts, *.md"], None, ".", "b.rs", false),
            (&["*.ts", "*.md"], None, ".", "b.md", true),
            (&["src/*.rs"], None, ".", "src/a.rs", true),
            (&["src/*.rs"], None, ".", "x/src/a.rs", false),
            (&["./src/*.rs"], None, ".", "src/a.rs", true),
            (&["src/*.rs"], None, "src", "a.rs", true),
            (&["src/*.rs"], None, "lib", "src/a.rs", true),
            (&["!*.rs"], None, ".", "a.rs", false),
            (&["!*.rs"], None, ".", "a.ts", true),
            (&["*.rs", "!*_test.rs"], None, ".", "a_test.rs", false),
            (&["*.rs", "!*_test.rs"], None, ".", "a.rs", true),
            (&["!tests"], None, ".", "tests/deep/a.rs", false),
            (&["!tests/"], None, ".", "a/tests/a.rs", false),
            (&["!tests/**"], None, ".", "tests/deep/a.rs", false),
            (&["*.rs", "!tests/"], None, ".", "a/tests/a.rs", false),
            (&["*.rs", "!tests/"], None, ".", "a/b/a.rs", true),
            (&["!sub/**"], None, "sub", "a.rs", false),
            (&[], Some("rust"), ".", "a.rs", true),
            (&[], Some("rust"), ".", "a.py", false),
            (&[], Some("make"), ".", "Makefile", true),
            (&["src/**"], Some("rust"), ".", "src/a.md", false),
            (&[], Some("rs"), ".", "a.rs", true),
            (&[], Some(".rs"), ".", "a.py", false),
            (&[], Some("YML"), ".", "a.yml", true),
        ] {
            assert_eq!(
                filter(globs, kind).unwrap().admits(location, Path::new(path)),
                expected,
                "{globs:?} {kind:?} in {location} on {path}"
            );
        }
    }

    #[test]
    fn what_is_not_understood_is_explained() {
        for (globs, kind, message) in [
            (
                &["[a"][..],
                None,
                "Parameter 'glob' is not a pattern: '[a': unclosed character class; missing ']'. Write something like '*.rs'.",
            ),
            (
                &[],
                Some("Pythn"),
                "Parameter 'type' is not a known file type: 'Pythn'. Perhaps 'python', 'py', 'cython'? \
                 Or use 'glob', such as '*.pythn'.",
            ),
            (&[], Some("zzzzzz"), "Parameter 'type' is not a known file type: 'zzzzzz'. Or use 'glob', such as '*.zzzzzz'."),
        ] {
            assert_eq!(filter(globs, kind).unwrap_err().message(), message);
        }
    }
}
