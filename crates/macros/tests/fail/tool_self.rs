use haft::ToolError;

struct Counter;

impl Counter {
    /// Counts.
    #[haft_macros::tool]
    async fn count(&self) -> Result<String, ToolError> {
        Ok(String::new())
    }
}

fn main() {}
