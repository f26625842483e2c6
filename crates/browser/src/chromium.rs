//! The program and its arguments.

use std::path::{Path, PathBuf};

use haft_contract::{ErrorKind, ToolError};
use haft_jobs::IsolatedCommand;

/// Usual install paths, the program itself before the scripts that start it.
const INSTALL_PATHS: &[&str] = &[
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/opt/google/chrome/chrome",
    "/usr/bin/google-chrome",
];
/// Its input and output are the two descriptors of the debugging pipe; what it prints goes to standard error.
const CONNECT_PIPE: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >&2";
const SHELL: &str = "/bin/sh";
/// In memory, so that it ends with the browser.
const PROFILE: &str = "/tmp/profile";

/// How browsers are started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowserSettings {
    /// The program; the first that is installed, if absent.
    pub program: Option<PathBuf>,
    /// Whether scripts of the model may run in pages.
    pub scripts: bool,
    /// The folder of recordings; without it nothing is recorded.
    pub recordings: Option<PathBuf>,
}

/// The program that is installed.
pub fn find_chromium(configured: Option<&Path>) -> Result<PathBuf, ToolError> {
    let usual = || INSTALL_PATHS.iter().map(PathBuf::from).find(|path| path.is_file());
    match configured {
        Some(path) if path.is_file() => Ok(path.to_owned()),
        Some(path) => Err(missing(&format!("browser.program is '{}', and there is no such file", path.display()))),
        None => usual().ok_or_else(|| missing("Chromium is not installed")),
    }
}

fn missing(why: &str) -> ToolError {
    let advice = "The user can install it with: sudo apt-get install chromium";
    ToolError::new(ErrorKind::ExecutionError, format!("There is no browser on this machine: {why}. {advice}"))
}

/// The program as a command of the sandbox.
pub(crate) fn command(program: &Path) -> (PathBuf, Vec<String>) {
    let mut arguments: Vec<String> = ["-c", CONNECT_PIPE, "sh"].map(str::to_owned).into();
    arguments.push(program.to_string_lossy().into_owned());
    arguments.extend(FLAGS.iter().map(|flag| (*flag).to_owned()));
    arguments.push(format!("--user-data-dir={PROFILE}"));
    arguments.push(format!("--proxy-server=http://127.0.0.1:{}", IsolatedCommand::PROXY_PORT));
    arguments.push("about:blank".to_owned());
    (SHELL.into(), arguments)
}

/// Every request goes through the proxy, but for those to the network of the session itself: its loopback addresses. Names are
/// resolved by the proxy. Chromium's own sandbox needs namespaces, which ours refuses: ours is the barrier.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    // The last is where it fetches dictionaries for the fields that a user types in: past the proxy, where nobody is asked and nothing is.
    "--proxy-bypass-list=<-loopback>;127.0.0.1;[::1];localhost;*.localhost;*.gvt1.com",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1, EXCLUDE ::1",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    // What it would fetch for itself, it would fetch from a port that it refuses to connect to.
    "--gaia-url=http://127.0.0.1:9",
    "--google-apis-url=http://127.0.0.1:9",
    "--component-updater=url-source=http://127.0.0.1:9/",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-client-side-phishing-detection",
    "--disable-field-trial-config",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--disable-search-engine-choice-screen",
    "--disable-back-forward-cache",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-ipc-flooding-protection",
    "--disk-cache-size=33554432",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    "--hide-scrollbars",
    "--mute-audio",
    "--window-size=1280,800",
    "--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater,ChromeWhatsNewUI,DialMediaRouteProvider,\
     GlobalMediaControls,HttpsUpgrades,InterestFeedContentSuggestions,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,PaintHolding,\
     PrivacySandboxSettings4,Translate,WebOTP",
];
