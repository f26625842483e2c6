/// Answers.
#[haft::tool]
async fn answer() -> String {
    String::new()
}

/// Answers.
#[haft::tool]
async fn silent() {}

fn main() {}
