use std::path::PathBuf;

use haft_contract::{Connect, Effect, ExecHost, Plan};

use super::super::testing::{Fixture, HOME, exec, file, tree};
use super::*;

fn offered(tool: &str, effects: Vec<Effect>) -> Vec<(String, String)> {
    let tool: &'static str = Box::leak(tool.to_owned().into_boxed_str());
    let asks: Vec<AskSubject> = (0..effects.len()).map(AskSubject::Effect).collect();
    let plan = effects.into_iter().fold(Plan::nothing(), Plan::with);
    let vocabulary = Vocabulary::of_core(haft_builtin::metas());
    let widths = widths(&Fixture::core(tool).candidate(), &plan, &asks, &vocabulary, Some(&PathBuf::from(HOME)));
    widths.into_iter().map(|width| (width.name, width.rules.join(", "))).collect()
}

fn expect(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, rules)| ((*name).to_owned(), (*rules).to_owned())).collect()
}

#[test]
fn each_effect_is_offered_from_narrow_to_wide() {
    let connect = |host: &str, method: &str| Effect::Connect(Connect::new("https", host, 443, method));
    let mut sandboxed = exec("npm test");
    sandboxed.host = ExecHost::Sandbox;
    for (tool, effect, widths) in [
        (
            "exec",
            Effect::Exec(exec("ls src")),
            &[("exactly this", "exec(ls src)"), ("this subcommand", "exec(ls src *)"), ("this program", "exec(ls *)")][..],
        ),
        (
            "exec",
            Effect::Exec(sandboxed),
            &[
                ("exactly this", "exec(host:sandbox npm test)"),
                ("this subcommand", "exec(host:sandbox npm test *)"),
                ("this program", "exec(host:sandbox npm *)"),
            ],
        ),
        // `git` runs other programs by some of its commands: it is not allowed as a whole.
        (
            "exec",
            Effect::Exec(exec("git push origin")),
            &[("exactly this", "exec(git push origin)"), ("this subcommand", "exec(git push *)")],
        ),
        ("exec", Effect::Exec(exec("bash -c ls")), &[]),
        (
            "write_file",
            Effect::Write(file("docs/a.md")),
            &[
                ("this file", "write_file(/home/me/ws/docs/a.md)"),
                ("its folder", "write_file(/home/me/ws/docs/**)"),
                ("the workspace", "write_file(/home/me/ws/**)"),
            ],
        ),
        (
            "write_file",
            Effect::Write(file("a.md")),
            &[("this file", "write_file(/home/me/ws/a.md)"), ("the workspace", "write_file(/home/me/ws/**)")],
        ),
        ("read_file", Effect::Read(file("/etc/hosts")), &[("this file", "read_file(/etc/hosts)"), ("its folder", "read_file(/etc/**)")]),
        ("read_file", Effect::Read(file("/hosts")), &[("this file", "read_file(/hosts)")]),
        (
            "grep_search",
            Effect::Read(tree("src")),
            &[("this folder", "grep_search(/home/me/ws/src/**)"), ("the workspace", "grep_search(/home/me/ws/**)")],
        ),
        (
            "web_fetch",
            connect("api.example.org", "GET"),
            &[
                ("this host", "web_fetch(domain:api.example.org:443)"),
                ("this domain", "web_fetch(domain:example.org:443), web_fetch(domain:*.example.org:443)"),
            ],
        ),
        (
            "http_request",
            connect("example.org", "POST"),
            &[
                ("this host", "http_request(domain:example.org:443 method:POST)"),
                ("this domain", "http_request(domain:example.org:443 method:POST), http_request(domain:*.example.org:443 method:POST)"),
            ],
        ),
        ("web_fetch", connect("ann.github.io", "GET"), &[("this host", "web_fetch(domain:ann.github.io:443)")]),
        ("web_fetch", connect("127.0.0.1", "GET"), &[("this host", "web_fetch(domain:127.0.0.1:443)")]),
        ("config", Effect::Configure { key: "theme".into() }, &[("exactly this", "config(theme)")]),
    ] {
        assert_eq!(offered(tool, vec![effect]), expect(widths));
    }
}

#[test]
fn several_effects_widen_together_and_one_without_a_rule_offers_none() {
    let two = vec![Effect::Exec(exec("ls src")), Effect::Write(file("a"))];
    assert_eq!(
        offered("exec", two),
        expect(&[
            ("exactly this, this file", "exec(ls src), write(/home/me/ws/a)"),
            ("this subcommand, the workspace", "exec(ls src *), write(/home/me/ws/**)"),
            ("this program, the workspace", "exec(ls *), write(/home/me/ws/**)"),
        ])
    );
    assert_eq!(offered("exec", vec![Effect::Exec(exec("ls")), Effect::Exec(exec("sh x"))]), []);
    assert_eq!(offered("exec", vec![]), []);
}
