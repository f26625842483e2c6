use std::path::PathBuf;

use haft_contract::{Access, CodeInput, CommandLimits, CommandRequest, Effect, ErrorKind, ExecHost, ExecNature, InterpreterSpec, Need};

use crate::support::{World, request};

/// The effects of a command, as short text.
fn effects(world: &World, request: &CommandRequest) -> Vec<String> {
    let describe = |effect: &Effect| match effect {
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
        Effect::Read(effect) => format!("read {}", world.relative(effect.location.path())),
        Effect::Write(effect) => format!("write {}", world.relative(effect.location.path())),
        Effect::Delete(effect) => format!("delete {}", world.relative(effect.location.path())),
        Effect::Connect(connect) => format!("connect {}:{}", connect.host, connect.port),
        Effect::Contained { .. } => "contained".to_owned(),
        Effect::Unknown { .. } => "unknown".to_owned(),
        other => format!("{other:?}"),
    };
    world.plan(request).unwrap().effects().iter().map(describe).collect()
}

#[test]
fn plan_has_an_effect_for_every_program_file_and_host() {
    let world = World::new();
    world.write("a.txt", "x");
    for (command, expected) in [
        ("cargo test", &["run cargo test"][..]),
        ("cat a.txt | wc -l", &["run cat a.txt (reads)", "run wc -l (filters)", "read ./a.txt"]),
        ("sort a.txt > sorted.txt", &["run sort a.txt (reads)", "read ./a.txt", "write ./sorted.txt"]),
        ("git status; rm -rf build", &["run git status (reads)", "run rm -rf build", "delete ./build"]),
        ("timeout 5 env X=1 make all", &["run make all"]),
        ("echo *.rs", &["run echo *.rs (expanded)"]),
        ("cat /etc/hostname", &["run cat /etc/hostname (reads)"]),
        ("cp a.txt /somewhere/b.txt", &["run cp a.txt /somewhere/b.txt", "read ./a.txt", "write /somewhere/b.txt"]),
        ("cd sub && touch x", &["run cd sub", "run touch x", "write ./sub/x"]),
        ("$PROGRAM now", &["run $PROGRAM now (expanded)", "unknown"]),
    ] {
        assert_eq!(effects(&world, &request(command)), expected, "{command}");
    }
}

#[test]
fn sandboxed_plan_has_private_temporary_files_and_only_requested_hosts() {
    let world = World::new();
    let sandboxed = |command: &str, hosts: &[&str]| CommandRequest {
        host: Some(ExecHost::Sandbox),
        allow_hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        ..request(command)
    };
    assert_eq!(effects(&world, &sandboxed("make > /tmp/log", &[])), ["run make"]);
    assert_eq!(effects(&world, &request("make > /tmp/log")), ["run make", "write /tmp/log"]);
    assert_eq!(
        effects(&world, &sandboxed("make", &["Packages.Example.org", "example.org:8443"])),
        ["run make", "connect packages.example.org:443", "connect example.org:8443"]
    );
    let command = world.plan(&sandboxed("curl -s https://example.org/", &[])).unwrap();
    assert_eq!(command.notes(), [""; 0], "a host in the line is no reason for a hint: it may never be reached");
    assert_eq!(command.writable_tree(), Some(&*world.root()));
    assert_eq!(world.command("make").writable_tree(), None);
}

/// What a line names outside the view is not there for it: no effect, and a hint for the case that it fails.
#[test]
fn sandboxed_plan_has_no_files_that_its_view_does_not_show() {
    let world = World::new();
    world.write("a.txt", "x");
    world.write(".env", "x");
    let sandboxed = |command: &str| CommandRequest { host: Some(ExecHost::Sandbox), ..request(command) };
    for (command, expected) in [
        ("cat /somewhere/else/notes.txt", &["run cat /somewhere/else/notes.txt (reads)"][..]),
        ("cp a.txt /somewhere/b.txt", &["run cp a.txt /somewhere/b.txt", "read ./a.txt"]),
        ("cat .env", &["run cat .env (reads)", "read ./.env"]),
        ("echo x > .git/hooks/pre-commit", &["run echo x (reads)", "write ./.git/hooks/pre-commit"]),
        ("mv a.txt b.txt", &["run mv a.txt b.txt", "delete ./a.txt", "write ./b.txt"]),
        ("$PROGRAM now", &["run $PROGRAM now (expanded)", "contained"]),
        ("x=1 # nothing runs", &["contained"]),
        ("/usr/lib/git-core/git-push a", &["run /usr/lib/git-core/git-push a", "run git push a"]),
    ] {
        assert_eq!(effects(&world, &sandboxed(command)), expected, "{command}");
    }
    let hints = |command: &str| world.plan(&sandboxed(command)).unwrap().hints().to_vec();
    assert_eq!(
        hints("cat /somewhere/else/notes.txt; ls /somewhere/else/more.txt"),
        ["'/somewhere/else/notes.txt' is not visible in the sandbox. The user can open that folder and all in it: workspace.roots = \
             [{ path = \"/somewhere/else\", access = \"read-only\" }]"]
    );
    // One in a folder of which the sandbox has its own is shown.
    let home = std::env::home_dir().filter(|home| !home.starts_with("/tmp") && home.parent().is_some());
    for spelling in ["~/notes/a.txt", "$HOME/notes/a.txt", "\"$HOME/notes/a.txt\""] {
        let Some(home) = &home else { continue };
        let hints = hints(&format!("python3 {spelling}"));
        let [hint] = hints.as_slice() else { panic!("{spelling}: {hints:?}") };
        assert!(hint.contains(&*home.join("notes/a.txt").to_string_lossy()) && hint.contains("path = \"~/notes\""), "{hint}");
    }
    for command in ["cat a.txt /usr/share/x /tmp/y ~/.cache/z ~/.ssh/id_rsa", "curl https://example.org/a/b", "ls / ~"] {
        assert!(hints(command).is_empty(), "{command}: {:?}", hints(command));
    }
}

