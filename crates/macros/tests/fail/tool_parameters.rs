use haft::ToolError;

/// Adds.
#[haft_macros::tool]
async fn add((a, b): (i64, i64)) -> Result<String, ToolError> {
    Ok((a + b).to_string())
}

/// Shows.
#[haft_macros::tool]
async fn show(text: &str) -> Result<String, ToolError> {
    Ok(text.to_owned())
}

/// Shows.
#[haft_macros::tool]
async fn show_number(#[tool(defaults = 1)] number: i64) -> Result<String, ToolError> {
    Ok(number.to_string())
}

/// Shows.
#[haft_macros::tool]
async fn show_text(#[tool(verbatim = true, default)] text: String) -> Result<String, ToolError> {
    Ok(text)
}

fn main() {}
