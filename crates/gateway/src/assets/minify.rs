//! Files of the page without comments, needless blanks and long names of variables: they are written for readers, and browsers load less.
//!
//! The build script makes the embedded copies. Statements stay where they are. A line break stays where a statement could end at it, so
//! code without semicolons means the same.

mod css;
mod script;

use css::PropertyNames;
use script::ExportNames;

/// Makes the files of one page smaller, all by the same names.
pub(crate) struct Minifier {
    exports: ExportNames,
    properties: PropertyNames,
}

impl Minifier {
    /// For a page of these files, name and content of each.
    pub(crate) fn new<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let files: Vec<(&str, &str)> =
            files.filter_map(|(name, content)| Some((ending(name), std::str::from_utf8(content).ok()?))).collect();
        let of = |kind: &'static str| files.iter().filter(move |(ending, _)| *ending == kind).map(|(_, text)| *text);
        let others: Vec<&str> = files.iter().filter(|(ending, _)| *ending != "css").map(|(_, text)| *text).collect();
        Self { exports: ExportNames::from_scripts(of("js")), properties: PropertyNames::from_files(of("css"), &others) }
    }

    /// The file as it is sent; kinds that are not known stay as they are.
    pub(crate) fn minify(&self, name: &str, content: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(content) else { return content.to_vec() };
        match ending(name) {
            "js" => script::minify(text, &self.exports).into_bytes(),
            "css" => css::minify(text, &self.properties).into_bytes(),
            _ => content.to_vec(),
        }
    }
}

fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}
