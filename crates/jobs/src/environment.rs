//! The environment of a program: clean, plus the planned variables. Secrets and loader variables are refused.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use haft_contract::ToolError;
use haft_programs::environment;
use haft_sandbox::Bind;
use haft_text::display;
use haft_text::secrets::names_secret;

/// Variables that every program inherits.
const INHERITED: &[&str] = &["HOME", "LANG", "TERM", "TZ"];

/// The type of the terminals that jobs get.
const TERMINAL: &str = "xterm-256color";

/// The clean environment plus these variables, which the caller has checked.
pub(crate) fn clean(variables: &[(String, String)], terminal: bool) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = vec![("PATH".into(), search_path(std::env::var_os("PATH")))];
    all.extend(INHERITED.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?))));
    all.extend(terminal.then(|| ("TERM".into(), TERMINAL.into())));
    all.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
    all
}

/// The environment for the root of a container, which has its own programs and no home.
pub(crate) fn in_container(environment: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let ours = [("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8")];
    let others = environment.into_iter().filter(|(name, _)| ours.iter().all(|(own, _)| name != own));
    ours.iter().map(|(name, value)| (name.into(), value.into())).chain(others).collect()
}

/// The environment with these variables instead of those of the same names.
pub(crate) fn with_variables(
    mut environment: Vec<(OsString, OsString)>,
    variables: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    environment.retain(|(name, _)| variables.iter().all(|(other, _)| other != name));
    environment.extend(variables);
    environment
}

/// The environment without writable folders in its search path: a command could plant a program there. Those of `read_only` are
/// not, wherever they lie.
pub(crate) fn without_writable_path(
    mut environment: Vec<(OsString, OsString)>,
    writable: &[PathBuf],
    read_only: &[Bind],
) -> Vec<(OsString, OsString)> {
    for (_, value) in environment.iter_mut().filter(|(name, _)| name == "PATH") {
        let is_read_only = |folder: &Path| read_only.iter().any(|bind| folder.starts_with(&bind.at));
        let is_outside = |folder: &PathBuf| is_read_only(folder) || !lies_in(folder, writable);
        let kept: Vec<PathBuf> = std::env::split_paths(value).filter(is_outside).collect();
        *value = search_path(std::env::join_paths(kept).ok());
    }
    environment
}

/// The environment of a program that runs outside the sandbox, with the folders of these roots last in its search path: what a command
/// plants there runs in place of no program of the system.
pub(crate) fn with_programs_of_roots_last(mut environment: Vec<(OsString, OsString)>, roots: &[PathBuf]) -> Vec<(OsString, OsString)> {
    for (_, value) in environment.iter_mut().filter(|(name, _)| name == "PATH") {
        let (inside, outside): (Vec<PathBuf>, Vec<PathBuf>) = std::env::split_paths(value).partition(|folder| lies_in(folder, roots));
        if let Ok(path) = std::env::join_paths(outside.into_iter().chain(inside)) {
            *value = path;
        }
    }
    environment
}

/// The program of this name in the folders of the search path. Those of the roots are not searched: a command may have planted one there.
pub(crate) fn find_program(name: &str, roots: &[PathBuf]) -> Option<PathBuf> {
    find_program_in(&search_path(std::env::var_os("PATH")), name, roots)
}

fn find_program_in(path: &OsStr, name: &str, roots: &[PathBuf]) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| !lies_in(folder, roots));
    folders.map(|folder| folder.join(name)).find(|file| is_executable(file) && !lies_in(file, roots))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Whether a path lies in one of these folders, or leads into one.
fn lies_in(path: &Path, folders: &[PathBuf]) -> bool {
    let real = path.canonicalize().ok();
    folders.iter().any(|folder| path.starts_with(folder) || real.as_ref().is_some_and(|real| real.starts_with(folder)))
}

