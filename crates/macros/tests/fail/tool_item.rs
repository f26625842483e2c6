use haft::ToolError;

/// Reads.
#[haft_macros::tool(section = Files)]
struct ReadFile;

/// Adds.
#[haft_macros::tool(sections = Files)]
async fn add(a: i64) -> Result<String, ToolError> {
    Ok(a.to_string())
}

/// Adds.
#[haft_macros::tool]
async fn _1(a: i64) -> Result<String, ToolError> {
    Ok(a.to_string())
}

fn main() {}
