//! Advice where several layers have a say: each place that must change is named, and the change is enough.

use super::harness::World;

const READ: &[&str] = &["call", "read_file", "--path", "a.txt"];

fn world(own: &str, project: &str) -> World {
    let world = World::with_config(own);
    world.write("a.txt", "text\n");
    world.write(".haft/config.toml", project);
    world
}

#[test]
fn entry_in_the_users_and_in_the_projects_file_is_named_in_both() {
    let deny = "[tools]\ndeny = [\n  \"read_file\",\n  \"noop\",\n  \"read_file\",\n]\n";
    let world = world(deny, "[tools]\ndeny = [\"read_file\"]\n");
    let refused = world.run(READ);
    for place in ["config/haft/config.toml:3)", "config/haft/config.toml:5)", "of the project's file [world]/workspace/.haft/config.toml:2"]
    {
        assert!(refused.stderr.contains(place), "{place}: {refused:?}");
    }
    world.configure("[tools]\ndeny = [\"noop\"]\n");
    assert_eq!(world.run(READ).code, 1, "one of two is not enough");
    world.write(".haft/config.toml", "");
    assert_eq!(world.run(READ).code, 0);
}

#[test]
fn flag_or_variable_that_decides_is_the_one_to_change() {
    let write = ["call", "write_file", "--path", "b.txt", "--content", "x"];
    let with = |flags: &[&str]| [&write[..], flags].concat().iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (variables, flags, help, then_variables, then_flags) in [
        (
            &[("HAFT_ACCESS", "read-only")][..],
            &[][..],
            "set HAFT_ACCESS=workspace-write",
            &[("HAFT_ACCESS", "workspace-write")][..],
            &[][..],
        ),
        (&[], &["--access", "read-only"], "run with --access workspace-write", &[], &["--access", "workspace-write"]),
        (&[("HAFT_TOOLS_DENY", "noop,write_file")], &[], "remove 'write_file' from HAFT_TOOLS_DENY", &[("HAFT_TOOLS_DENY", "noop")], &[]),
        (&[("HAFT_TOOLS_ALLOW", "noop")], &[], "add 'write_file' to HAFT_TOOLS_ALLOW", &[("HAFT_TOOLS_ALLOW", "noop,write_file")], &[]),
        (&[("HAFT_RULES_DENY", "write(*.txt)")], &[], "remove 'write(*.txt)' from HAFT_RULES_DENY", &[], &[]),
        (
            &[("HAFT_PRESET", "readonly")],
            &[],
            "set HAFT_ACCESS=workspace-write",
            &[("HAFT_PRESET", "readonly"), ("HAFT_ACCESS", "workspace-write")],
            &[],
        ),
    ] {
        let world = world("access = \"workspace-write\"\n", "");
        let refused = world.run_with(variables, &with(flags));
        assert_eq!(refused.code, 1, "{help}");
        assert!(refused.stderr.contains(&format!("help: {help}\n")), "{help}: {refused:?}");
        assert_eq!(world.run_with(then_variables, &with(then_flags)).code, 0, "{help}");
    }
}

#[test]
fn path_outside_is_opened_as_narrowly_as_can_be() {
    let world = world("", "");
    std::fs::create_dir_all(world.path("elsewhere/deep")).unwrap();
    for file in ["loose.txt", "elsewhere/deep/b.txt"] {
        std::fs::write(world.path(file), "text\n").unwrap();
    }
    let read = |file: &str| world.run(&["call", "read_file", "--path", world.path(file).to_str().unwrap()]);
    for (file, help, config) in [
        (
            "elsewhere/deep/b.txt",
            "add { path = \"[world]/elsewhere/deep\", access = \"read-only\" } to workspace.roots",
            format!("[workspace]\nroots = [{{ path = {:?}, access = \"read-only\" }}]\n", world.path("elsewhere/deep")),
        ),
        (
            "loose.txt",
            "set ask = \"beyond\" and add 'read_file([world]/loose.txt)' to rules.allow",
            format!("ask = \"beyond\"\n[rules]\nallow = [\"read_file({})\"]\n", world.path("loose.txt").display()),
        ),
    ] {
        world.configure("");
        let refused = read(file);
        assert!(refused.stderr.contains(help), "{refused:?}");
        world.configure(&config);
        assert_eq!(read(file).code, 0, "{file}");
        let other = if file == "loose.txt" { "elsewhere/deep/b.txt" } else { "loose.txt" };
        assert_eq!(read(other).code, 1, "nothing else is open");
    }
}
