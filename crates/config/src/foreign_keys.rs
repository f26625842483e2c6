//! Keys that other tools have, and what they are here.

/// The key without `-` and `_`, in lower case, and the advice.
pub(crate) const HELP: &[(&str, &str)] = &[
    (
        "permissions",
        "write [rules] with deny, only, ask and allow, such as ask = [\"exec(npm *)\"]; `haft config preset` lists ready-made settings",
    ),
    ("permissionmode", "write ask = \"changes\" (or never, beyond, rules, always); `haft config preset` lists ready-made settings"),
    ("defaultmode", "write ask = \"changes\" (or never, beyond, rules, always); `haft config preset` lists ready-made settings"),
    ("approvalpolicy", "write ask = \"beyond\" (or never, rules, changes, always); `haft config preset` lists ready-made settings"),
    ("approvalmode", "write ask = \"beyond\" (or never, rules, changes, always); `haft config preset` lists ready-made settings"),
    ("autoapprove", "list what needs no approval in rules.allow, such as \"exec(cargo test *)\""),
    ("alwaysallow", "list what needs no approval in rules.allow, such as \"exec(cargo test *)\""),
    ("allowedtools", "list the only tools in tools.allow, and what needs no approval in rules.allow"),
    ("disallowedtools", "list tools in tools.deny, and effects of any tool in rules.deny"),
    ("coretools", "list the only tools in tools.allow"),
    ("excludetools", "list tools in tools.deny, and effects of any tool in rules.deny"),
    ("sandboxmode", "write access = \"workspace-write\" (or read-only, full-access); the sandbox of commands is [sandbox]"),
    ("sandboxworkspacewrite", "write access = \"workspace-write\", and other folders in workspace.roots"),
    ("writableroots", "list folders in workspace.roots, such as { path = \"~/notes\", access = \"workspace-write\" }"),
    ("additionaldirectories", "list folders in workspace.roots, such as { path = \"~/notes\", access = \"read-only\" }"),
    ("networkaccess", "allow hosts in rules.allow, such as \"connect(domain:*.example.org)\", or list the only ones in rules.only"),
    (
        "mcpservers",
        "describe each in [mcp.servers.NAME] with command and args, or run `haft mcp add`; rules name its tools as mcp__SERVER__TOOL",
    ),
    ("modelprovider", "name the provider with the model, such as model = \"work/qwen3\", and describe it in [providers.work]"),
    ("modelproviders", "describe each in [providers.NAME] with protocol, base_url and api_key_env"),
    ("apikey", "name the variable that holds the key: api_key_env = \"WORK_KEY\" in [providers.NAME]"),
    ("systemprompt", "write prompt = \"…\" in [agents.main]"),
    ("instructions", "write prompt = \"…\" in [agents.main]"),
    ("ignorepatterns", "list what is never read in workspace.deny_read, such as \"**/*.key\""),
];
