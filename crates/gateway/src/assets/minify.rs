//! Files of the page without comments, needless blanks and long names of variables: they are written for readers, and browsers load less.
//!
//! The build script makes the embedded copies. Statements stay as they are and where they are. A line break stays where a statement
//! could end at it, so code without semicolons means the same.

mod css;
mod script;

/// The file as it is sent; kinds that are not known stay as they are.
pub(crate) fn minify(name: &str, content: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(content) else { return content.to_vec() };
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => script::minify(text).into_bytes(),
        Some("css") => css::minify(text).into_bytes(),
        _ => content.to_vec(),
    }
}
