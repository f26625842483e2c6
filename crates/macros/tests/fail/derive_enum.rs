use haft_macros::ToolMeta;

/// A tool.
#[derive(ToolMeta)]
enum Choice {
    One,
}

fn main() {}
