use haft::ToolError;

/// Shows anything.
#[haft_macros::tool]
async fn show<T: ToString>(value: T) -> Result<String, ToolError> {
    Ok(value.to_string())
}

/// Shows anything.
#[haft_macros::tool]
async fn show_any(value: impl ToString) -> Result<String, ToolError> {
    Ok(value.to_string())
}

fn main() {}
