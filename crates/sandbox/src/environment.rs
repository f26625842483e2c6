//! What of an environment reaches a command, and how it gets there.

use std::ffi::{OsStr, OsString};
#[cfg(target_os = "linux")]
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Variables travel to the inner stage under this name. Under their own they would reach the programs on the way, which run
/// outside: a `LD_PRELOAD` meant for the command would be code in those.
#[cfg(target_os = "linux")]
const CARRIER: &[u8] = b"HAFT_SANDBOX_";

const SECRET_WORDS: &[&str] =
    &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE", "AUTH", "PRIVATE", "DSN"];
/// What names an account, a way to one (`SSH_AUTH_SOCK`, `DOCKER_HOST`), or code that other programs load.
const SECRET_STARTS: &[&str] = &[
    "AWS_",
    "AZURE_",
    "ARM_",
    "GOOGLE_",
    "GCP_",
    "GCLOUD_",
    "CLOUDSDK_",
    "ALIBABA_",
    "DIGITALOCEAN_",
    "OPENAI_",
    "ANTHROPIC_",
    "GEMINI_",
    "MISTRAL_",
    "OPENROUTER_",
    "HF_",
    "GITHUB_",
    "GH_",
    "GITLAB_",
    "CI_JOB_",
    "NPM_CONFIG_",
    "DOCKER_",
    "PODMAN_",
    "KUBE",
    "VAULT_",
    "CONSUL_",
    "NOMAD_",
    "PG",
    "MYSQL_",
    "REDIS_",
    "MONGO",
    "DATABASE_",
    "SSH_",
    "GPG_",
    "DBUS_",
    "XDG_RUNTIME_DIR",
    "WAYLAND_",
    "DISPLAY",
    "XAUTHORITY",
    "LD_",
    "DYLD_",
    "HAFT_",
];
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY"];

/// Leaves out what gives away a secret or leads to one: keys, tokens, accounts of clouds, sockets of agents, proxies, preloads.
pub fn scrub(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| !is_secret(name) && !is_proxy(name)).collect()
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word)) || SECRET_STARTS.iter().any(|start| name.starts_with(start))
}

fn is_proxy(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    PROXIES.contains(&name.as_str())
}

/// Replaces whatever proxies were named by the only one there is.
#[cfg(target_os = "linux")]
pub(crate) fn with_proxy(mut variables: Vec<(OsString, OsString)>, port: u16) -> Vec<(OsString, OsString)> {
    variables.retain(|(name, _)| !is_proxy(name));
    let address = OsString::from(format!("http://127.0.0.1:{port}"));
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    variables.extend(names.into_iter().map(|name| (name.into(), address.clone())));
    variables
}

/// The variables under names that mean nothing to anyone.
#[cfg(target_os = "linux")]
pub(crate) fn carry(variables: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let renamed = |name: OsString| OsString::from_vec([CARRIER, name.as_bytes()].concat());
    variables.into_iter().map(|(name, value)| (renamed(name), value)).collect()
}

/// The variables that were carried, under their own names; all others are dropped.
#[cfg(target_os = "linux")]
pub(crate) fn carried(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let named = |name: OsString| name.as_bytes().strip_prefix(CARRIER).map(|rest| OsString::from_vec(rest.to_vec()));
    variables.into_iter().filter_map(|(name, value)| Some((named(name)?, value))).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn variables(names: &[&str]) -> Vec<(OsString, OsString)> {
        names.iter().map(|name| (OsString::from(name), OsString::from("v"))).collect()
    }

    #[test]
    fn secrets_and_ways_to_them_are_left_out() {
        let kept = ["PATH", "HOME", "LANG", "TERM", "CARGO_HOME", "EDITOR"];
        let dropped = [
            "OPENAI_API_KEY",
            "MY_TOKEN",
            "db_password",
            "AWS_PROFILE",
            "AWS_ACCESS_KEY_ID",
            "GITHUB_TOKEN",
            "SSH_AUTH_SOCK",
            "DOCKER_HOST",
            "LD_PRELOAD",
            "HTTPS_PROXY",
            "no_proxy",
            "DBUS_SESSION_BUS_ADDRESS",
            "SENTRY_DSN",
            "HAFT_HOME",
        ];
        let scrubbed = scrub(variables(&[&kept[..], &dropped[..]].concat()));
        assert_eq!(scrubbed, variables(&kept));
    }

    #[test]
    fn variables_arrive_as_they_left_and_nothing_else_does() {
        let sent = variables(&["PATH", "LD_PRELOAD", "HAFT_SANDBOX_X"]);
        let on_the_way = carry(sent.clone());
        assert!(on_the_way.iter().all(|(name, _)| name.as_bytes().starts_with(CARRIER)));
        let foreign = variables(&["PWD", "SECRET"]);
        assert_eq!(carried(on_the_way.into_iter().chain(foreign)), sent);
    }

    #[test]
    fn a_command_cannot_choose_its_proxy() {
        let found = with_proxy(variables(&["PATH", "NO_PROXY", "https_proxy"]), 8080);
        let names: Vec<_> = found.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]);
        assert!(found[1..].iter().all(|(_, value)| value == "http://127.0.0.1:8080"));
    }
}
