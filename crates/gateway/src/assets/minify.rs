//! Files of the page without comments, needless blanks and long names of variables: they are written for readers, and browsers load less.
//!
//! The build script makes the embedded copies. Statements stay where they are. A line break stays where a statement could end at it, so
//! code without semicolons means the same.

mod css;
mod script;

use script::ExportNames;

/// Makes the files of one page smaller, all by the same names.
pub(crate) struct Minifier {
    exports: ExportNames,
}

impl Minifier {
    /// For a page of these files, name and content of each.
    pub(crate) fn new<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let scripts = files.filter(|(name, _)| ending(name) == "js").filter_map(|(_, content)| std::str::from_utf8(content).ok());
        Self { exports: ExportNames::from_scripts(scripts) }
    }

    /// The file as it is sent; kinds that are not known stay as they are.
    pub(crate) fn minify(&self, name: &str, content: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(content) else { return content.to_vec() };
        match ending(name) {
            "js" => script::minify(text, &self.exports).into_bytes(),
            "css" => css::minify(text).into_bytes(),
            _ => content.to_vec(),
        }
    }
}

fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}
