use haft_contract::{Connect, Effect, ExecHost, Plan};

use super::super::testing::{Fixture, exec, file, tree};
use super::*;

fn vocabulary() -> Vocabulary {
    Vocabulary::of_core(haft_builtin::metas())
}

fn offered(tool: &Fixture, effect: Effect) -> Result<String, String> {
    let rules = canonical(&tool.candidate(), &Plan::nothing().with(effect), &[AskSubject::Effect(0)], &vocabulary())?;
    Ok(rules.join(", "))
}

#[test]
fn each_effect_has_its_rule() {
    let connect = |port, method: &str| Effect::Connect(Connect::new("https", "a.org", port, method));
    let send = |to: &str| Effect::Send { channel: "mail".into(), to: to.into(), outward: true };
    let on = |host| {
        let mut exec = exec("cargo test");
        exec.host = host;
        Effect::Exec(exec)
    };
    for (tool, effect, rule) in [
        ("write_file", Effect::Write(file("docs/a.md")), "write_file(/home/me/ws/docs/a.md)"),
        ("edit_file", Effect::Write(file("/etc/hosts")), "edit_file(/etc/hosts)"),
        ("edit_file", Effect::Read(file("/etc/hosts")), "read(/etc/hosts)"),
        ("apply_patch", Effect::Write(file("a")), "apply_patch(/home/me/ws/a)"),
        ("apply_patch", Effect::Delete(file("a")), "delete(/home/me/ws/a)"),
        ("write_file", Effect::Delete(file("a")), "delete(/home/me/ws/a)"),
        ("read_file", Effect::Read(file("app/[slug] (1)/~x*.ts")), "read_file(/home/me/ws/app/\\[slug\\] \\(1\\)/~x\\*.ts)"),
        ("read_file", Effect::Read(file("domain:x")), "read_file(/home/me/ws/domain:x)"),
        ("read_file", Effect::Read(file("~")), "read_file(/home/me/ws/~)"),
        ("read_file", Effect::Read(file("a ")), "read_file(/home/me/ws/a\\ )"),
        ("grep_search", Effect::Read(tree(".")), "grep_search(/home/me/ws/**)"),
        ("grep_search", Effect::Read(tree("/usr/include")), "grep_search(/usr/include/**)"),
        ("grep_search", Effect::Read(tree("/")), "grep_search(/**)"),
        ("web_fetch", Effect::Write(file("page.html")), "write(/home/me/ws/page.html)"),
        ("exec", Effect::Exec(exec("ls -la")), "exec(ls -la)"),
        ("exec", Effect::Exec(exec("git status")), "exec(git status *)"),
        ("exec", Effect::Exec(exec("git status -s")), "exec(git status -s)"),
        ("exec", Effect::Exec(exec("git log main docs")), "exec(git log *)"),
        ("exec", Effect::Exec(exec("git log --output=x")), "exec(git log --output=x)"),
        ("exec", Effect::Exec(exec("git diff a b")), "exec(git diff a b)"),
        ("exec", Effect::Exec(exec("go build x")), "exec(go build x)"),
        ("exec", Effect::Exec(exec("cargo build")), "exec(cargo build)"),
        ("exec", Effect::Exec(exec("npm audit")), "exec(npm audit)"),
        ("exec", Effect::Exec(exec("make test")), "exec(make test)"),
        ("exec", Effect::Exec(exec("git push origin")), "exec(git push origin)"),
        ("exec", Effect::Exec(exec("git st")), "exec(git st)"),
        ("exec", Effect::Exec(exec("/usr/bin/git status")), "exec(/usr/bin/git status)"),
        ("exec", Effect::Exec(exec("echo a* ; $x")), "exec(echo \"a\\*\" \";\" \"$x\")"),
        ("exec", on(ExecHost::Sandbox), "exec(host:sandbox cargo test *)"),
        ("powershell", Effect::Exec(exec("ls")), "powershell(ls)"),
        ("web_fetch", connect(443, "GET"), "web_fetch(domain:a.org:443)"),
        ("http_request", connect(8443, "POST"), "http_request(domain:a.org:8443 method:POST)"),
        ("message", send("Anna B"), "message(channel:mail to:\"Anna B\")"),
        ("cron", send("anna@a.org"), "send(channel:mail to:anna@a.org)"),
        ("agent", Effect::Spawn { agent: "code reviewer".into() }, "agent(code reviewer)"),
        ("config", Effect::Configure { key: "theme".into() }, "config(theme)"),
        ("web_search", Effect::Unknown { why: "x".into() }, "web_search"),
    ] {
        assert_eq!(offered(&Fixture::core(tool), effect), Ok(rule.to_owned()));
    }
    for (effect, rule) in [
        (Effect::Exec(exec("ls")), "weather_now(host:host ls)"),
        (on(ExecHost::Container), "weather_now(host:container cargo test *)"),
        (connect(443, "GET"), "weather_now(domain:a.org:443)"),
    ] {
        assert_eq!(offered(&Fixture::foreign("weather_now", &[]), effect), Ok(rule.to_owned()));
    }
    for host in ["[::1]", "::1"] {
        let effect = Effect::Connect(Connect::new("http", host, 8080, "GET"));
        assert_eq!(offered(&Fixture::core("web_fetch"), effect), Ok("web_fetch(domain:[::1]:8080)".into()));
    }
}

