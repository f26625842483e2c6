use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The user id of `nobody`.
const UNPRIVILEGED: &str = "65534";

/// Runs the tests of the calling binary that have one of these words in their name again, as a user without privileges, and
/// returns their output. Binaries are copied, because that user cannot reach the build folder; each is passed in its variable.
/// If the caller is not root, there is nothing to do.
///
/// # Errors
/// The output of the tests if one of them failed, or why they could not run.
pub fn again_as_an_ordinary_user(words: &[&str], binaries: &[(&str, &Path)]) -> Result<String, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok("not run again: this is an ordinary user already".to_owned());
    }
    let output = again(words, binaries).map_err(|error| format!("the tests cannot be run again: {error}"))?;
    let output_text = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() && !output_text.contains("running 0 tests") { Ok(output_text) } else { Err(output_text) }
}

fn again(words: &[&str], binaries: &[(&str, &Path)]) -> io::Result<std::process::Output> {
    let folder = tempfile::tempdir()?;
    // As the folder for temporary files is: the tests make their worlds in it.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777))?;
    let copy = |from: &Path, name: &str| {
        let to = folder.path().join(name);
        fs::copy(from, &to).map(|_| to)
    };
    let mut command = Command::new("setpriv");
    command.args(["--reuid", UNPRIVILEGED, "--regid", UNPRIVILEGED, "--clear-groups"]).arg(copy(&std::env::current_exe()?, "tests")?);
    command.args(words).args(["--test-threads", "2"]).current_dir("/");
    for (variable, binary) in binaries {
        command.env(variable, copy(binary, variable)?);
    }
    command.env("TMPDIR", folder.path()).env("HOME", folder.path()).env_remove("XDG_RUNTIME_DIR").output()
}
