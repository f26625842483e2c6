use haft::ToolError;

/// Reads.
#[haft::tool(section = Files)]
struct ReadFile;

/// Adds.
#[haft::tool(sections = Files)]
async fn add(a: i64) -> Result<String, ToolError> {
    Ok(a.to_string())
}

/// Adds.
#[haft::tool]
async fn _1(a: i64) -> Result<String, ToolError> {
    Ok(a.to_string())
}

fn main() {}
