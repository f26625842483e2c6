//! `#[tool]` on an `async fn`: parses and checks it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::{Error, FnArg, GenericArgument, Ident, Item, ItemFn, PathArguments, Receiver, Result, ReturnType, Signature, Type};

use crate::keys::{KeyEntries, ToolKeys};
use crate::parameter::{ToolInput, ToolParameter, is_helper};
use crate::{expand, names};

/// A function that can be a tool.
pub(crate) struct ToolFunction {
    /// The function without the attributes of the macro.
    pub(crate) item: ItemFn,
    pub(crate) keys: ToolKeys,
    pub(crate) inputs: Vec<ToolInput>,
    /// The type of its result.
    pub(crate) output: Type,
}

pub(crate) fn expand(keys: TokenStream, item: &TokenStream) -> TokenStream {
    let mut function = match syn::parse2(item.clone()) {
        Ok(Item::Fn(function)) => function,
        Ok(_) => return beside(not_a_function(), item),
        Err(fault) => return beside(fault, item),
    };
    let inputs = read_signature(&function.sig);
    remove_helpers(&mut function.sig);
    // The function stays after an error, so that its callers do not report more errors.
    let original = function.to_token_stream();
    let expanded = inputs.and_then(|(inputs, output)| {
        let entries: Vec<_> = KeyEntries::parse_terminated.parse2(keys)?.into_iter().collect();
        expand::tool(&ToolFunction { item: function, keys: ToolKeys::of_function(&entries)?, inputs, output })
    });
    expanded.unwrap_or_else(|fault| beside(fault, &original))
}

fn beside(fault: Error, item: &TokenStream) -> TokenStream {
    let fault = fault.into_compile_error();
    quote!(#fault #item)
}

fn not_a_function() -> Error {
    Error::new(
        Span::call_site(),
        "`#[tool]` makes a tool of an `async fn`\n\nhelp: a struct has `#[derive(ToolMeta)]`, and `#[tool(...)]` below that",
    )
}

fn read_signature(signature: &Signature) -> Result<(Vec<ToolInput>, Type)> {
    check_shape(signature)?;
    let mut inputs = Vec::new();
    for argument in &signature.inputs {
        match argument {
            FnArg::Receiver(receiver) => return Err(has_self(receiver)),
            FnArg::Typed(written) => {
                let input = ToolInput::read(written)?;
                if matches!(input, ToolInput::Context) && inputs.iter().any(|input| matches!(input, ToolInput::Context)) {
                    return Err(Error::new_spanned(written, "a call has one context, and this is the second\n\nhelp: remove one"));
                }
                inputs.push(input);
            }
        }
    }
    Ok((inputs, output(signature)?))
}

fn check_shape(signature: &Signature) -> Result<()> {
    let name = &signature.ident;
    if !struct_name(name).starts_with(char::is_alphabetic) {
        return Err(Error::new_spanned(name, "a tool function has a name that starts with a letter\n\nhelp: name it after what it does"));
    }
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(signature.fn_token, format!("a tool function is `async`\n\nhelp: write `async fn {name}`")));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &signature.generics,
            "a tool function is not generic: the model is shown one schema\n\nhelp: name the types",
        ));
    }
    Ok(())
}

fn has_self(receiver: &Receiver) -> Error {
    Error::new_spanned(
        receiver,
        "a tool function has no `self`\n\nhelp: a tool with state is a struct with `#[derive(ToolMeta)]` and `impl Tool`",
    )
}

/// The `T` of `Result<T, ToolError>`.
fn output(signature: &Signature) -> Result<Type> {
    let fault = |blamed: &dyn ToTokens| {
        Error::new_spanned(
            blamed,
            "a tool function returns `Result<T, ToolError>`, where `T` is what the model gets\n\n\
             help: `String`, `Json<T>` for data, `ToolOutput` for pictures and details, `()` for nothing",
        )
    };
    let ReturnType::Type(_, returned) = &signature.output else { return Err(fault(&signature.ident)) };
    let Type::Path(path) = &**returned else { return Err(fault(returned)) };
    let Some(last) = path.path.segments.last().filter(|last| last.ident == "Result") else { return Err(fault(returned)) };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return Err(fault(returned)) };
    match arguments.args.first() {
        Some(GenericArgument::Type(output)) => Ok(output.clone()),
        _ => Err(fault(returned)),
    }
}

fn remove_helpers(signature: &mut Signature) {
    for argument in &mut signature.inputs {
        if let FnArg::Typed(written) = argument {
            written.attrs.retain(|attribute| !is_helper(attribute));
        }
    }
}

fn struct_name(function: &Ident) -> String {
    names::upper_camel_case(&function.unraw().to_string())
}

impl ToolFunction {
    /// The name of the struct that is the tool.
    pub(crate) fn tool_name(&self) -> Ident {
        let name = &self.item.sig.ident;
        Ident::new(&struct_name(name), name.span())
    }

    /// The name of the struct of its parameters.
    pub(crate) fn params_name(&self) -> Ident {
        format_ident!("{}Params", self.tool_name())
    }

    /// The parameters that the model fills in.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &ToolParameter> {
        self.inputs.iter().filter_map(|input| match input {
            ToolInput::Parameter(parameter) => Some(&**parameter),
            ToolInput::Context => None,
        })
    }
}
