//! `#[derive(ToolMeta)]`, and the `impl ToolMeta` of every tool, from keys and a doc comment.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Attribute, Data, DeriveInput, Error, Generics, Ident, LitStr, Result};

use crate::keys::{self, ToolKeys};
use crate::{description, names};

/// The struct or function that becomes a tool.
pub(crate) struct ToolSubject<'a> {
    /// The type that is a tool.
    pub(crate) target: &'a Ident,
    /// The name that its author wrote; faults are shown there.
    pub(crate) written: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) attributes: &'a [Attribute],
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let DeriveInput { ident, generics, attrs, data, .. } = input;
    if !matches!(data, Data::Struct(_)) {
        return Err(Error::new_spanned(ident, "a tool is a struct\n\nhelp: move the choice into a field or a parameter"));
    }
    let keys = ToolKeys::of_struct(&keys::entries(attrs)?)?;
    implementation(&ToolSubject { target: ident, written: ident, generics, attributes: attrs }, &keys)
}

/// The `impl ToolMeta` of a tool.
pub(crate) fn implementation(subject: &ToolSubject<'_>, keys: &ToolKeys) -> Result<TokenStream> {
    let ToolSubject { target, written, generics, attributes } = subject;
    let description = description::from_attributes(attributes);
    if description.is_empty() {
        return Err(missing_description(written));
    }
    let name = tool_name(keys, written)?;
    let label = keys.label.as_ref().map_or_else(|| names::label(&name), LitStr::value);
    let assignments = &keys.assignments;
    let (implemented, types, condition) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #implemented ::haft::ToolMeta for #target #types #condition {
            const META: ::haft::Meta = {
                let mut meta = ::haft::Meta::new(#name, #description);
                meta.label = #label;
                #(meta.#assignments;)*
                meta
            };
        }
    })
}

fn missing_description(written: &Ident) -> Error {
    Error::new_spanned(
        written,
        "a tool needs a doc comment: it is the description that the model reads\n\n\
         help: say above it what the tool does, and when not to use it: `/// Reads a text file.`",
    )
}

fn tool_name(keys: &ToolKeys, written: &Ident) -> Result<String> {
    let (name, span) = match &keys.name {
        Some(name) => (name.value(), name.span()),
        None => (haft_text::case::snake_case(&written.unraw().to_string()), written.span()),
    };
    names::check(&name, span)?;
    Ok(name)
}
