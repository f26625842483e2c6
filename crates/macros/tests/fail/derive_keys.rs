use haft_macros::ToolMeta;

/// A tool.
#[derive(ToolMeta)]
#[tool(timeout = 10, section = File, category = Network, access = Write, nam = "x")]
struct Unknown;

/// A tool.
#[derive(ToolMeta)]
#[tool(name = read_file, label = "", section = "Files", timeout_secs = "10")]
struct WrongValues;

/// A tool.
#[derive(ToolMeta)]
#[tool(aliases = "read", permissions = ["camera", 1], forms = ["read"], deferred = true, owner_only(yes))]
struct WrongShapes;

/// A tool.
#[derive(ToolMeta)]
#[tool(timeout_secs = 0, name = "a", name = "b", name, plan = planned)]
struct Unwanted;

fn main() {}