/// The search path with the folders of the private home last, as far as they are not the user's own: a program that an earlier command
/// has left there does not run in place of one of the system.
pub(crate) fn with_private_programs_last(
    mut environment: Vec<(OsString, OsString)>,
    home: &Path,
    read_only: &[Bind],
) -> Vec<(OsString, OsString)> {
    let is_private = |folder: &PathBuf| folder.starts_with(home) && !read_only.iter().any(|bind| folder.starts_with(&bind.at));
    for (_, value) in environment.iter_mut().filter(|(name, _)| name == "PATH") {
        let (private, others): (Vec<PathBuf>, Vec<PathBuf>) = std::env::split_paths(value).partition(is_private);
        if let Ok(path) = std::env::join_paths(others.into_iter().chain(private)) {
            *value = path;
        }
    }
    environment
}

/// Refuses variables that may not be set.
pub(crate) fn check_all(variables: &[(String, String)]) -> Result<(), ToolError> {
    variables.iter().try_for_each(|(name, value)| check(name, value))
}

/// The search path without relative entries: a program planted in the working directory must not be found.
pub(crate) fn search_path(inherited: Option<OsString>) -> OsString {
    let usual = || OsString::from("/usr/local/bin:/usr/bin:/bin");
    let Some(inherited) = inherited else { return usual() };
    let absolute: Vec<_> = std::env::split_paths(&inherited).filter(|folder| Path::is_absolute(folder)).collect();
    std::env::join_paths(absolute).ok().filter(|joined| !joined.is_empty()).unwrap_or_else(usual)
}

fn check(name: &str, value: &str) -> Result<(), ToolError> {
    let shown = display::escape_line(name);
    if !environment::is_name(name) {
        return Err(ToolError::validation(format!("Invalid environment variable '{shown}': use letters, digits and underscores.")));
    }
    if value.contains('\0') {
        return Err(ToolError::validation(format!("Invalid value of environment variable '{shown}': it holds a NUL byte.")));
    }
    if names_secret(name) || name.to_ascii_uppercase().contains("KEY") {
        return Err(ToolError::denied(format!(
            "Environment variable '{shown}' may not be passed on: its name says that it is a secret. Leave it out."
        )));
    }
    if environment::runs_code(name) {
        return Err(ToolError::denied(format!(
            "Environment variable '{shown}' may not be set: it can make a program run other code. Leave it out."
        )));
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
            let expected = format!("Environment variable '{name}' may not be passed on: its name says that it is a secret. Leave it out.");
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
            let expected = format!("Environment variable '{name}' may not be set: it can make a program run other code. Leave it out.");
            assert_eq!((error.kind(), error.message()), (ErrorKind::PermissionDenied, &*expected));
        }
    }

    #[test]
    fn programs_of_the_private_home_are_found_last() {
        let path = |value: &str| vec![("PATH".into(), value.into()), ("HOME".into(), "/h".into())];
        let own = [Bind::same("/h/.nvm/bin")];
        let sorted = with_private_programs_last(path("/h/.local/bin:/h/.nvm/bin:/usr/bin:/h/.cargo/bin:/bin"), Path::new("/h"), &own);
        assert_eq!(sorted, path("/h/.nvm/bin:/usr/bin:/bin:/h/.local/bin:/h/.cargo/bin"));
    }

    #[test]
    fn programs_of_roots_are_found_last_or_not_at_all() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        for name in ["work/bin", "own"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("work/bin/tool"), "").unwrap();
        std::fs::set_permissions(at("work/bin/tool"), std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("../work/bin/tool", at("own/tool")).unwrap();
        symlink("work/bin", at("link")).unwrap();
        let path = |names: &[&str]| std::env::join_paths(names.iter().map(|name| at(name))).unwrap();
        let roots = [at("work")];
        let sorted = with_programs_of_roots_last(vec![("PATH".into(), path(&["work/bin", "link", "own"]))], &roots);
        assert_eq!(sorted, [("PATH".into(), path(&["own", "work/bin", "link"]))]);
        let find = |roots: &[PathBuf]| find_program_in(&path(&["work/bin", "link", "own"]), "tool", roots);
        assert_eq!((find(&roots), find(&[])), (None, Some(at("work/bin/tool"))));
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
