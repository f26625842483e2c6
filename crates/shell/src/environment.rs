//! Variables that change what programs do, whatever their options say.

/// Names that load code, choose programs, or change how words are split.
const NAMES: &[(&str, &str)] = &[
    ("PATH", "which chooses the programs that names mean"),
    ("CDPATH", "which changes where cd goes"),
    ("IFS", "which changes how words are split"),
    ("ENV", "which names a script that shells run first"),
    ("BASH_ENV", "which names a script that bash runs first"),
    ("BASHOPTS", "which changes how bash reads"),
    ("SHELLOPTS", "which changes how bash reads"),
    ("BASH_CMDS", "which chooses the programs that names mean"),
    ("BASH_ALIASES", "which gives names another meaning"),
    ("PROMPT_COMMAND", "which bash runs"),
    ("PS0", "which bash expands and runs"),
    ("PS1", "which bash expands and runs"),
    ("PS2", "which bash expands and runs"),
    ("PS4", "which bash expands and runs"),
    ("GLOBIGNORE", "which changes what patterns match"),
    ("POSIXLY_CORRECT", "which changes how options are read"),
    ("HOME", "which chooses the configuration that programs read"),
    ("SHELL", "which chooses the shell that programs start"),
    ("ZDOTDIR", "which names scripts that zsh runs first"),
    ("EDITOR", "which programs run"),
    ("VISUAL", "which programs run"),
    ("PAGER", "which programs run"),
    ("MANPAGER", "which programs run"),
    ("BROWSER", "which programs run"),
    ("LESSOPEN", "which less runs"),
    ("LESSCLOSE", "which less runs"),
    ("TAR_OPTIONS", "which gives tar more options"),
    ("GREP_OPTIONS", "which gives grep more options"),
    ("RIPGREP_CONFIG_PATH", "which gives rg more options"),
    ("NODE_OPTIONS", "which loads code into node"),
    ("NODE_PATH", "which loads code into node"),
    ("JAVA_TOOL_OPTIONS", "which loads code into java"),
    ("_JAVA_OPTIONS", "which loads code into java"),
    ("CLASSPATH", "which loads code into java"),
    ("MAKEFLAGS", "which gives make more options"),
    ("RUSTC", "which chooses the compiler"),
    ("RUSTC_WRAPPER", "which cargo runs"),
    ("RUSTFLAGS", "which gives the compiler more options"),
    ("CC", "which chooses the compiler"),
    ("CXX", "which chooses the compiler"),
    ("GCONV_PATH", "which loads code into every program"),
    ("SSLKEYLOGFILE", "which writes down the keys of connections"),
    ("SSH_ASKPASS", "which ssh runs"),
    ("TERMINFO", "which loads data into every program"),
    ("XDG_CONFIG_HOME", "which chooses the configuration that programs read"),
    ("HOSTALIASES", "which changes what host names mean"),
];

/// Families of such names.
const FAMILIES: &[(&str, &str)] = &[
    ("LD_", "which loads code into every program"),
    ("DYLD_", "which loads code into every program"),
    ("BASH_FUNC_", "which gives names another meaning"),
    ("GIT_", "which changes what git runs"),
    ("PYTHON", "which loads code into python"),
    ("PERL", "which loads code into perl"),
    ("RUBY", "which loads code into ruby"),
    ("LUA_", "which loads code into lua"),
    ("PHP", "which loads code into php"),
    ("GLIBC_", "which changes every program"),
    ("MALLOC_", "which changes every program"),
    ("CARGO_", "which changes what cargo runs"),
    ("NPM_CONFIG_", "which changes what npm runs"),
    ("npm_config_", "which changes what npm runs"),
    ("DOCKER_", "which changes whom docker talks to"),
];

/// Why a variable must not be set by a line that nobody has looked at.
pub(crate) fn danger(name: &str) -> Option<&'static str> {
    let exact = NAMES.iter().find(|(known, _)| *known == name);
    let family = || FAMILIES.iter().find(|(start, _)| name.starts_with(start));
    let proxy = name.to_ascii_lowercase().ends_with("_proxy").then_some("which sends traffic elsewhere");
    exact.or_else(family).map(|(_, why)| *why).or(proxy)
}

/// Whether a text is a name that a variable can have.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && !text.is_empty() && !text.starts_with(|first: char| first.is_ascii_digit())
}
