//! What the end of a program means, where it is no failure or says more than a number.

/// Programs and codes.
const CODES: &[(&str, i32, &str)] = &[
    ("grep", 1, "no line matched"),
    ("egrep", 1, "no line matched"),
    ("fgrep", 1, "no line matched"),
    ("rg", 1, "no line matched"),
    ("ag", 1, "no line matched"),
    ("zgrep", 1, "no line matched"),
    ("git grep", 1, "no line matched"),
    ("diff", 1, "the files differ"),
    ("cmp", 1, "the files differ"),
    ("git diff", 1, "there are differences"),
    ("test", 1, "the condition is false"),
    ("[", 1, "the condition is false"),
    ("[[", 1, "the condition is false"),
    ("expr", 1, "the value is empty or zero"),
    ("false", 1, "it always ends so"),
    ("find", 1, "some folders could not be searched; what was found is printed"),
    ("ls", 1, "some entries could not be read"),
    ("pgrep", 1, "no process matched"),
    ("pkill", 1, "no process matched"),
    ("which", 1, "no such program is installed"),
    ("command", 1, "no such program is installed"),
    ("type", 1, "no such program is installed"),
    ("jq", 1, "the last value was false or null (with -e)"),
    ("timeout", 124, "the time was up"),
    ("curl", 6, "the host name was not found"),
    ("curl", 7, "the host did not answer"),
    ("curl", 22, "the server answered with an error"),
    ("curl", 28, "the time was up"),
    ("cmp", 2, "a file could not be read"),
    ("diff", 2, "a file could not be read"),
    ("grep", 2, "a file could not be read, or the pattern is wrong"),
    ("rg", 2, "a file could not be read, or the pattern is wrong"),
];

/// Codes that shells give, whichever program it was.
const SHELL: &[(i32, &str)] = &[
    (126, "the program was found, but it cannot be run: check its permissions"),
    (127, "there is no such program: check its name and whether it is installed"),
    (129, "its terminal went away"),
    (130, "it was interrupted"),
    (131, "it was told to quit"),
    (132, "it ran an instruction that the processor does not know"),
    (134, "it gave up (abort)"),
    (135, "it made a bad memory access"),
    (136, "it made an error of arithmetic"),
    (137, "it was killed, by a limit or because memory ran out"),
    (139, "it crashed (segmentation fault)"),
    (141, "nobody read its output any more"),
    (143, "it was asked to end"),
    (152, "it used more processor time than allowed"),
    (153, "it wrote more than a file may hold"),
];

/// What an exit code of a program means, where that is known. The program by its name, of git `git diff` and `git grep`.
pub fn explain_exit(program: &str, code: i32) -> Option<&'static str> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let own = CODES.iter().find(|(known, number, _)| *known == name && *number == code).map(|(_, _, meaning)| *meaning);
    own.or_else(|| SHELL.iter().find(|(number, _)| *number == code).map(|(_, meaning)| *meaning))
}

/// Whether such an end is an answer and not a failure: nothing found, something differs, a condition is false.
pub fn is_answer(program: &str, code: i32) -> bool {
    code == 1 && explain_exit(program, code).is_some()
}
