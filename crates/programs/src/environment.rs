//! Variables that change what programs do, whatever their options say, and variables that do not.

/// Names that make a program run or load other code, or change how words are split.
const CODE: &[(&str, &str)] = &[
    ("PATH", "which chooses the programs that names mean"),
    ("CDPATH", "which changes where cd goes"),
    ("IFS", "which changes how words are split"),
    ("ENV", "which names a script that shells run first"),
    ("BASH_ENV", "which names a script that bash runs first"),
    ("BASHOPTS", "which changes how bash reads"),
    ("SHELLOPTS", "which changes how bash reads"),
    ("PROMPT_COMMAND", "which bash runs"),
    ("PS4", "which bash expands and runs"),
    ("GLOBIGNORE", "which changes what patterns match"),
    ("ZDOTDIR", "which names scripts that zsh runs first"),
    ("EDITOR", "which programs run"),
    ("VISUAL", "which programs run"),
    ("PAGER", "which programs run"),
    ("MANPAGER", "which programs run"),
    ("BROWSER", "which programs run"),
    ("LESSOPEN", "which less runs"),
    ("LESSCLOSE", "which less runs"),
    ("NODE_OPTIONS", "which loads code into node"),
    ("NODE_PATH", "which loads code into node"),
    ("JAVA_TOOL_OPTIONS", "which loads code into java"),
    ("_JAVA_OPTIONS", "which loads code into java"),
    ("CLASSPATH", "which loads code into java"),
    ("MAKEFLAGS", "which gives make more options"),
    ("RUSTC_WRAPPER", "which cargo runs"),
    ("RUSTFLAGS", "which gives the compiler more options"),
    ("GCONV_PATH", "which loads code into every program"),
    ("SSH_ASKPASS", "which ssh runs"),
    ("PYTHONSTARTUP", "which loads code into python"),
    ("PYTHONPATH", "which loads code into python"),
    ("PYTHONHOME", "which loads code into python"),
    ("PYTHONINSPECT", "which loads code into python"),
    ("PERL5LIB", "which loads code into perl"),
    ("PERL5OPT", "which loads code into perl"),
    ("PERL5DB", "which loads code into perl"),
    ("RUBYOPT", "which loads code into ruby"),
    ("RUBYLIB", "which loads code into ruby"),
    ("JDK_JAVA_OPTIONS", "which loads code into java"),
    ("GLIBC_TUNABLES", "which changes every program"),
    ("LOCPATH", "which loads data into every program"),
    ("SUDO_ASKPASS", "which sudo runs"),
];

/// Beginnings of such names.
const CODE_FAMILIES: &[(&str, &str)] = &[
    ("LD_", "which loads code into every program"),
    ("DYLD_", "which loads code into every program"),
    ("BASH_FUNC_", "which gives names another meaning"),
    ("GIT_", "which changes what git runs"),
    ("MALLOC_", "which changes every program"),
];

/// Names that choose configuration, compilers or options.
const BEHAVIOUR: &[(&str, &str)] = &[
    ("BASH_CMDS", "which chooses the programs that names mean"),
    ("BASH_ALIASES", "which gives names another meaning"),
    ("PS0", "which bash expands and runs"),
    ("PS1", "which bash expands and runs"),
    ("PS2", "which bash expands and runs"),
    ("POSIXLY_CORRECT", "which changes how options are read"),
    ("HOME", "which chooses the configuration that programs read"),
    ("SHELL", "which chooses the shell that programs start"),
    ("TAR_OPTIONS", "which gives tar more options"),
    ("GREP_OPTIONS", "which gives grep more options"),
    ("RIPGREP_CONFIG_PATH", "which gives rg more options"),
    ("RUSTC", "which chooses the compiler"),
    ("CC", "which chooses the compiler"),
    ("CXX", "which chooses the compiler"),
    ("SSLKEYLOGFILE", "which writes down the keys of connections"),
    ("TERMINFO", "which loads data into every program"),
    ("XDG_CONFIG_HOME", "which chooses the configuration that programs read"),
    ("HOSTALIASES", "which changes what host names mean"),
];

/// Beginnings of such names.
const BEHAVIOUR_FAMILIES: &[(&str, &str)] = &[
    ("PYTHON", "which loads code into python"),
    ("PERL", "which loads code into perl"),
    ("RUBY", "which loads code into ruby"),
    ("LUA_", "which loads code into lua"),
    ("PHP", "which loads code into php"),
    ("GLIBC_", "which changes every program"),
    ("CARGO_", "which changes what cargo runs"),
    ("NPM_CONFIG_", "which changes what npm runs"),
    ("npm_config_", "which changes what npm runs"),
    ("DOCKER_", "which changes whom docker talks to"),
];

/// Variables that change how a program prints, and nothing of what it does.
#[rustfmt::skip] // as a list
const HARMLESS: &[&str] = &[
    "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLORTERM", "CI", "DEBUG",
    "RUST_LOG", "RUST_BACKTRACE", "CARGO_TERM_COLOR", "NODE_ENV",
];

/// Whether a variable changes nothing of what a program does.
pub fn is_harmless(name: &str) -> bool {
    name.starts_with("LC_") || HARMLESS.contains(&name)
}

/// Whether a variable makes a program run or load other code; in any case.
pub fn runs_code(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    find(&name, CODE, CODE_FAMILIES).is_some()
}

/// Why a command without approval must not set a variable.
pub fn danger(name: &str) -> Option<&'static str> {
    let proxy = name.to_ascii_lowercase().ends_with("_proxy").then_some("which sends traffic elsewhere");
    find(name, CODE, CODE_FAMILIES).or_else(|| find(name, BEHAVIOUR, BEHAVIOUR_FAMILIES)).or(proxy)
}

fn find(name: &str, names: &[(&str, &'static str)], families: &[(&str, &'static str)]) -> Option<&'static str> {
    let exact = names.iter().find(|(known, _)| *known == name);
    exact.or_else(|| families.iter().find(|(start, _)| name.starts_with(start))).map(|(_, why)| *why)
}

/// Whether a text is a name that a variable can have.
pub fn is_name(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && !text.is_empty() && !text.starts_with(|first: char| first.is_ascii_digit())
}
