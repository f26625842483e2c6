//! Which environment variables reach a command, and how they pass through the launcher.

use std::ffi::{OsStr, OsString};

use haft_text::secrets::may_name_secret;

#[cfg(target_os = "linux")]
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Prefix of variables on their way to the inner step. Under their own names they would take effect in the programs before it,
/// which run outside: a `LD_PRELOAD` meant for the command would be code in those.
#[cfg(target_os = "linux")]
const CARRIER: &[u8] = b"HAFT_SANDBOX_";

/// Prefixes of variables that name an account, give access to one (`SSH_AUTH_SOCK`, `DOCKER_HOST`), or load code.
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

/// Removes variables that hold or lead to secrets: keys, tokens, cloud accounts, agent sockets, proxies, preloads.
pub fn scrub(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| !is_secret(name) && !is_proxy(name)).collect()
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    may_name_secret(&name) || SECRET_STARTS.iter().any(|start| name.starts_with(start))
}

fn is_proxy(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    PROXIES.contains(&name.as_str())
}

/// Replaces all proxy variables by the proxy of the sandbox.
#[cfg(target_os = "linux")]
pub(crate) fn with_proxy(mut variables: Vec<(OsString, OsString)>, port: u16) -> Vec<(OsString, OsString)> {
    variables.retain(|(name, _)| !is_proxy(name));
    let address = OsString::from(format!("http://127.0.0.1:{port}"));
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    variables.extend(names.into_iter().map(|name| (name.into(), address.clone())));
    // Servers in the sandbox itself are reached directly.
    variables.extend(["NO_PROXY", "no_proxy"].map(|name| (name.into(), OsString::from("localhost,127.0.0.1,::1"))));
    variables
}

/// The variables with the prefix, so that no program interprets them.
#[cfg(target_os = "linux")]
pub(crate) fn carry(variables: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let renamed = |name: OsString| OsString::from_vec([CARRIER, name.as_bytes()].concat());
    variables.into_iter().map(|(name, value)| (renamed(name), value)).collect()
}

/// The variables that had the prefix, under their own names; all others are dropped.
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
    fn secrets_and_access_to_them_are_scrubbed() {
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
    fn carried_variables_arrive_unchanged_and_alone() {
        let sent = variables(&["PATH", "LD_PRELOAD", "HAFT_SANDBOX_X"]);
        let prefixed = carry(sent.clone());
        assert!(prefixed.iter().all(|(name, _)| name.as_bytes().starts_with(CARRIER)));
        let foreign = variables(&["PWD", "SECRET"]);
        assert_eq!(carried(prefixed.into_iter().chain(foreign)), sent);
    }

    #[test]
    fn proxy_variables_of_the_command_are_replaced() {
        let found = with_proxy(variables(&["PATH", "NO_PROXY", "https_proxy"]), 8080);
        let names: Vec<_> = found.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        let proxies = ["PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "NO_PROXY", "no_proxy"];
        assert_eq!(names, proxies);
        assert!(found[1..7].iter().all(|(_, value)| value == "http://127.0.0.1:8080"));
    }
}
