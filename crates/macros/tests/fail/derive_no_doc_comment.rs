use haft_macros::ToolMeta;

#[derive(ToolMeta)]
#[tool(name = "read_file")]
struct ReadFile;

fn main() {}