/// A line beyond what can be evaluated runs in the sandbox; one that is no shell does not, and the error has the place.
#[test]
fn sandboxed_plan_refuses_what_no_shell_can_read_and_nothing_else() {
    let world = World::new();
    let plan = |command: &str| world.plan(&CommandRequest { host: Some(ExecHost::Sandbox), ..request(command) });
    for (command, message) in [
        ("echo \"abc", "Shell syntax error: unclosed \" at column 6."),
        ("ls\necho 'abc", "Shell syntax error: unclosed ' at line 2, column 6."),
        ("echo $(ls", "Shell syntax error: unclosed ( at column 6."),
        ("ls )", "Shell syntax error: unexpected ')' at column 4."),
        ("for x in a b; echo $x; done", "Shell syntax error: unexpected 'echo' at column 15."),
        ("echo a | | wc", "Shell syntax error: unexpected '|'."),
    ] {
        let error = plan(command).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::ValidationError, message), "{command}");
    }
    for command in [
        format!("echo {}", "x".repeat(70_000)),
        "true;".repeat(60),
        format!("{}ls", "nice ".repeat(12)),
        format!("{}ls{}", "( ".repeat(120), " )".repeat(120)),
        "shopt -s extglob\nls !(a|b)".to_owned(),
        "ls\u{a0}x".to_owned(),
    ] {
        assert!(plan(&command).is_ok(), "{}", &command[..20]);
    }
    let error = plan(&format!("echo {}", "x".repeat(200_000))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ValidationError, "{}", error.message());
}

/// In a read-only session a command sees the workspace, and cannot change it.
#[test]
fn read_only_view_is_planned_where_there_is_a_sandbox() {
    let world = World::new();
    let plan = |host, dry_run| {
        let request = CommandRequest { host: Some(host), dry_run, read_only: true, ..request("cargo test; $x") };
        world.plan(&request).unwrap()
    };
    let command = plan(ExecHost::Sandbox, false);
    assert!(command.has_read_only_view() && command.shell().read_only_view);
    let needs: Vec<Need> = command.effects().iter().map(Effect::need).collect();
    assert_eq!(needs, vec![Need::Access(Access::ReadOnly); 3]);
    assert!(!command.effects().iter().any(Effect::changes_something));
    assert!(!plan(ExecHost::Host, false).has_read_only_view(), "nothing holds it back there");
    assert!(!plan(ExecHost::Sandbox, true).has_read_only_view(), "what is staged is meant to be applied");
}

#[test]
fn b12_a_program_planted_in_the_workspace_is_not_found_by_its_name() {
    let world = World::new();
    world.write("git", "#!/bin/sh\necho planted\n");
    let program = |command: &str| match &world.command(command).effects()[0] {
        Effect::Exec(exec) => exec.program.clone(),
        other => panic!("a program, not {other:?}"),
    };
    let found = program("git status");
    assert!(found.is_absolute() && !found.starts_with(world.root()), "{found:?}");
    assert_eq!(program("./git status"), world.root().join("git"));
}

