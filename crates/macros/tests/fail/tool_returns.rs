/// Answers.
#[haft_macros::tool]
async fn answer() -> String {
    String::new()
}

/// Answers.
#[haft_macros::tool]
async fn silent() {}

fn main() {}
