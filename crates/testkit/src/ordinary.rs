use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Nobody, who owns nothing.
const PERSON: &str = "65534";

/// Runs the tests of the calling binary again that have one of these words in their name, as a person without any rights, and
/// gives what they said. Binaries are copied, because that person may not reach the folder of the build; each is handed over by
/// its variable. An ordinary person runs them anyway: then there is nothing to do.
///
/// # Errors
/// What the tests said where one of them failed, or why they could not be run.
pub fn again_as_an_ordinary_person(words: &[&str], binaries: &[(&str, &Path)]) -> Result<String, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok("not run again: this is an ordinary person already".to_owned());
    }
    let output = again(words, binaries).map_err(|error| format!("the tests cannot be run again: {error}"))?;
    let said = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() && !said.contains("running 0 tests") { Ok(said) } else { Err(said) }
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
    command.args(["--reuid", PERSON, "--regid", PERSON, "--clear-groups"]).arg(copy(&std::env::current_exe()?, "tests")?);
    command.args(words).args(["--test-threads", "2"]).current_dir("/");
    for (variable, binary) in binaries {
        command.env(variable, copy(binary, variable)?);
    }
    command.env("TMPDIR", folder.path()).env("HOME", folder.path()).env_remove("XDG_RUNTIME_DIR").output()
}
