use haft::ToolError;

/// Adds.
#[haft_macros::tool]
fn add(a: i64) -> Result<String, ToolError> {
    Ok(a.to_string())
}

fn main() {
    // Still there: one mistake, one message.
    let _ = add(1);
}
