use haft::ToolError;

#[haft_macros::tool]
async fn add(a: i64) -> Result<String, ToolError> {
    Ok(a.to_string())
}

fn main() {}
