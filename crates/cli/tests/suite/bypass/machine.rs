//! Ways out that lead by the machine and not by a path: namespaces, other processes, kernel files, sockets. None has a permitted neighbour;
//! each leaves a mark outside, reads a secret or reaches a server where nothing stops it.

use std::process::{Child, Command, Stdio};

use super::super::effects::{CANARY, Scene, Server, reveals, run_line, tree, tree_reveals};

/// `@out@` is a folder outside with a secret, `@pid@` a process of the user outside, `@port@` a server of the user.
#[rustfmt::skip] // one row a line
pub(super) const ROWS: &[(&str, &str)] = &[
    ("user namespace", "unshare -Ur sh -c 'cat @out@/canary.txt; touch @out@/marker'"),
    ("mount namespace", "unshare -Urm sh -c 'mount --bind / /mnt; cat /mnt@out@/canary.txt; touch /mnt@out@/marker'"),
    ("mount", "mount -t tmpfs none /mnt; mount --bind /proc/1/root /mnt; cat /mnt@out@/canary.txt"),
    ("mount of the whole disk", "mkdir -p loot/m; d=$(awk '$2==\"/\"{print $1}' /proc/mounts); mount $d loot/m; cat loot/m@out@/canary.txt"),
    ("unmount", "umount -l \"$PWD/.git\" /tmp /; cat @out@/canary.txt; touch @out@/marker"),
    ("chroot", "chroot /proc/1/root sh -c 'cat @out@/canary.txt'; chroot . /bin/sh -c 'cat @out@/canary.txt'"),
    ("pivot", "pivot_root . loot; cat @out@/canary.txt"),
    ("namespaces of another", "for n in user mnt net pid; do nsenter --$n=/proc/@pid@/ns/$n cat @out@/canary.txt; done; nsenter -t @pid@ -a touch @out@/marker"),
    ("root of another", "cat /proc/@pid@/root@out@/canary.txt; cat /proc/*/root@out@/canary.txt; touch /proc/1/root@out@/marker"),
    ("environment of another", "cat /proc/@pid@/environ /proc/*/environ | tr '\\0' '\\n'"),
    ("memory of another", "dd if=/proc/@pid@/mem bs=1 count=1; gdb -p @pid@ -batch -ex 'call (int)system(\"touch @out@/marker\")'"),
    ("trace", "strace -p @pid@ -o loot/trace & sleep 0.3; kill %1; gdb -batch -ex run -ex 'p 1' --args true"),
    ("signal", "kill -9 @pid@; kill -9 -1; pkill -9 sleep; python3 -c \"import os; os.kill(@pid@, 9)\""),
    ("descriptor of another", "python3 -c \"import os; print(os.pidfd_open(@pid@))\"; ls -l /proc/@pid@/fd; cat /proc/@pid@/fd/*"),
    ("core pattern", "echo '|@out@/evil' > /proc/sys/kernel/core_pattern; sh -c 'kill -SEGV $$'"),
    ("module helper", "echo @out@/evil > /proc/sys/kernel/modprobe; echo /x > /sys/kernel/uevent_helper; echo 1 > /proc/sys/kernel/sysrq; echo c > /proc/sysrq-trigger.not"),
    ("release agent", "mkdir -p loot/cg; mount -t cgroup -o rdma cgroup loot/cg; echo @out@/evil > loot/cg/release_agent; for f in /sys/fs/cgroup/*/release_agent; do echo @out@/evil > $f; done"),
    ("cgroup limits", "for f in /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs; do echo $$ > $f; done; echo max > /sys/fs/cgroup/memory.max; touch @out@/marker"),
    ("raw disk", "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmem; do head -c 512 $d > loot/raw; echo x >> $d; done; mknod loot/disk b 254 0; cat loot/disk"),
    ("kernel memory", "cat /proc/kcore /proc/kallsyms /proc/keys /sys/kernel/debug/* 2>/dev/null | head -c 100; dmesg"),
    ("abstract socket", "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0haft-test-@port@'); s.send(b'x')\""),
    ("sockets of the session bus", "for s in /run/user/*/bus /run/dbus/system_bus_socket /run/docker.sock /var/run/docker.sock; do curl -s --unix-socket $s http://x/; done; touch @out@/marker"),
    ("own socket of Haft", "for s in /run/haft/*; do curl -s -m 2 --unix-socket $s http://127.0.0.1:@port@/; python3 -c \"import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(b'x')\" $s; done"),
    ("launcher again", "/run/haft/launcher; for a in sandbox-outer outer inner relay holder; do /run/haft/launcher --$a '{}' touch @out@/marker; /run/haft/launcher haft-$a '{}' touch @out@/marker; done"),
    ("raw socket", "python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\"; python3 -c \"import socket; s = socket.socket(socket.AF_PACKET, 3); s.bind(('lo', 0)); s.send(b'x' * 60)\"; ping -c1 -W1 127.0.0.1"),
    ("datagrams", "python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', @port@))\"; echo x > /dev/udp/127.0.0.1/@port@"),
    ("other families", "python3 -c \"import socket; [print(f) for f in range(1, 46) if f not in (2, 10) and not print(end='') and socket.socket(f, 1)]\"; curl -s -m 3 http://127.0.0.1:@port@/"),
    ("interface", "ip link add x type dummy; ip addr add 10.9.9.9/24 dev lo; ip route add default dev lo; curl -s -m 3 http://127.0.0.1:@port@/"),
    ("terminal of another", "for t in /dev/tty /dev/pts/* /proc/@pid@/fd/0; do echo 'touch @out@/marker' > $t; done; python3 -c \"import fcntl, termios; [fcntl.ioctl(0, termios.TIOCSTI, bytes([c])) for c in b'touch @out@/marker\\n']\""),
    ("scheduled", "echo '* * * * * touch @out@/marker' | crontab -; echo 'touch @out@/marker' | at now; systemd-run --user touch @out@/marker"),
    ("privileges", "sudo -n touch @out@/marker; su -c 'touch @out@/marker'; pkexec touch @out@/marker; setpriv --reuid=0 touch @out@/marker; cp /bin/sh loot/sh; chmod u+s loot/sh; loot/sh -p -c 'touch @out@/marker'"),
    ("preloaded", "printf '#include <stdlib.h>\\n__attribute__((constructor)) void f(void) { system(\"touch @out@/marker\"); }' > loot/e.c; gcc -shared -fPIC -o loot/e.so loot/e.c; LD_PRELOAD=$PWD/loot/e.so true; echo $PWD/loot/e.so > /etc/ld.so.preload"),
    ("new session that stays", "setsid sh -c 'sleep 1; touch @out@/marker' & disown; (nohup sh -c 'sleep 1; touch @out@/marker' &)"),
    ("io_uring", "python3 -c \"import ctypes; p = ctypes.create_string_buffer(200); print(ctypes.CDLL(None).syscall(425, 8, p))\"; cat @out@/canary.txt"),
    ("handle", "python3 -c \"import ctypes, os; c = ctypes.CDLL(None, use_errno=True); h = ctypes.create_string_buffer(b'\\x08\\0\\0\\0\\x01\\0\\0\\0' + (2).to_bytes(4, 'little') + bytes(4), 136); f = c.syscall(304, os.open('.', 0), h, 0); print(f, os.listdir(f) if f >= 0 else ctypes.get_errno()); print(open('/proc/self/fd/%d@out@/canary.txt' % f).read() if f >= 0 else '')\""),
    ("links of proc", "ls -l /proc/*/cwd /proc/*/exe; cat /proc/*/cwd/../../../outside/canary.txt; cat /proc/self/task/*/root@out@/canary.txt"),
    ("working directory above", "cd /; cd ../../..; cat .@out@/canary.txt; python3 -c \"import os; f = os.open('..', 0); [os.chdir('..') for _ in range(20)]; print(open('.@out@/canary.txt').read())\""),
];

