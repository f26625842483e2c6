use std::path::PathBuf;

use haft_contract::{Effect, ErrorKind, ExecHost, ExecNature, LineLimits, LineRequest, Program, Takes};

use crate::support::{World, request};

/// The effects of a line, in short.
fn effects(world: &World, request: &LineRequest) -> Vec<String> {
    let shown = |effect: &Effect| match effect {
        Effect::Exec(exec) => {
            let words: Vec<&str> = std::iter::once(exec.named.as_str()).chain(exec.arguments.iter().map(String::as_str)).collect();
            let nature = match exec.nature {
                ExecNature::Expanded => " (expanded)",
                ExecNature::Reads => " (reads)",
                ExecNature::Filters => " (filters)",
                _ => "",
            };
            format!("run {}{nature}", words.join(" "))
        }
        Effect::Read(effect) => format!("read {}", world.shown(effect.location.path())),
        Effect::Write(effect) => format!("write {}", world.shown(effect.location.path())),
        Effect::Connect(connect) => format!("connect {}:{}", connect.host, connect.port),
        Effect::Unknown { .. } => "unknown".to_owned(),
        other => format!("{other:?}"),
    };
    world.plan(request).unwrap().effects().iter().map(shown).collect()
}

#[test]
fn every_program_file_and_host_of_a_line_is_an_effect() {
    let world = World::new();
    world.write("a.txt", "x");
    for (line, expected) in [
        ("cargo test", &["run cargo test"][..]),
        ("cat a.txt | wc -l", &["run cat a.txt (reads)", "run wc -l (filters)", "read ./a.txt"]),
        ("sort a.txt > sorted.txt", &["run sort a.txt (reads)", "read ./a.txt", "write ./sorted.txt"]),
        ("git status; rm -rf build", &["run git status (reads)", "run rm -rf build", "write ./build"]),
        ("timeout 5 env X=1 make all", &["run make all"]),
        ("echo *.rs", &["run echo *.rs (expanded)"]),
        ("cat /etc/hostname", &["run cat /etc/hostname (reads)"]),
        ("cp a.txt /somewhere/b.txt", &["run cp a.txt /somewhere/b.txt", "read ./a.txt", "write /somewhere/b.txt"]),
        ("cd sub && touch x", &["run cd sub", "run touch x", "write ./sub/x"]),
        ("$PROGRAM now", &["run $PROGRAM now (expanded)", "unknown"]),
    ] {
        assert_eq!(effects(&world, &request(line)), expected, "{line}");
    }
}

#[test]
fn behind_walls_temporary_files_are_its_own_and_hosts_must_be_asked_for() {
    let world = World::new();
    let walled = |line: &str, reach: &[&str]| LineRequest {
        host: Some(ExecHost::Sandbox),
        reach: reach.iter().map(|&host| host.to_owned()).collect(),
        ..request(line)
    };
    assert_eq!(effects(&world, &walled("make > /tmp/log", &[])), ["run make"]);
    assert_eq!(effects(&world, &request("make > /tmp/log")), ["run make", "write /tmp/log"]);
    assert_eq!(
        effects(&world, &walled("make", &["Packages.Example.org", "example.org:8443"])),
        ["run make", "connect packages.example.org:443", "connect example.org:8443"]
    );
    let line = world.plan(&walled("curl -s https://example.org/", &[])).unwrap();
    assert_eq!(line.notes(), ["There is no network in the sandbox. To reach example.org, ask for it with allow_host."]);
    assert_eq!(line.reach(), Some(&*world.root()));
    assert_eq!(world.line("make").reach(), None);
}

#[test]
fn b12_a_program_planted_in_the_workspace_is_not_found_by_its_name() {
    let world = World::new();
    world.write("git", "#!/bin/sh\necho planted\n");
    let program = |line: &str| match &world.line(line).effects()[0] {
        Effect::Exec(exec) => exec.program.clone(),
        other => panic!("a program, not {other:?}"),
    };
    let found = program("git status");
    assert!(found.is_absolute() && !found.starts_with(world.root()), "{found:?}");
    assert_eq!(program("./git status"), world.root().join("git"));
}

