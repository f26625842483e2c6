//! The values that keys take, each read with an error that says what to write instead.

use std::fmt::Display;
use std::str::FromStr;

use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, ExprPath, Ident, Lit, LitStr, Meta, Result};

use crate::names::nearest_first;

/// The key of one entry, such as `name` in `name = "x"`.
pub(crate) fn key(meta: &Meta) -> Result<&Ident> {
    meta.path().get_ident().ok_or_else(|| Error::new_spanned(meta.path(), "a key is one word, such as `name`"))
}

/// An entry that is none of `keys`.
pub(crate) fn unknown_key(meta: &Meta, keys: &[&str]) -> Error {
    let key = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
    Error::new_spanned(meta.path(), format!("unknown key `{key}`\n\nhelp: use {}", nearest_first(&key, keys)))
}

/// An entry whose value has the wrong shape. A lone key is blamed itself, because it has no value to point at.
fn wrong(meta: &Meta, expected: &str, example: &str) -> Error {
    let span = match meta {
        Meta::NameValue(pair) => pair.value.span(),
        Meta::Path(_) | Meta::List(_) => meta.span(),
    };
    let key = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
    Error::new(span, format!("`{key}` takes {expected}: write `{example}`"))
}

fn expression(meta: &Meta) -> Option<&Expr> {
    match meta {
        Meta::NameValue(pair) => Some(&pair.value),
        Meta::Path(_) | Meta::List(_) => None,
    }
}

/// Text that is not blank.
fn as_text(value: &Expr) -> Option<LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if !text.value().trim().is_empty() => Some(text.clone()),
        _ => None,
    }
}

/// `key`, on its own.
pub(crate) fn flag(meta: &Meta) -> Result<bool> {
    let example = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
    if matches!(meta, Meta::Path(_)) { Ok(true) } else { Err(wrong(meta, "no value", &example)) }
}

/// `key = "text"`, not blank.
pub(crate) fn text(meta: &Meta, example: &str) -> Result<LitStr> {
    expression(meta).and_then(as_text).ok_or_else(|| wrong(meta, "text that is not blank", example))
}

/// `key = ["text", "text"]`, none of them blank.
pub(crate) fn texts(meta: &Meta, example: &str) -> Result<Vec<LitStr>> {
    let Some(Expr::Array(array)) = expression(meta) else { return Err(wrong(meta, "a list of text", example)) };
    let blamed = |element: &Expr| Error::new_spanned(element, format!("this must be text that is not blank: write `{example}`"));
    array.elems.iter().map(|element| as_text(element).ok_or_else(|| blamed(element))).collect()
}

/// `key = 10`, at least 1.
pub(crate) fn positive<N: FromStr<Err: Display> + PartialEq + From<u8>>(meta: &Meta, example: &str) -> Result<N> {
    let Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) = expression(meta) else {
        return Err(wrong(meta, "a whole number", example));
    };
    let value: N = number.base10_parse()?;
    if value == N::from(0) {
        return Err(Error::new_spanned(number, format!("`{}` must be at least 1: without it, nothing can be answered", key(meta)?)));
    }
    Ok(value)
}

/// `key = Variant`, one of `variants`.
pub(crate) fn variant(meta: &Meta, example: &str, variants: &[&str]) -> Result<Ident> {
    let name = match expression(meta) {
        Some(Expr::Path(path)) => path.path.get_ident().cloned(),
        _ => None,
    };
    let name = name.ok_or_else(|| wrong(meta, "a plain name", example))?;
    let spelled = name.to_string();
    if variants.contains(&spelled.as_str()) {
        return Ok(name);
    }
    let key = key(meta)?;
    Err(Error::new_spanned(&name, format!("unknown {key} `{spelled}`\n\nhelp: use {}", nearest_first(&spelled, variants))))
}

/// `key = path::to::item`.
pub(crate) fn path(meta: &Meta, expected: &str, example: &str) -> Result<ExprPath> {
    match expression(meta) {
        Some(Expr::Path(path)) => Ok(path.clone()),
        _ => Err(wrong(meta, expected, example)),
    }
}

/// `key = expression`.
pub(crate) fn any(meta: &Meta, example: &str) -> Result<Expr> {
    expression(meta).cloned().ok_or_else(|| wrong(meta, "a value", example))
}
