use haft_macros::ToolMeta;

/// A tool.
#[derive(ToolMeta)]
#[tool(name = "Read-File")]
struct BadChars;

/// A tool.
#[derive(ToolMeta)]
struct Größe;

/// A tool.
#[derive(ToolMeta)]
#[tool(name = "a_name_that_is_so_long_that_no_provider_would_ever_take_it_from_us")]
struct Long;

fn main() {}
