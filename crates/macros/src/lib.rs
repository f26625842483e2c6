//! `#[derive(ToolMeta)]` and `#[tool]`: the metadata of a tool, and a whole tool, from its code and doc comment.
//!
//! The doc comment is the description that the model reads. Generated code names everything through `::haft`; a crate
//! below the facade writes `extern crate haft_contract as haft;` at its root.

mod description;
mod expand;
mod function;
mod keys;
mod meta;
mod names;
mod parameter;
mod value;

use proc_macro::TokenStream;

/// Writes `ToolMeta` for a struct from its doc comment and `#[tool(...)]`.
///
/// Every key is optional:
///
/// | key | default |
/// |---|---|
/// | `name = "read_file"` | the struct's name in snake_case |
/// | `label = "Read file"` | the name with blanks, first letter in upper case |
/// | `section = Files` | `System` |
/// | `category = Io` | `System` |
/// | `access = ReadOnly` | `ReadOnly` |
/// | `timeout_secs = 10` | 30 |
/// | `max_output = 1_000_000` | the engine's cap on text for the model, in bytes |
/// | `permissions = ["…"]` | none: what the platform must grant first |
/// | `profiles = ["coding"]` | none |
/// | `aliases = ["read"]` | none |
/// | `forms = FORMS` | none: a `const FORMS: &[Form]`, what dialects call the tool and its parameters |
/// | `rules = Read` | none: what the content of a rule on the tool is about, as in `read_file(docs/**)` |
/// | `owner_only`, `deferred` | off |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | off: hints for MCP clients |
#[proc_macro_derive(ToolMeta, attributes(tool))]
pub fn derive_tool_meta(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    meta::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a tool of an `async fn`.
///
/// `async fn add(a: i64, cx: &ToolContext) -> Result<String, ToolError>` becomes a unit struct `Add`, to register, and
/// `AddParams`, to plan with; the function itself stays as it is. The keys are those of `#[derive(ToolMeta)]`, and
/// `plan = path::to::function`: a `fn(&AddParams, &PlanContext<'_>) -> Result<Plan, ToolError>` that says what a call will
/// do. Without it, the tool touches nothing.
///
/// A parameter's doc comment is its description. `Option<T>` may be absent. `#[tool(...)]` on a parameter takes
/// `default = expression`, `aliases = ["other_spelling"]` and `verbatim` (the text is not trimmed, and empty is a value);
/// `#[serde(...)]` and `#[schemars(...)]` are handed on. A parameter of the type `&ToolContext` is the context.
#[proc_macro_attribute]
pub fn tool(keys: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(keys.into(), &item.into()).into()
}