#[test]
fn plan_refuses_what_cannot_run() {
    let world = World::new();
    world.write("file", "x");
    let at = |directory: &str| CommandRequest { directory: Some(PathBuf::from(directory)), ..request("true") };
    let with = |name: &str| CommandRequest { environment: vec![(name.into(), "x".into())], ..request("true") };
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

/// Code for an interpreter that is installed under the second of its names.
fn code(code_input: CodeInput, host: Option<ExecHost>) -> CommandRequest {
    let interpreter =
        InterpreterSpec { names: &["haft-no-such-program", "sh"], arguments: vec!["-u".into()], code_input, advice: "Install one." };
    CommandRequest { interpreter: Some(interpreter), host, ..request("$(rm -rf x)") }
}

#[test]
fn interpreter_is_one_effect_whose_arguments_are_the_code() {
    let world = World::new();
    for (code_input, started, planned) in [
        (CodeInput::Argument, ["-u", "$(rm -rf x)"].as_slice(), ["-u", "$(rm -rf x)"].as_slice()),
        // The arguments that make it read its input tell the policy nothing.
        (CodeInput::Stdin, &["-u"], &["$(rm -rf x)"]),
    ] {
        let command = world.plan(&code(code_input, Some(ExecHost::Sandbox))).unwrap();
        let [Effect::Exec(exec)] = command.effects() else { panic!("one program, not {:?}", command.effects()) };
        assert_eq!([&exec.arguments[..], &command.shell().arguments[..]], [planned, started]);
        assert_eq!((&exec.program, exec.named.as_str(), exec.nature), (&command.shell().program, "sh", ExecNature::Any));
        assert!(exec.program.is_absolute() && exec.program.ends_with("sh"), "{:?}", exec.program);
        assert_eq!((exec.host, command.writable_tree(), command.text()), (ExecHost::Sandbox, Some(&*world.root()), "$(rm -rf x)"));
    }
    assert_eq!(world.plan(&code(CodeInput::Stdin, None)).unwrap().writable_tree(), None, "outside the sandbox it can change everything");
}

#[test]
fn missing_interpreter_is_an_error_with_advice() {
    let world = World::new();
    world.write("haft-no-such-program", "#!/bin/sh\n");
    let mut request = code(CodeInput::Stdin, None);
    request.interpreter.as_mut().unwrap().names = &["haft-no-such-program", "haft-nor-this"];
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
fn only_tighter_limits_are_enforced_and_only_in_the_sandbox() {
    let world = World::new();
    let none = CommandLimits::default();
    let less = CommandLimits { memory: Some(1 << 20), cpu_seconds: Some(1), processes: Some(9), ..none };
    let more = CommandLimits { memory: Some(u64::MAX), cpu_seconds: Some(1), processes: Some(u64::MAX), ..none };
    let some = CommandLimits { cpu_seconds: Some(1), ..none };
    for (host, requested, enforced) in [
        (ExecHost::Sandbox, none, none),
        (ExecHost::Sandbox, less, less),
        (ExecHost::Sandbox, more, some),
        (ExecHost::Container, more, some),
        (ExecHost::Host, less, none),
    ] {
        let command = world.plan(&CommandRequest { host: Some(host), limits: requested, ..request("true") }).unwrap();
        assert_eq!(command.limits(), enforced, "{host:?} {requested:?}");
    }
    let code = CommandRequest { limits: less, ..code(CodeInput::Argument, Some(ExecHost::Container)) };
    assert_eq!(world.plan(&code).unwrap().limits(), less);
}

/// A program of a plugin runs from the folder that the host keeps for programs, and from no other: no call chooses what it sees.
#[test]
fn program_runs_from_a_kept_folder_alone() {
    use haft_contract::ProgramSpec;
    let world = World::new();
    let kept = world.root().parent().unwrap().join("plugins/content/abc");
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::copy("/bin/true", kept.join("run")).unwrap();
    std::fs::write(kept.join("data"), "").unwrap();
    std::os::unix::fs::symlink("/etc", kept.parent().unwrap().join("etc")).unwrap();
    let own = kept.join("run").to_string_lossy().into_owned();
    let plan = |word: &str, folder: PathBuf| {
        let program = Some(ProgramSpec { words: vec![word.to_owned(), "-x".to_owned()], folder });
        world.plan(&CommandRequest { program, host: Some(ExecHost::Sandbox), read_only: true, ..request("run") })
    };
    for word in ["sh", &own] {
        let command = plan(word, kept.clone()).unwrap();
        let [Effect::Exec(exec)] = command.effects() else { panic!("{:?}", command.effects()) };
        assert_eq!((exec.named.as_str(), exec.host, exec.read_only_view), (word, ExecHost::Sandbox, true));
        assert_eq!((command.program_folder(), command.shell().arguments.as_slice()), (Some(&*kept), &["-x".to_owned()][..]));
    }
    let refused = |word: &str, folder: PathBuf| plan(word, folder).unwrap_err().message().to_owned();
    let (above, linked) = (kept.parent().unwrap().to_owned(), kept.parent().unwrap().join("etc"));
    for folder in ["/etc".into(), world.root(), above, linked, kept.join("absent"), kept.join("..")] {
        let message = refused("sh", folder.clone());
        assert!(message.contains("is not a folder that is kept for programs"), "{folder:?}: {message}");
    }
    for word in ["/bin/true", "./run", &kept.join("data").to_string_lossy(), &kept.join("gone").to_string_lossy(), "no-such-program"] {
        assert!(refused(word, kept.clone()).starts_with("The program was not run: "), "{word}");
    }
}
