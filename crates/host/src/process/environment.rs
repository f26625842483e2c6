//! The environment of a program: clean, plus what the plan names. Keys and loader switches never get in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use haft_contract::{CommandSpec, ToolError, visible};

/// What every program is given, if it is set here.
const INHERITED: &[&str] = &["HOME", "LANG", "TERM", "TZ"];

/// Names under which credentials are kept.
const SECRET_PARTS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];

/// Variables that make a program run or load something else than itself.
const HIJACKING: &str = "
    PATH ENV BASH_ENV BASHOPTS SHELLOPTS PROMPT_COMMAND PS4 IFS CDPATH GLOBIGNORE ZDOTDIR NODE_OPTIONS NODE_PATH
    PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PERL5LIB PERL5OPT PERL5DB RUBYOPT RUBYLIB
    JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH GCONV_PATH GLIBC_TUNABLES LOCPATH
    PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE SSH_ASKPASS SUDO_ASKPASS RUSTC_WRAPPER RUSTFLAGS MAKEFLAGS
";
const HIJACKING_PREFIXES: &[&str] = &["LD_", "DYLD_", "BASH_FUNC_", "GIT_", "MALLOC_"];

/// The whole environment of a program.
pub(super) fn for_command(command: &CommandSpec) -> Result<Vec<(OsString, OsString)>, ToolError> {
    check_all(&command.environment)?;
    Ok(with(&command.environment, false))
}

/// What the terminals that are given here understand.
const TERMINAL: &str = "xterm-256color";

/// The clean environment with more variables, which were checked; for a program at a terminal, if it has one.
pub(super) fn with(variables: &[(String, String)], terminal: bool) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = vec![("PATH".into(), search_path(std::env::var_os("PATH")))];
    all.extend(INHERITED.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?))));
    all.extend(terminal.then(|| ("TERM".into(), TERMINAL.into())));
    all.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
    all
}

/// The same for another root than this machine's: its programs lie where images have them, and nobody's home is there.
pub(super) fn in_container(environment: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let ours = [("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8")];
    let others = environment.into_iter().filter(|(name, _)| ours.iter().all(|(own, _)| name != own));
    ours.iter().map(|(name, value)| (name.into(), value.into())).chain(others).collect()
}

/// Without the folders of the workspace in the search path: there anyone could have put a program of any name.
pub(super) fn outside(mut environment: Vec<(OsString, OsString)>, writable: &[PathBuf]) -> Vec<(OsString, OsString)> {
    for (_, value) in environment.iter_mut().filter(|(name, _)| name == "PATH") {
        let is_outside = |folder: &PathBuf| {
            !writable.iter().any(|root| folder.starts_with(root) || folder.canonicalize().is_ok_and(|real| real.starts_with(root)))
        };
        let kept: Vec<PathBuf> = std::env::split_paths(value).filter(is_outside).collect();
        *value = search_path(std::env::join_paths(kept).ok());
    }
    environment
}

/// Whether all of these may be set.
pub(super) fn check_all(variables: &[(String, String)]) -> Result<(), ToolError> {
    variables.iter().try_for_each(|(name, value)| check(name, value))
}

/// The search path without entries that depend on the current directory: a program planted there must not be found.
pub(super) fn search_path(inherited: Option<OsString>) -> OsString {
    let usual = || OsString::from("/usr/local/bin:/usr/bin:/bin");
    let Some(inherited) = inherited else { return usual() };
    let absolute: Vec<_> = std::env::split_paths(&inherited).filter(|folder| Path::is_absolute(folder)).collect();
    std::env::join_paths(absolute).ok().filter(|joined| !joined.is_empty()).unwrap_or_else(usual)
}

fn check(name: &str, value: &str) -> Result<(), ToolError> {
    let shown = visible::line(name);
    let well_formed =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.starts_with(|c: char| c.is_ascii_digit());
    if name.is_empty() || !well_formed {
        return Err(ToolError::validation(format!("Invalid environment variable '{shown}': use letters, digits and underscores.")));
    }
    if value.contains('\0') {
        return Err(ToolError::validation(format!("Invalid value of environment variable '{shown}': it holds a NUL byte.")));
    }
    let upper = name.to_ascii_uppercase();
    if SECRET_PARTS.iter().any(|part| upper.contains(part)) {
        return Err(ToolError::denied(format!("Environment variable '{shown}' may not be passed on: its name says that it is a secret.")));
    }
    if HIJACKING.split_whitespace().any(|name| name == upper) || HIJACKING_PREFIXES.iter().any(|prefix| upper.starts_with(prefix)) {
        return Err(ToolError::denied(format!("Environment variable '{shown}' may not be set: it can make a program run other code.")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use haft_contract::ErrorKind;

    use super::*;

    #[test]
    fn secrets_and_loader_switches_are_refused() {
        for name in ["OPENAI_API_KEY", "github_token", "MY_SECRET", "DB_PASSWORD", "AWS_CREDENTIALS"] {
            let error = check(name, "x").unwrap_err();
            let expected = format!("Environment variable '{name}' may not be passed on: its name says that it is a secret.");
            assert_eq!((error.kind(), error.message()), (ErrorKind::PermissionDenied, &*expected));
        }
        for name in [
            "LD_PRELOAD",
            "ld_library_path",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "PATH",
            "GIT_SSH_COMMAND",
        ] {
            let error = check(name, "x").unwrap_err();
            let expected = format!("Environment variable '{name}' may not be set: it can make a program run other code.");
            assert_eq!((error.kind(), error.message()), (ErrorKind::PermissionDenied, &*expected));
        }
    }

    #[test]
    fn malformed_names_and_values_are_refused() {
        for (name, value) in [("", "x"), ("A=B", "x"), ("A B", "x"), ("1A", "x"), ("A\0", "x"), ("A", "x\0y")] {
            assert_eq!(check(name, value).unwrap_err().kind(), ErrorKind::ValidationError, "{name:?}");
        }
        assert!(check("RUST_LOG", "debug\nmore").is_ok());
    }

    #[test]
    fn relative_folders_leave_the_search_path() {
        for (inherited, expected) in [
            (Some("/a:.:b::/c"), "/a:/c"),
            (Some("."), "/usr/local/bin:/usr/bin:/bin"),
            (Some(""), "/usr/local/bin:/usr/bin:/bin"),
            (None, "/usr/local/bin:/usr/bin:/bin"),
        ] {
            assert_eq!(search_path(inherited.map(OsString::from)), OsString::from(expected), "{inherited:?}");
        }
    }
}
