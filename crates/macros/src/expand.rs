//! The code that a tool function expands to.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Result, Visibility};

use crate::function::ToolFunction;
use crate::meta::{self, ToolSubject};
use crate::parameter::{ToolInput, ToolParameter};

/// The function, the tool, its metadata, its parameters, and its implementation.
pub(crate) fn tool(function: &ToolFunction) -> Result<TokenStream> {
    let item = &function.item;
    let name = function.tool_name();
    let subject = ToolSubject { target: &name, written: &item.sig.ident, generics: &item.sig.generics, attributes: &item.attrs };
    let meta = meta::implementation(&subject, &function.keys)?;
    let unit = unit_struct(function);
    let params = params_struct(function);
    let implementation = implementation(function);
    Ok(quote! {
        // The macro asks for `async` and owned parameters, many or few, and the doc comment is for the model.
        #[allow(clippy::unused_async, clippy::needless_pass_by_value, clippy::too_many_arguments, clippy::missing_errors_doc)]
        #item
        #unit
        #meta
        #params
        #implementation
    })
}

fn unit_struct(function: &ToolFunction) -> TokenStream {
    let (name, visibility) = (function.tool_name(), &function.item.vis);
    let comments = function.item.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
    quote! {
        #(#comments)*
        #[derive(Debug, Clone, Copy, Default)]
        #visibility struct #name;
    }
}

fn params_struct(function: &ToolFunction) -> TokenStream {
    let (name, visibility) = (function.params_name(), &function.item.vis);
    let comment = format!("The parameters of [`{}`].", function.tool_name());
    let hidden = matches!(visibility, Visibility::Inherited).then(|| quote!(#[doc(hidden)]));
    let fields = function.parameters().map(|parameter| parameter.field(visibility, &name));
    let defaults: Vec<_> = function.parameters().filter_map(ToolParameter::default_definition).collect();
    let defaults = (!defaults.is_empty()).then(|| quote!(impl #name { #(#defaults)* }));
    quote! {
        #[doc = #comment]
        #hidden
        #[allow(missing_debug_implementations)] // the types of its fields owe no `Debug`
        #[derive(::haft::private::serde::Deserialize, ::haft::private::schemars::JsonSchema)]
        #[serde(crate = "::haft::private::serde")]
        #[schemars(crate = "::haft::private::schemars")]
        #visibility struct #name { #(#fields,)* }
        #defaults
    }
}

fn implementation(function: &ToolFunction) -> TokenStream {
    let (name, params, output) = (function.tool_name(), function.params_name(), &function.output);
    let plan = plan(function);
    let call = call(function);
    quote! {
        impl ::haft::Tool for #name {
            type Params = #params;
            type Output = #output;
            #plan
            #[allow(unused_variables)] // a tool may take no parameters, or no context
            async fn execute(
                &self,
                params: #params,
                cx: &::haft::ToolContext,
            ) -> ::core::result::Result<#output, ::haft::ToolError> {
                #call
            }
        }
    }
}

fn plan(function: &ToolFunction) -> Option<TokenStream> {
    let (plan, params) = (function.keys.plan.as_ref()?, function.params_name());
    Some(quote! {
        fn plan(
            &self,
            params: &#params,
            cx: &::haft::PlanContext<'_>,
        ) -> ::core::result::Result<::haft::Plan, ::haft::ToolError> {
            #plan(params, cx)
        }
    })
}

fn call(function: &ToolFunction) -> TokenStream {
    let signature = &function.item.sig;
    let name = &signature.ident;
    let arguments = function.inputs.iter().map(|input| match input {
        ToolInput::Context => quote!(cx),
        ToolInput::Parameter(parameter) => {
            let name = &parameter.name;
            quote!(params.#name)
        }
    });
    // A wrong error type is shown at the function, not at the attribute.
    quote_spanned!(signature.output.span()=> #name(#(#arguments),*).await)
}
