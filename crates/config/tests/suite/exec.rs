//! Running commands: what the keys take, what holds without them, and what a project may say.

use haft_config::{Config, Loaded};
use haft_contract::{ContainerEngine, ExecAsk, ExecHost, ExecSecurity, SandboxBackend, SandboxMode};

use super::fixture::Fixture;

const GIB: u64 = 1 << 30;

/// Who may run what, where and behind what.
type Kept = (Option<ExecSecurity>, ExecAsk, ExecHost, SandboxMode, SandboxBackend);

fn kept(config: &Config) -> Kept {
    (config.exec.security, config.exec.ask, config.exec.host, config.sandbox.mode, config.sandbox.backend)
}

fn limits(config: &Config) -> [u64; 6] {
    let limits = config.exec.limits;
    [limits.memory, limits.processes, limits.cpu_seconds, limits.file_size, limits.open_files, limits.tmp_size].map(Option::unwrap)
}

#[test]
fn programs_run_in_a_required_sandbox_by_default() {
    let config = Config::default();
    assert_eq!(kept(&config), (None, ExecAsk::Smart, ExecHost::Sandbox, SandboxMode::Required, SandboxBackend::Auto));
    assert_eq!(limits(&config), [4 * GIB, 1024, 3600, 8 * GIB, 4096, 2 * GIB]);
}

#[test]
fn every_word_is_understood_and_those_of_other_systems_too() {
    let security = [
        ("full", ExecSecurity::Full),
        ("safe-bin", ExecSecurity::SafeBin),
        ("allowlist", ExecSecurity::SafeBin),
        ("paranoid", ExecSecurity::Paranoid),
        ("deny", ExecSecurity::Paranoid),
    ];
    let ask = [
        ("auto", ExecAsk::Auto),
        ("off", ExecAsk::Auto),
        ("smart", ExecAsk::Smart),
        ("on-miss", ExecAsk::Smart),
        ("always", ExecAsk::Always),
    ];
    let host = [
        ("host", ExecHost::Host),
        ("node", ExecHost::Node),
        ("container", ExecHost::Container),
        ("gateway", ExecHost::Container),
        ("sandbox", ExecHost::Sandbox),
    ];
    for number in 0..5 {
        let text = format!("[exec]\nsecurity = '{}'\nask = '{}'\nhost = '{}'", security[number].0, ask[number].0, host[number].0);
        let loaded = Fixture::new().user(&text).load();
        let exec = loaded.config.exec;
        assert_eq!(loaded.problems, [], "{text}");
        assert_eq!((exec.security, exec.ask, exec.host), (Some(security[number].1), ask[number].1, host[number].1), "{text}");
    }
    let backends = [
        ("auto", SandboxBackend::Auto),
        ("bubblewrap", SandboxBackend::Bubblewrap),
        ("landlock", SandboxBackend::Landlock),
        ("container", SandboxBackend::Container),
        ("seatbelt", SandboxBackend::Seatbelt),
        ("none", SandboxBackend::None),
    ];
    for (word, backend) in backends {
        assert_eq!(Fixture::new().variable("HAFT_SANDBOX_BACKEND", word).load().config.sandbox.backend, backend, "{word}");
    }
    for (word, engine) in [("auto", ContainerEngine::Auto), ("docker", ContainerEngine::Docker), ("podman", ContainerEngine::Podman)] {
        let text = format!("[sandbox.container]\nengine = '{word}'\nimage = 'tools'\nrunning = 'box'");
        let container = Fixture::new().user(&text).load().config.sandbox.container;
        assert_eq!((container.engine, container.image.as_deref(), container.running.as_deref()), (engine, Some("tools"), Some("box")));
    }
    for (word, mode) in [("off", SandboxMode::Off), ("preferred", SandboxMode::Preferred), ("required", SandboxMode::Required)] {
        assert_eq!(Fixture::new().flag("sandbox.mode", word).load().config.sandbox.mode, mode, "{word}");
    }
}

#[test]
fn words_of_other_systems_become_ours() {
    let loaded = Fixture::new().user("exec.security = 'deny'").load();
    let row = loaded.provenance.rows().into_iter().find(|row| row.path == "exec.security").unwrap();
    assert_eq!(row.value, "\"paranoid\"");
    let wrong = Fixture::new().user("exec.ask = 'allways'\nexec.security = 'off'");
    assert_eq!(
        wrong.problems(&wrong.load()),
        [
            "error user 1:12 exec.ask 'exec.ask' has the unknown value 'allways' | did you mean \"always\"? There are: auto, smart, always",
            "error user 2:17 exec.security 'exec.security' has the unknown value 'off' | use one of: full, safe-bin, paranoid",
        ]
    );
}

