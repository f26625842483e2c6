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
    let container = Container::new("/usr/bin/podman", Image::Named("tools".into()), Launcher::at("/bin/haft")).runtime("runc");
    let command = Command::new("/bin/echo", &workspace).argument("hello").variable("LANG", "C.UTF-8");
    let wrapped = container.wrap(command, &policy).unwrap();
    assert!(workspace.join("missing").is_dir(), "it is held while the command runs");
    let words = words(&wrapped.command);
    let name = words.iter().find(|word| word.starts_with("haft-")).unwrap();
    let (root, host) = (workspace.display(), std::process::id());
    let keep = if rustix::process::geteuid().is_root() { "" } else { " --userns keep-id" };
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let expected = format!(
        "__haft_sandbox_keeper {{\"host\":{host},\"name\":\"{name}\",\"end\":[\"/usr/bin/podman\",\"rm\",\"--force\",\"--time\",\"0\",\"{name}\"]}} /usr/bin/podman \
         --runtime runc run --rm --interactive --init=false --pull=never --network none --read-only --cap-drop ALL --security-opt \
         no-new-privileges --ipc private --hostname haft --log-driver none --name {name} --security-opt seccomp=haft --user {user}:{group}{keep} --memory 1024 \
         --memory-swap 1024 --pids-limit 7 --ulimit nofile=9:9 --ulimit nproc=7:7 --ulimit fsize=5:5 --ulimit cpu=3:3 --ulimit core=0:0 \
         --tmpfs /tmp:rw,nosuid,nodev,size=11,notmpcopyup --tmpfs /var/tmp:rw,nosuid,nodev,size=11,notmpcopyup --tmpfs \
         /run:rw,nosuid,nodev,size=11,notmpcopyup --volume {root}:{root}:rw --volume /dev/null:{root}/.env:ro --volume \
         {root}/.git:{root}/.git:ro --tmpfs {root}/keys:ro,size=4k,mode=0000,notmpcopyup --volume {root}/missing:{root}/missing:ro \
         --workdir {root} --env LANG=C.UTF-8 tools /bin/echo hello"
    );
    assert_eq!(words.join(" "), expected);
    assert_eq!((wrapped.command.program, container.gaps(&policy)), (PathBuf::from("/bin/haft"), Vec::new()));
    drop(wrapped.guard);
    assert!(!workspace.join("missing").exists());
}

#[test]
fn a_network_is_refused() {
    let container = Container::new("/usr/bin/podman", Image::Named("tools".into()), Launcher::at("/bin/haft"));
    for network in [Network::Host, Network::Proxy { socket: "/s".into(), port: 1 }] {
        let refused = container.wrap(Command::new("/bin/true", "/"), &Policy { network, ..Policy::default() });
        assert!(matches!(refused, Err(SandboxError::Unsupported { .. })), "{refused:?}");
    }
}

#[test]
fn what_cannot_be_a_container_is_refused_with_its_key() {
    let refused = |options: ContainerOptions| match Container::detect(&options, Launcher::at("/bin/haft")) {
        Ok(sandbox) => panic!("{}", sandbox.name()),
        Err(error) => error.to_string(),
    };
    let image = |image: Image| ContainerOptions { image: Some(image), ..ContainerOptions::default() };
    let running = |name: &str| ContainerOptions { running: Some(name.into()), ..ContainerOptions::default() };
    let cases = [
        (ContainerOptions::default(), "set 'sandbox.container.image'"),
        (image(Image::Named("--privileged".into())), "is no name of an image"),
        (image(Image::Named("haft-no-such-image".into())), "there is no image 'haft-no-such-image' here"),
        (image(Image::RootFolder("/no/such/folder".into())), "/no/such/folder is no folder"),
        (running("--privileged"), "is no name of a container"),
        (running("haft-no-such-container"), "no container 'haft-no-such-container' is running"),
    ];
    for (options, words) in cases {
        let said = refused(options.clone());
        assert!(said.contains(words), "{options:?}: {said}");
    }
}
