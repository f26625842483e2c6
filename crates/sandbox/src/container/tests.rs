use super::*;

fn words(command: &Command) -> Vec<String> {
    command.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

#[test]
fn every_door_is_shut_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().canonicalize().unwrap();
    std::fs::create_dir(workspace.join(".git")).unwrap();
    std::fs::create_dir(workspace.join("keys")).unwrap();
    std::fs::write(workspace.join(".env"), "KEY=1").unwrap();
    let policy = Policy {
        writable: vec![workspace.clone()],
        protected: vec![workspace.join(".git"), workspace.join("missing")],
        masked: vec![workspace.join(".env"), workspace.join("keys")],
        limits: Limits {
            memory: Some(1024),
            processes: Some(7),
            cpu_seconds: Some(3),
            file_size: Some(5),
            open_files: Some(9),
            tmp_size: 11,
        },
        ..Policy::default()
    };
    let container = Container::new("/usr/bin/podman", Image::Named("tools".into())).runtime("runc");
    let command = Command::new("/bin/echo", &workspace).argument("hello").variable("LANG", "C.UTF-8");
    let wrapped = container.wrap(command, &policy).unwrap();
    let name = &wrapped.guard.container.as_ref().unwrap().name;
    let root = workspace.display();
    let expected = format!(
        "--runtime runc run --rm --interactive --init=false --pull=never --network none --read-only --cap-drop ALL --security-opt \
         no-new-privileges --ipc private --hostname haft --log-driver none --name {name} --memory 1024 --memory-swap 1024 --pids-limit 7 \
         --ulimit nofile=9:9 --ulimit nproc=7:7 --ulimit fsize=5:5 --ulimit cpu=3:3 --ulimit core=0:0 --tmpfs \
         /tmp:rw,nosuid,nodev,size=11,notmpcopyup --tmpfs /var/tmp:rw,nosuid,nodev,size=11,notmpcopyup --tmpfs /run:rw,nosuid,nodev,size=11,notmpcopyup --volume \
         {root}:{root}:rw --volume {root}/.git:{root}/.git:ro --volume /dev/null:{root}/.env:ro --tmpfs {root}/keys:ro,size=4k,mode=0000,notmpcopyup --workdir {root} --env LANG=C.UTF-8 tools \
         /bin/echo hello"
    );
    assert_eq!(words(&wrapped.command).join(" "), expected);
    assert_eq!(container.gaps(&policy), [format!("{root}/missing can be created")]);
}

#[test]
fn a_network_and_names_that_are_options_are_refused() {
    let container = |image: &str| Container::new("/usr/bin/podman", Image::Named(image.into()));
    let command = || Command::new("/bin/true", "/");
    for network in [Network::Host, Network::Proxy { socket: "/s".into(), port: 1 }] {
        let refused = container("tools").wrap(command(), &Policy { network, ..Policy::default() });
        assert!(matches!(refused, Err(SandboxError::Unsupported { .. })), "{refused:?}");
    }
    assert!(matches!(container("--privileged").wrap(command(), &Policy::default()), Err(SandboxError::Policy { .. })));
    assert!(matches!(container("tools").exec("--privileged", command()), Err(SandboxError::Policy { .. })));
}

#[test]
fn a_running_container_is_entered_by_name() {
    let container = Container::new("/usr/bin/docker", Image::Named("tools".into()));
    let command = Command::new("ls", "/code").argument("-l").variable("LANG", "C");
    let entered = container.exec("box", command).unwrap();
    assert_eq!(words(&entered), ["exec", "--interactive", "--workdir", "/code", "--env", "LANG=C", "box", "ls", "-l"]);
    assert_eq!(entered.program, PathBuf::from("/usr/bin/docker"));
}
