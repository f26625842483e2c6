use super::*;
use haft_contract::CommandLimits;

fn words(command: &ProcessSpec) -> Vec<String> {
    command.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

#[test]
fn container_arguments_confine_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().canonicalize().unwrap();
    std::fs::create_dir(workspace.join(".git")).unwrap();
    std::fs::create_dir(workspace.join("keys")).unwrap();
    std::fs::write(workspace.join(".env"), "KEY=1").unwrap();
    let policy = SandboxPolicy {
        writable: vec![workspace.clone()],
        protected: vec![workspace.join(".git"), workspace.join("missing")],
        masked: vec![workspace.join(".env"), workspace.join("keys")],
        limits: CommandLimits {
            memory: Some(1024),
            processes: Some(7),
            cpu_seconds: Some(3),
            file_size: Some(5),
            open_files: Some(9),
            tmp_size: Some(11),
        },
        ..SandboxPolicy::default()
    };
    let container = Container::new("/usr/bin/podman", ContainerImage::Named("tools".into()), Launcher::at("/bin/haft")).runtime("runc");
    let command = ProcessSpec::new("/bin/echo", &workspace).argument("hello").variable("LANG", "C.UTF-8");
    let wrapped = container.wrap(command, &policy).unwrap();
    let words = words(&wrapped.command);
    let name = words.iter().find(|word| word.starts_with("haft-")).unwrap();
    let (root, host) = (workspace.display(), std::process::id());
    let keep = if rustix::process::geteuid().is_root() { "" } else { " --userns keep-id" };
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let expected = format!(
        "__haft_sandbox_supervisor {{\"host\":{host},\"name\":\"{name}\",\"removal\":[\"/usr/bin/podman\",\"rm\",\"--force\",\"--time\",\"0\",\"{name}\"]}} /usr/bin/podman \
         --runtime runc run --rm --interactive --init=false --pull=never --network none --read-only --cap-drop ALL --security-opt \
         no-new-privileges --ipc private --hostname haft --log-driver none --name {name} --security-opt seccomp=haft --user {user}:{group}{keep} --memory 1024 \
         --memory-swap 1024 --pids-limit 7 --ulimit nofile=9:9 --ulimit nproc=7:7 --ulimit fsize=5:5 --ulimit cpu=3:3 --ulimit core=0:0 \
         --tmpfs /tmp:rw,nosuid,nodev,size=11,notmpcopyup --tmpfs /var/tmp:rw,nosuid,nodev,size=11,notmpcopyup --tmpfs \
         /run:rw,nosuid,nodev,size=11,notmpcopyup --volume {root}:{root}:rw --volume /dev/null:{root}/.env:ro --volume \
         {root}/.git:{root}/.git:ro --tmpfs {root}/keys:ro,size=4k,mode=0000,notmpcopyup \
         --workdir {root} --env LANG=C.UTF-8 tools /bin/echo hello"
    );
    assert_eq!(words.join(" "), expected);
    assert_eq!((wrapped.command.program, container.gaps(&policy)), (PathBuf::from("/bin/haft"), Vec::new()));
    drop(wrapped.guard);
    assert!(!workspace.join("missing").exists());
}

#[test]
fn network_access_is_refused() {
    let container = Container::new("/usr/bin/podman", ContainerImage::Named("tools".into()), Launcher::at("/bin/haft"));
    for network in [NetworkAccess::Host, NetworkAccess::Proxy { socket: "/s".into(), port: 1 }] {
        let refused = container.wrap(ProcessSpec::new("/bin/true", "/"), &SandboxPolicy { network, ..SandboxPolicy::default() });
        assert!(matches!(refused, Err(SandboxError::Unsupported { .. })), "{refused:?}");
    }
}

#[test]
fn invalid_container_settings_are_refused_with_their_key() {
    let refused = |options: ContainerOptions| match Container::detect(&options, Launcher::at("/bin/haft")) {
        Ok(sandbox) => panic!("{}", sandbox.name()),
        Err(error) => error.to_string(),
    };
    let image = |image: ContainerImage| ContainerOptions { image: Some(image), ..ContainerOptions::default() };
    let running = |name: &str| ContainerOptions { running: Some(name.into()), ..ContainerOptions::default() };
    let cases = [
        (ContainerOptions::default(), "set 'sandbox.container.image'"),
        (image(ContainerImage::Named("--privileged".into())), "is no valid image name"),
        (image(ContainerImage::Named("haft-no-such-image".into())), "there is no local image 'haft-no-such-image'"),
        (image(ContainerImage::RootFolder("/no/such/folder".into())), "/no/such/folder is no folder"),
        (running("--privileged"), "is no valid container name"),
        (running("haft-no-such-container"), "no container 'haft-no-such-container' is running"),
    ];
    for (options, words) in cases {
        let message = refused(options.clone());
        assert!(message.contains(words), "{options:?}: {message}");
    }
}
