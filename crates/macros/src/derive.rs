//! `#[derive(ToolMeta)]`.

use proc_macro2::TokenStream;
use syn::{Data, DeriveInput, Error, Result};

use crate::keys::{self, Keys};
use crate::meta::{self, Subject};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let DeriveInput { ident, generics, attrs, data, .. } = input;
    if !matches!(data, Data::Struct(_)) {
        return Err(Error::new_spanned(ident, "a tool is a struct\n\nhelp: move the choice into a field or a parameter"));
    }
    let keys = Keys::of_struct(&keys::entries(attrs)?)?;
    meta::implementation(&Subject { target: ident, written: ident, generics, attributes: attrs }, &keys)
}