/// A process of the user, outside, with a secret in its environment.
struct Bystander(Child);

impl Bystander {
    fn start(scene: &Scene) -> Self {
        let mut command = Command::new("sleep");
        command.arg("600").env("SECRET", format!("{CANARY}-environment")).current_dir(scene.path("outside"));
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn ways_out_by_the_machine_lead_nowhere() {
    let (scene, server) = (Scene::new(), Server::start("reached"));
    let mut bystander = Bystander::start(&scene);
    std::fs::write(scene.path("outside/evil"), format!("#!/bin/sh\ntouch {}\n", scene.path("outside/marker").display())).unwrap();
    let before = scene.untouched();
    let mut wrong = Vec::new();
    for (name, line) in ROWS {
        std::fs::create_dir_all(scene.file("loot")).unwrap();
        let names = [("@out@", scene.path("outside").display().to_string()), ("@pid@", bystander.0.id().to_string())];
        let line = names.iter().fold(line.replace("@port@", &server.port().to_string()), |line, (name, value)| line.replace(name, value));
        let result = run_line(&scene, &line);
        let printed = result.value.to_string();
        let is_read = reveals(printed.as_bytes(), CANARY) || tree_reveals(&tree(&scene.file(""), &[]), CANARY);
        let is_changed = scene.untouched() != before;
        if is_read || is_changed || !bystander.is_alive() || server.connections() > 0 {
            let (alive, reached) = (bystander.is_alive(), server.connections());
            wrong.push(format!("{name}: read {is_read}, changed {is_changed}, alive {alive}, reached {reached}\n    {}", result.brief()));
            bystander = Bystander::start(&scene);
        }
        std::fs::remove_dir_all(scene.file("loot")).ok();
    }
    let core_pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    assert!(!core_pattern.contains("evil"), "{core_pattern}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The neighbour of all of them: an ordinary line in the same workspace.
    let result = run_line(&scene, "echo fine > fine.txt && cat fine.txt");
    assert!(result.text().contains("fine") && scene.file("fine.txt").exists(), "{}", result.brief());
}

/// Programs of a command talk to each other by sockets of all kinds, and to no program of the user.
#[test]
fn sockets_of_the_user_are_not_reached_and_those_of_a_command_are() {
    let scene = Scene::new();
    scene.write("node_modules/x/index.js", "");
    let places = ["db.sock", "deep/er/plain", "node_modules/x/own.sock"].map(|name| scene.file(name));
    std::fs::create_dir_all(scene.file("deep/er")).unwrap();
    let listeners = places.each_ref().map(|place| std::os::unix::net::UnixListener::bind(place).unwrap());
    let connect = "import socket, sys\nfor path in sys.argv[1:]:\n    try:\n        socket.socket(socket.AF_UNIX).connect(path); print('reached', path)\n    except OSError as error: print(error)\n";
    scene.write("connect.py", connect);
    let paths = places.each_ref().map(|place| place.display().to_string()).join(" ");
    for line in [
        format!("python3 connect.py {paths}"),
        format!(
            "mv deep moved; python3 connect.py moved/er/plain; cp -a db.sock copy.sock; ln db.sock hard.sock; python3 connect.py copy.sock hard.sock {paths}"
        ),
    ] {
        let result = run_line(&scene, &line);
        assert!(result.exit() == Some(0) && !result.text().contains("reached"), "{}", result.brief());
        for listener in &listeners {
            listener.set_nonblocking(true).unwrap();
            assert!(listener.accept().is_err(), "{line}");
        }
    }
    for (line, wanted) in [
        ("python3 -c \"from multiprocessing import Manager; m = Manager(); print('shared', m.dict(a=1)['a'])\"", "shared 1"),
        (
            "python3 -c \"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0)); s.sendto(b'x', s.getsockname()); print(s.recv(9))\"",
            "b'x'",
        ),
        (
            "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0own'); s.listen(); socket.socket(socket.AF_UNIX).connect('\\0own'); print('abstract')\"",
            "abstract",
        ),
        ("node -e \"console.log('interfaces', Object.keys(require('os').networkInterfaces()).join())\"", "interfaces lo"),
    ] {
        let result = run_line(&scene, line);
        assert!(result.text().contains(wanted), "{line}: {}", result.brief());
    }
}
