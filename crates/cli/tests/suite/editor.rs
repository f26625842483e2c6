//! `e` at an approval, for arguments of several lines: the user's editor, and the question again with what it left.

use super::harness::World;
use super::pty::Pty;

fn asked(world: &World, editor: Option<&str>) -> Pty {
    let mut command = world.command(&["call", "write_file", "--path", "a.txt", "--content", "one\ntwo"]);
    command.env("TERM", "xterm").env_remove("VISUAL").env_remove("EDITOR");
    if let Some(editor) = editor {
        command.env("EDITOR", editor);
    }
    let mut pty = Pty::start(command, 100);
    pty.waits_for("two");
    pty.waits_for("> ");
    pty.types("e");
    pty
}

#[test]
fn text_of_several_lines_is_edited_in_the_users_editor_and_shown_again() {
    let world = World::with_config("[rules]\nask = [\"write(*.txt)\"]\n");
    let mut pty = asked(&world, Some("sed -i s/two/three/"));
    pty.waits_for("three");
    pty.waits_for("> ");
    assert!(!world.file("a.txt").exists(), "nothing is written before the answer");
    pty.types("y");
    assert!(pty.ends().0.success());
    assert_eq!(world.read("a.txt"), "one\nthree");
}

#[test]
fn editor_that_fails_or_is_absent_is_named_and_nothing_is_changed() {
    for (editor, told) in [
        (None, "No editor for arguments of several lines: set VISUAL or EDITOR"),
        (Some("false"), "Nothing was changed: the editor 'false' ended with exit status: 1."),
    ] {
        let world = World::with_config("[rules]\nask = [\"write(*.txt)\"]\n");
        let mut pty = asked(&world, editor);
        pty.waits_for(told);
        pty.waits_for("> ");
        pty.types("y");
        assert!(pty.ends().0.success());
        assert_eq!(world.read("a.txt"), "one\ntwo", "{told}");
    }
}