#[test]
fn limits_are_read_with_their_units_and_shown_with_them() {
    let text = "memory = '2GB'\nprocesses = 256\ncpu_seconds = 60\nfile_size = '512 MiB'\nopen_files = 64\ntmp_size = 4096";
    let loaded = Fixture::new().user(format!("[exec.limits]\n{text}")).load();
    assert_eq!(limits(&loaded.config), [2_000_000_000, 256, 60, 512 << 20, 64, 4096]);
    let shown = |key: &str| loaded.provenance.get(key).unwrap().value.to_string();
    assert_eq!(["memory", "file_size", "tmp_size"].map(|key| shown(&format!("exec.limits.{key}"))), ["\"2GB\"", "\"512MiB\"", "\"4KiB\""]);
    for (value, bytes) in [("3GB", 3_000_000_000), ("20000000", 20_000_000)] {
        assert_eq!(Fixture::new().variable("HAFT_EXEC_LIMITS_MEMORY", value).load().config.exec.limits.memory, Some(bytes));
    }
}

#[test]
fn invalid_sizes_are_refused_with_advice() {
    let help = "write a whole number with a unit, such as \"512MB\", \"2GB\" or \"1GiB\", from \"16MiB\" to \"64TiB\"";
    for (value, why) in [
        ("'1.5GB'", "is '1.5GB', which is no amount of bytes"),
        ("'lots'", "is 'lots', which is no amount of bytes"),
        ("'1KB'", "is '1KB', which is out of range"),
        ("5", "is '5', which is out of range"),
        ("-5", "is '-5', which is no amount of bytes"),
        ("true", "must be an amount of bytes, not true or false"),
    ] {
        let fixture = Fixture::new().user(format!("exec.limits.memory = {value}"));
        assert_eq!(
            fixture.problems(&fixture.load()),
            [format!("error user 1:22 exec.limits.memory 'exec.limits.memory' {why} | {help}")],
            "{value}"
        );
    }
}

#[test]
fn a_project_tightens_and_never_widens() {
    let value = |loaded: &Loaded, key: &str| loaded.provenance.get(key).unwrap().value.to_string();
    for (key, own, projects, holds) in [
        ("exec.security", None, "'paranoid'", "\"paranoid\""),
        ("exec.security", None, "'allowlist'", "\"safe-bin\""),
        ("exec.security", None, "'full'", "unset"),
        ("exec.security", Some("'safe-bin'"), "'full'", "\"safe-bin\""),
        ("exec.security", Some("'full'"), "'deny'", "\"paranoid\""),
        ("exec.ask", None, "'always'", "\"always\""),
        ("exec.ask", None, "'auto'", "\"smart\""),
        ("exec.ask", Some("'auto'"), "'smart'", "\"auto\""),
        ("exec.ask", Some("'auto'"), "'always'", "\"auto\""),
        ("exec.ask", Some("'always'"), "'smart'", "\"always\""),
        ("exec.host", None, "'host'", "\"sandbox\""),
        ("exec.host", Some("'host'"), "'sandbox'", "\"host\""),
        ("exec.limits.memory", None, "'1GiB'", "\"1GiB\""),
        ("exec.limits.memory", None, "'5GiB'", "\"4GiB\""),
        ("exec.limits.processes", Some("10"), "20", "10"),
        ("exec.limits.processes", Some("10"), "5", "5"),
        ("sandbox.mode", None, "'off'", "\"required\""),
        ("sandbox.mode", Some("'off'"), "'preferred'", "\"preferred\""),
        ("sandbox.backend", None, "'none'", "\"auto\""),
        ("sandbox.container.engine", None, "'docker'", "\"auto\""),
        ("sandbox.container.image", None, "'evil'", "unset"),
        ("sandbox.container.image", Some("'mine'"), "'evil'", "\"mine\""),
        ("sandbox.container.running", None, "'evil'", "unset"),
    ] {
        let own = own.map(|own| format!("{key} = {own}")).unwrap_or_default();
        let loaded = Fixture::new().user(&own).project(format!("{key} = {projects}")).load();
        assert_eq!(value(&loaded, key), holds, "{own} and then {key} = {projects}");
    }
}

#[test]
fn sandbox_without_backend_counts_as_the_host() {
    for (text, host) in [
        ("", ExecHost::Sandbox),
        ("sandbox.mode = 'preferred'", ExecHost::Sandbox),
        ("sandbox.mode = 'off'", ExecHost::Host),
        ("sandbox.backend = 'none'", ExecHost::Host),
        ("sandbox.mode = 'off'\nexec.host = 'container'", ExecHost::Container),
        ("sandbox.mode = 'off'\nexec.host = 'node'", ExecHost::Node),
        ("exec.host = 'host'", ExecHost::Host),
    ] {
        assert_eq!(Fixture::new().user(text).load().config.exec_host(), host, "{text}");
    }
}
