#!/usr/bin/env python3
"""Draws docs/chat.svg and docs/approval.svg from real sessions: runs `haft chat` with the demo model in tmux and renders the pane.

Usage: docs/internal/chat_svg.py path/to/haft   (needs tmux and bwrap; the home folder is shown as /home/ann)
"""

import html
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROWS, CHAR, LINE = 40, 8.4, 18
COLOURS = {"31": "#f47067", "32": "#57ab5a", "33": "#daaa3f", "36": "#39c5cf", "37": "#cdd9e5"}
# The file, its columns, its title, the keys with the seconds before each, and the text of the first line that is drawn.
PICTURES = [
    (
        "chat.svg",
        100,
        "haft chat: the demo model wants to write a file, the user approves, and the diff is shown",
        [(4, "write 'sharpen the axe' to notes.txt"), (1, "Enter"), (3, "y"), (4, "C-o"), (3, "")],
        "",
    ),
    (
        "approval.svg",
        80,
        "an approval: what, why, the keys, and the widths of always with the past calls that each would have covered",
        [
            (4, "write 'buy an axe' to docs/plan.txt"),
            (1, "Enter"),
            (3, "y"),
            (3, "write 'sharpen the axe' to docs/notes.txt"),
            (1, "Enter"),
            (3, "y"),
            (3, "write 'oil the axe' to docs/notes.txt"),
            (1, "Enter"),
            (3, "a"),
            (2, ""),
        ],
        "write 'oil",
    ),
]


def tmux(*words):
    return subprocess.run(["tmux", "-L", "haft-svg", "-f", "/dev/null", *words], check=True, capture_output=True, text=True).stdout


def record(binary, columns, keys):
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "work").mkdir()
        (home / "work/notes.txt").write_text("buy an axe\ncut the wood\n")
        (home / ".config/haft").mkdir(parents=True)
        (home / ".config/haft/config.toml").write_text('ask = "changes"\n')
        environment = ["env", "-i", "HOME=/home/ann", "PATH=/usr/bin:/bin", "TERM=xterm-256color", "LANG=C.UTF-8", "HAFT_LOCAL_MODELS="]
        mounts = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/home", "--bind", folder, "/home/ann", "--chdir", "/home/ann/work"]
        tmux("new-session", "-d", "-x", str(columns), "-y", str(ROWS), *mounts, *environment, binary, "chat")
        try:
            for seconds, key in keys:
                time.sleep(seconds)
                if key:
                    tmux("send-keys", *(["-l"] if " " in key else []), key)
            return tmux("capture-pane", "-p", "-e").rstrip().split("\n")
        finally:
            tmux("kill-server")


def spans(line, style):
    """The text of a line in runs of one style; `style` is carried over to the next line."""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            for code in part[2:-1].split(";"):
                if code in ("", "0"):
                    style.clear()
                elif code in ("1", "2"):
                    style["class"] = {"1": "bold", "2": "dim"}[code]
                elif code == "39":
                    style.pop("fill", None)
                elif code in COLOURS:
                    style["fill"] = COLOURS[code]
        elif part:
            yield part, dict(style)


def draw(lines, columns, title):
    height = len(lines) * LINE + 32
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * CHAR + 32:.0f} {height}" role="img">'
    yield f"<title>{html.escape(title)}</title>"
    yield "<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#adbac7;white-space:pre}.bold{font-weight:bold}.dim{opacity:.65}</style>"
    yield f'<rect width="100%" height="{height}" rx="8" fill="#1c2128"/>'
    style, column = {}, 0
    for number, line in enumerate(lines):
        column, runs = 0, []
        for text, look in spans(line, style):
            attributes = "".join(f' {name}="{value}"' for name, value in look.items())
            runs.append(f'<tspan x="{16 + column * CHAR:.1f}"{attributes}>{html.escape(text)}</tspan>')
            column += len(text)
        if runs:
            yield f'<text xml:space="preserve" y="{30 + number * LINE}">{"".join(runs)}</text>'
    yield "</svg>"


if __name__ == "__main__":
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    for name, columns, title, keys, first in PICTURES:
        lines = record(binary, columns, keys)
        start = next(number for number, line in enumerate(lines) if first in line)
        target = pathlib.Path(__file__).parent.parent / name
        target.write_text("\n".join(draw(lines[start:], columns, title)) + "\n")
