use haft::ToolMeta;

/// A tool.
#[derive(ToolMeta)]
enum Choice {
    One,
}

fn main() {}
