//! Short names for what the files of a page export, the same in all of them.

use std::collections::{BTreeSet, HashMap};

use super::names::letter;
use super::tokens;

/// Which name stands for which.
pub(in super::super) struct ExportNames {
    names: HashMap<String, String>,
}

impl ExportNames {
    pub(in super::super) fn from_scripts<'a>(scripts: impl Iterator<Item = &'a str>) -> Self {
        let exported: BTreeSet<String> = scripts.flat_map(exported).filter(|name| name.len() > 2).collect();
        Self { names: exported.into_iter().enumerate().map(|(index, name)| (name, short_name(index))).collect() }
    }

    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.names.get(name).cloned()
    }
}

/// `Aa` to `ZZ`: a variable of a file gets none of them, since those of two letters begin with a small one.
fn short_name(index: usize) -> String {
    format!("{}{}", letter(index / 52 % 26).to_ascii_uppercase(), letter(index))
}

/// What a script exports under a name; a default has none.
fn exported(script: &str) -> Vec<String> {
    let tokens = tokens::split(script);
    let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    let mut names = Vec::new();
    for at in (0..texts.len()).filter(|at| texts[*at] == "export") {
        let declaration = if texts.get(at + 1) == Some(&"async") { at + 2 } else { at + 1 };
        if matches!(texts.get(declaration), Some(&("function" | "class" | "const" | "let"))) {
            names.extend(texts.get(declaration + 1).map(|name| (*name).to_owned()));
        }
    }
    names
}
