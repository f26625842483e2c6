//! Paths of the user's file and of Haft's data.

use std::ffi::OsString;
use std::path::PathBuf;

/// Looks up a variable. Given by the caller, so that tests choose the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Why a path could not be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathsError {
    /// A variable holds a path that is not absolute.
    #[error("{variable} is '{}', which is not an absolute path: set it to a path that starts with '/'", .value.display())]
    Relative {
        /// The variable.
        variable: &'static str,
        /// What it holds.
        value: PathBuf,
    },
    /// No variable names it.
    #[error("cannot tell where {what} belongs, because HOME is not set: set HOME or {variable}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The variable that names it directly.
        variable: &'static str,
    },
}

/// The user's configuration file: `XDG_CONFIG_HOME` counts, then `HOME`.
pub fn config_file(environment: Environment<'_>) -> Result<PathBuf, PathsError> {
    let base = match absolute(environment, "XDG_CONFIG_HOME")? {
        Some(folder) => folder,
        None => home(environment, "the configuration", "XDG_CONFIG_HOME")?.join(".config"),
    };
    Ok(base.join("haft").join("config.toml"))
}

/// Haft's data (history, spills, pre-images): `HAFT_HOME` and `XDG_DATA_HOME` count, then `HOME`.
pub fn data_folder(environment: Environment<'_>) -> Result<PathBuf, PathsError> {
    if let Some(folder) = absolute(environment, "HAFT_HOME")? {
        return Ok(folder);
    }
    let base = match absolute(environment, "XDG_DATA_HOME")? {
        Some(folder) => folder,
        None => home(environment, "Haft's data", "HAFT_HOME")?.join(".local").join("share"),
    };
    Ok(base.join("haft"))
}

/// The folder a variable names; empty counts as unset, as the XDG rules say.
pub(crate) fn absolute(environment: Environment<'_>, variable: &'static str) -> Result<Option<PathBuf>, PathsError> {
    match environment(variable).filter(|value| !value.is_empty()).map(PathBuf::from) {
        Some(value) if !value.is_absolute() => Err(PathsError::Relative { variable, value }),
        found => Ok(found),
    }
}

fn home(environment: Environment<'_>, what: &'static str, variable: &'static str) -> Result<PathBuf, PathsError> {
    absolute(environment, "HOME")?.ok_or(PathsError::Unknown { what, variable })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(variables: &[(&str, &str)]) -> Result<(PathBuf, PathBuf), String> {
        let environment = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        let both = config_file(&environment).and_then(|file| Ok((file, data_folder(&environment)?)));
        both.map_err(|error| error.to_string())
    }

    #[test]
    fn the_nearest_variable_wins() {
        for (variables, config_file, data_folder) in [
            (&[("HOME", "/h")][..], "/h/.config/haft/config.toml", "/h/.local/share/haft"),
            (&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d")], "/c/haft/config.toml", "/d/haft"),
            (&[("HOME", "/h"), ("XDG_DATA_HOME", "/d"), ("HAFT_HOME", "/x")], "/h/.config/haft/config.toml", "/x"),
            (&[("XDG_CONFIG_HOME", "/c"), ("HAFT_HOME", "/x")], "/c/haft/config.toml", "/x"),
            (&[("HOME", "/h"), ("XDG_CONFIG_HOME", ""), ("HAFT_HOME", "")], "/h/.config/haft/config.toml", "/h/.local/share/haft"),
        ] {
            assert_eq!(resolve(variables), Ok((config_file.into(), data_folder.into())), "{variables:?}");
        }
    }

    #[test]
    fn unusable_paths_name_the_variable_to_set() {
        for (variables, message) in [
            (&[][..], "cannot tell where the configuration belongs, because HOME is not set: set HOME or XDG_CONFIG_HOME"),
            (&[("XDG_CONFIG_HOME", "/c")], "cannot tell where Haft's data belongs, because HOME is not set: set HOME or HAFT_HOME"),
            (&[("HOME", "h")], "HOME is 'h', which is not an absolute path: set it to a path that starts with '/'"),
            (
                &[("HOME", "/h"), ("HAFT_HOME", "x/y")],
                "HAFT_HOME is 'x/y', which is not an absolute path: set it to a path that starts with '/'",
            ),
            (
                &[("HOME", "/h"), ("XDG_DATA_HOME", "./d")],
                "XDG_DATA_HOME is './d', which is not an absolute path: set it to a path that starts with '/'",
            ),
        ] {
            assert_eq!(resolve(variables), Err(message.into()), "{variables:?}");
        }
    }
}
