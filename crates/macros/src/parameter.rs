//! One parameter of a tool function.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Pat, PatType, Result, Type, TypeReference, Visibility};

use crate::description;
use crate::keys::{each_once, entries};
use crate::value::{self, key, unknown_key};

const KEYS: &[&str] = &["default", "aliases", "verbatim"];

/// An argument of a tool function.
pub(crate) enum ToolInput {
    /// The context of the call.
    Context,
    /// A parameter that the model fills in.
    Parameter(Box<ToolParameter>),
}

/// A parameter that the model fills in.
pub(crate) struct ToolParameter {
    pub(crate) name: Ident,
    kind: Type,
    description: String,
    /// Doc comments and attributes of serde and schemars.
    attributes: Vec<Attribute>,
    default: Option<Expr>,
    aliases: Vec<LitStr>,
    verbatim: bool,
}

impl ToolInput {
    pub(crate) fn read(written: &PatType) -> Result<Self> {
        if let Type::Reference(TypeReference { mutability: None, elem, .. }) = &*written.ty
            && is_context(elem)
        {
            return Ok(Self::Context);
        }
        check_kind(&written.ty)?;
        ToolParameter::read(written).map(|parameter| Self::Parameter(Box::new(parameter)))
    }
}

/// Whether an attribute describes the parameter, and so must not stay on the function.
pub(crate) fn is_helper(attribute: &Attribute) -> bool {
    attribute.path().is_ident("tool") || is_for_field(attribute)
}

fn is_for_field(attribute: &Attribute) -> bool {
    ["doc", "serde", "schemars"].iter().any(|name| attribute.path().is_ident(name))
}

fn is_context(kind: &Type) -> bool {
    matches!(kind, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "ToolContext"))
}

/// Checks that a parameter owns its value: it is read from JSON.
fn check_kind(kind: &Type) -> Result<()> {
    let problem = match kind {
        Type::Path(_) if is_context(kind) => "the context is taken by reference\n\nhelp: write `&ToolContext`",
        Type::Reference(reference) if is_context(&reference.elem) => "the context is shared\n\nhelp: write `&ToolContext`",
        Type::Reference(_) => {
            "a parameter must own its value: it is read from the model's JSON\n\nhelp: `String` in place of `&str`, `Vec<T>` in place of `&[T]`"
        }
        Type::ImplTrait(_) => "a parameter needs one type: the model is shown its schema\n\nhelp: name the type, such as `String`",
        _ => return Ok(()),
    };
    Err(Error::new_spanned(kind, problem))
}

impl ToolParameter {
    fn read(written: &PatType) -> Result<Self> {
        let mut parameter = Self {
            name: plain_name(&written.pat)?,
            kind: (*written.ty).clone(),
            description: description::from_attributes(&written.attrs),
            attributes: written.attrs.iter().filter(|attribute| is_for_field(attribute)).cloned().collect(),
            default: None,
            aliases: Vec::new(),
            verbatim: false,
        };
        each_once(&entries(&written.attrs)?, |entry| parameter.read_key(entry))?;
        Ok(parameter)
    }

    fn read_key(&mut self, entry: &Meta) -> Result<()> {
        match key(entry)?.to_string().as_str() {
            "default" => self.default = Some(value::any(entry, "default = 1")?),
            "aliases" => self.aliases = value::texts(entry, r#"aliases = ["file_path"]"#)?,
            "verbatim" => self.verbatim = value::flag(entry)?,
            _ => return Err(unknown_key(entry, KEYS)),
        }
        Ok(())
    }

    /// The field of the parameter struct `owner`.
    pub(crate) fn field(&self, visibility: &Visibility, owner: &Ident) -> TokenStream {
        let Self { name, kind, description, attributes, aliases, .. } = self;
        // Explicit, because schemars takes a comment that starts with `#` for a title.
        let described = (!description.is_empty()).then(|| quote!(#[schemars(description = #description)]));
        let default = self.default_function().map(|function| {
            let path = format!("{owner}::{function}");
            quote!(#[serde(default = #path)])
        });
        let aliases = (!aliases.is_empty()).then(|| quote!(#[schemars(extend("x-aliases" = [#(#aliases),*]))]));
        let verbatim = self.verbatim.then(|| quote!(#[schemars(extend("x-verbatim" = true))]));
        quote!(#(#attributes)* #described #default #aliases #verbatim #visibility #name: #kind)
    }

    /// The function of the default value: serde takes only the path of a function.
    pub(crate) fn default_definition(&self) -> Option<TokenStream> {
        let (function, default, kind) = (self.default_function()?, self.default.as_ref()?, &self.kind);
        // Text is written as a literal, whatever owns it in the end.
        let is_text = matches!(default, Expr::Lit(ExprLit { lit: Lit::Str(_), .. }));
        let value = if is_text { quote!(::core::convert::Into::into(#default)) } else { quote!(#default) };
        Some(quote!(fn #function() -> #kind { #value }))
    }

    fn default_function(&self) -> Option<Ident> {
        self.default.as_ref().map(|_| format_ident!("default_{}", self.name.unraw()))
    }
}

fn plain_name(pattern: &Pat) -> Result<Ident> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => Ok(name.ident.clone()),
        _ => Err(Error::new_spanned(
            pattern,
            "a parameter needs a plain name: the model fills it in by that name\n\nhelp: take it apart in the body of the function",
        )),
    }
}