#[test]
fn what_cannot_run_is_refused_before_anything_happens() {
    let world = World::new();
    world.write("file", "x");
    let at = |directory: &str| LineRequest { directory: Some(PathBuf::from(directory)), ..request("true") };
    let with = |name: &str| LineRequest { environment: vec![(name.into(), "x".into())], ..request("true") };
    for (request, kind, part) in [
        (request(" \n"), ErrorKind::ValidationError, "'command' is empty"),
        (at("missing"), ErrorKind::FileNotFound, "does not exist. Create it first"),
        (at("file"), ErrorKind::ValidationError, "is no folder"),
        (with("LD_PRELOAD"), ErrorKind::PermissionDenied, "can make a program run other code"),
        (with("MY_TOKEN"), ErrorKind::PermissionDenied, "its name says that it is a secret"),
        (request(&format!("echo {}", "x".repeat(70_000))), ErrorKind::PermissionDenied, "The command was refused"),
        (request(&"true;".repeat(60)), ErrorKind::PermissionDenied, "The command was refused"),
    ] {
        let error = world.plan(&request).unwrap_err();
        assert_eq!(error.kind(), kind, "{}", error.message());
        assert!(error.message().contains(part), "{}", error.message());
    }
}

/// Code for a program that is installed under the second of its names.
fn code(takes: Takes, host: Option<ExecHost>) -> LineRequest {
    let program = Program { names: &["haft-no-such-program", "sh"], arguments: vec!["-u".into()], takes, advice: "Install one." };
    LineRequest { program: Some(program), host, ..request("$(rm -rf x)") }
}

#[test]
fn a_program_that_runs_code_is_one_effect_and_what_is_judged_is_the_code() {
    let world = World::new();
    for (takes, started, judged) in [
        (Takes::Argument, ["-u", "$(rm -rf x)"].as_slice(), ["-u", "$(rm -rf x)"].as_slice()),
        // How it is made to read its input says nothing to anyone.
        (Takes::Input, &["-u"], &["$(rm -rf x)"]),
    ] {
        let line = world.plan(&code(takes, Some(ExecHost::Sandbox))).unwrap();
        let [Effect::Exec(exec)] = line.effects() else { panic!("one program, not {:?}", line.effects()) };
        assert_eq!([&exec.arguments[..], &line.shell().arguments[..]], [judged, started]);
        assert_eq!((&exec.program, exec.named.as_str(), exec.nature), (&line.shell().program, "sh", ExecNature::Any));
        assert!(exec.program.is_absolute() && exec.program.ends_with("sh"), "{:?}", exec.program);
        assert_eq!((exec.host, line.reach(), line.text()), (ExecHost::Sandbox, Some(&*world.root()), "$(rm -rf x)"));
    }
    assert_eq!(world.plan(&code(Takes::Input, None)).unwrap().reach(), None, "nothing holds it back outside");
}

#[test]
fn a_program_that_is_not_installed_is_said_with_what_to_do() {
    let world = World::new();
    world.write("haft-no-such-program", "#!/bin/sh\n");
    let mut request = code(Takes::Input, None);
    request.program.as_mut().unwrap().names = &["haft-no-such-program", "haft-nor-this"];
    let error = world.plan(&request).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (
            ErrorKind::ExecutionError,
            "There is no program 'haft-no-such-program' or 'haft-nor-this' on this machine (programs in the workspace do not count). \
             Install one."
        )
    );
}

#[test]
fn only_tighter_limits_are_granted_and_only_behind_walls() {
    let world = World::new();
    let none = LineLimits::default();
    let less = LineLimits { memory: Some(1 << 20), cpu_seconds: Some(1), processes: Some(9) };
    let more = LineLimits { memory: Some(u64::MAX), cpu_seconds: Some(1), processes: Some(u64::MAX) };
    let some = LineLimits { cpu_seconds: Some(1), ..none };
    for (host, asked, granted) in [
        (ExecHost::Sandbox, none, none),
        (ExecHost::Sandbox, less, less),
        (ExecHost::Sandbox, more, some),
        (ExecHost::Container, more, some),
        (ExecHost::Host, less, none),
    ] {
        let line = world.plan(&LineRequest { host: Some(host), limits: asked, ..request("true") }).unwrap();
        assert_eq!(line.limits(), granted, "{host:?} {asked:?}");
    }
    let code = LineRequest { limits: less, ..code(Takes::Argument, Some(ExecHost::Container)) };
    assert_eq!(world.plan(&code).unwrap().limits(), less);
}
