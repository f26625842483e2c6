use haft::{ToolContext, ToolError};

/// Answers.
#[haft_macros::tool]
async fn twice(a: &ToolContext, b: &haft::ToolContext) -> Result<bool, ToolError> {
    Ok(a.is_cancelled() && b.is_cancelled())
}

/// Answers.
#[haft_macros::tool]
async fn owned(cx: ToolContext) -> Result<bool, ToolError> {
    Ok(cx.is_cancelled())
}

/// Answers.
#[haft_macros::tool]
async fn exclusive(cx: &mut ToolContext) -> Result<bool, ToolError> {
    Ok(cx.is_cancelled())
}

fn main() {}