/// What one plugin was allowed is lent to no other tool, and no wider than it was asked.
#[test]
fn a_tool_of_others_gets_no_rule_that_says_more() {
    for (effect, why) in [
        (Effect::Read(file("a")), "a rule for 'weather_now' would also allow it to write there, so only this once"),
        (Effect::Write(file("a")), "a rule for 'weather_now' would also allow it to read there, so only this once"),
        (Effect::Delete(file("a")), "no rule can speak of this for 'weather_now' alone, so only this once"),
        (Effect::Spawn { agent: "x".into() }, "no rule can speak of this for 'weather_now' alone, so only this once"),
    ] {
        assert_eq!(offered(&Fixture::foreign("weather_now", &[]), effect), Err(why.to_owned()));
    }
}

#[test]
fn what_no_rule_may_answer_says_why() {
    let mut poisoned = exec("git status");
    poisoned.environment = vec!["LD_PRELOAD".into()];
    for (tool, effect, why) in [
        ("exec", Effect::Exec(exec("bash -c ls")), "'bash' runs other programs, so only this once"),
        ("exec", Effect::Exec(exec("/usr/bin/env ls")), "'/usr/bin/env' runs other programs, so only this once"),
        ("exec", Effect::Exec(poisoned), "it sets 'LD_PRELOAD', which can change what a program does, so only this once"),
        ("exec", Effect::Exec(exec("echo a\nb")), "no rule can say exactly this, so only this once"),
        ("exec", Effect::Exec(exec(&"x ".repeat(90))), "no rule can say exactly this, so only this once"),
        ("exec", Effect::Unknown { why: "x".into() }, "'exec' runs any program, so only this once"),
        ("read_file", Effect::Read(file("a\u{202e}b")), "no rule can say exactly this, so only this once"),
        ("agent", Effect::Spawn { agent: String::new() }, "no rule can say exactly this, so only this once"),
    ] {
        assert_eq!(offered(&Fixture::core(tool), effect), Err(why.to_owned()));
    }
    for name in ["send", "Read", "a(b", "x*", "web-fetch ", "Bash"] {
        let why = format!("no rule can name the tool '{name}', so only this once");
        assert_eq!(offered(&Fixture::foreign(name, &[]), Effect::Unknown { why: "x".into() }), Err(why));
    }
}

#[test]
fn several_questions_have_several_rules_up_to_five() {
    let tool = Fixture::core("write_file");
    let plan = (0..7).fold(Plan::nothing(), |plan, number| plan.with(Effect::Write(file(&format!("f{}", number % 6)))));
    let asked = |indices: &[usize]| {
        canonical(&tool.candidate(), &plan, &indices.iter().map(|index| AskSubject::Effect(*index)).collect::<Vec<_>>(), &vocabulary())
    };
    assert_eq!(asked(&[0, 1, 6]), Ok(vec!["write_file(/home/me/ws/f0)".to_owned(), "write_file(/home/me/ws/f1)".to_owned()]));
    assert_eq!(asked(&[0, 1, 2, 3, 4, 5]), Err("it would take 6 rules, and 5 are the most; so only this once".into()));
    assert_eq!(asked(&[9]), Err("the plan has no such effect".into()));
    assert_eq!(canonical(&tool.candidate(), &plan, &[AskSubject::Tool], &vocabulary()), Ok(vec!["write_file".to_owned()]));
    let firm = canonical(&tool.candidate(), &plan, &[AskSubject::Effect(0), AskSubject::EveryTime], &vocabulary());
    assert_eq!(firm, Err("an ask rule, a setting or tainted data asks, which only the user can answer each time".into()));
}
