//! `impl ToolMeta`, from keys and a doc comment.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Attribute, Error, Generics, Ident, LitStr, Result};

use crate::keys::Keys;
use crate::{description, names};

/// What becomes a tool.
pub(crate) struct Subject<'a> {
    /// The type that is a tool.
    pub(crate) target: &'a Ident,
    /// The name that its author wrote; faults are shown there.
    pub(crate) written: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) attributes: &'a [Attribute],
}

/// The `impl ToolMeta` of a subject.
pub(crate) fn implementation(subject: &Subject<'_>, keys: &Keys) -> Result<TokenStream> {
    let Subject { target, written, generics, attributes } = subject;
    let description = description::of(attributes);
    if description.is_empty() {
        return Err(missing_description(written));
    }
    let name = tool_name(keys, written)?;
    let label = keys.label.as_ref().map_or_else(|| names::label(&name), LitStr::value);
    let changes = changes(keys);
    let (implemented, types, condition) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #implemented ::haft::ToolMeta for #target #types #condition {
            const META: ::haft::Meta = {
                let mut meta = ::haft::Meta::new(#name, #description);
                meta.label = #label;
                #changes
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

fn tool_name(keys: &Keys, written: &Ident) -> Result<String> {
    let (name, span) = match &keys.name {
        Some(name) => (name.value(), name.span()),
        None => (names::snake_case(&written.unraw().to_string()), written.span()),
    };
    names::check(&name, span)?;
    Ok(name)
}

/// What differs from `Meta::new`. Assignments in place of a struct update: they stay quiet when every key is given.
fn changes(keys: &Keys) -> TokenStream {
    let section = keys.section.as_ref().map(|variant| quote!(meta.section = ::haft::Section::#variant;));
    let category = keys.category.as_ref().map(|variant| quote!(meta.category = ::haft::Category::#variant;));
    let access = keys.access.as_ref().map(|variant| quote!(meta.access = ::haft::Access::#variant;));
    let timeout = keys.timeout_secs.as_ref().map(|seconds| quote!(meta.timeout = ::haft::private::Duration::from_secs(#seconds);));
    let max_output = keys.max_output.map(|bytes| quote!(meta.max_output = #bytes;));
    let permissions = keys.permissions.as_ref().map(|names| quote!(meta.permissions = &[#(#names),*];));
    let profiles = keys.profiles.as_ref().map(|names| quote!(meta.profiles = &[#(#names),*];));
    let aliases = keys.aliases.as_ref().map(|names| quote!(meta.aliases = &[#(#names),*];));
    let forms = keys.forms.as_ref().map(|constant| quote!(meta.forms = #constant;));
    let owner_only = keys.owner_only.then(|| quote!(meta.owner_only = true;));
    let deferred = keys.deferred.then(|| quote!(meta.deferred = true;));
    let hints = hints(keys);
    quote!(#section #category #access #timeout #max_output #permissions #profiles #aliases #forms #owner_only #deferred #hints)
}

fn hints(keys: &Keys) -> TokenStream {
    let read_only = keys.read_only.then(|| quote!(meta.hints.read_only = true;));
    let destructive = keys.destructive.then(|| quote!(meta.hints.destructive = true;));
    let idempotent = keys.idempotent.then(|| quote!(meta.hints.idempotent = true;));
    let open_world = keys.open_world.then(|| quote!(meta.hints.open_world = true;));
    quote!(#read_only #destructive #idempotent #open_world)
}
