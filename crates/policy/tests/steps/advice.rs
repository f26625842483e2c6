//! What a refusal says, and what it advises.

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{Location, Plan, ToolSource, Zone};
use haft_policy::catalog::Vocabulary;
use haft_policy::{Candidate, ConfigEdit, Owner, Policy, StandardPolicy, StepOutcome, Verdict};

use crate::setting::{Setting, advice, allow, at, deny, line, said};

#[test]
fn an_entry_of_a_file_is_named_with_its_line() {
    let mut setting = Setting::new();
    setting.spec.tools.deny = vec![at("cron")];
    let decision = setting.decide();
    let entry = &decision.trace[0];
    assert_eq!((entry.file.as_deref(), entry.line), (Some(&PathBuf::from("config.toml")), Some(7)));
    let change = decision.denial().and_then(|denial| denial.ways.first()?.first().cloned());
    let owner = Owner { span: line(7), of_project: false };
    assert_eq!(change, Some(ConfigEdit::Remove { key: "tools.deny".into(), entry: "cron".into(), owner }));
}

#[test]
fn advice_on_a_built_in_default_does_not_replace_it() {
    let mut setting = Setting::new();
    setting.caller.sandboxed = true;
    setting.definition.name = "http_request".into();
    setting.definition.section = haft_contract::Section::Web;
    let decision = setting.decide();
    assert_eq!(said(&decision, "sandbox"), [(StepOutcome::Deny, "not in sandbox.tools.allow (built-in default)".to_owned())]);
    assert_eq!(advice(&decision), ["add 'http_request' to sandbox.tools.also_allow"]);
    setting.spec.sandbox.also_allow = vec![at("http_request")];
    assert_eq!(setting.decide().verdict, Verdict::Allow);
    setting.definition.name = "browser".into();
    setting.spec.sandbox.also_allow = vec![at("browser")];
    let decision = setting.decide();
    assert_eq!(said(&decision, "sandbox"), [(StepOutcome::Deny, "deny browser (built-in default)".to_owned())]);
    assert_eq!(advice(&decision), [r#"set sandbox.tools.deny = ["canvas", "nodes", "cron", "gateway"]"#]);
    setting.spec.sandbox.deny = vec![at("browser")];
    let own = r#"set sandbox.tools.deny = ["canvas", "nodes", "cron", "gateway"] (config.toml:7)"#;
    assert_eq!(advice(&setting.decide()), [own], "an empty one is the default again");
    setting.spec.sandbox.deny.push(at("canvas"));
    assert_eq!(advice(&setting.decide()), ["remove 'browser' from sandbox.tools.deny (config.toml:7)"]);
}

#[test]
fn all_that_is_against_a_tool_is_said_and_whose_file_says_it() {
    let mut setting = Setting::new();
    setting.spec.tools = deny(&["cron", "c*", "exec"]);
    setting.spec.tools.allow = [allow(&["exec"]).allow, allow(&["noop"]).allow].concat();
    setting.spec.tools.allow[1].of_project = true;
    setting.spec.disabled = vec![at("cron"), at("group:automation")];
    let project = "add 'cron' to tools.allow of the project's file config.toml:9";
    assert_eq!(
        advice(&setting.decide()),
        [
            "remove 'cron' from tools.disabled (config.toml:7)",
            "remove 'group:automation' from tools.disabled (config.toml:7)",
            "remove 'cron' from tools.deny (config.toml:7)",
            "remove 'c*' from tools.deny (config.toml:7)",
            "add 'cron' to tools.allow (config.toml:9)",
            project,
        ]
    );
}

#[test]
fn a_refusal_says_what_in_words_and_whose_rule_it_is() {
    let connect = Plan::nothing().connect(haft_contract::Connect::new("https", "a.org", 443, "GET"));
    let mut rule = at("connect(domain:a.org)");
    for (of_project, message) in [
        (
            false,
            "'cron' may not connect to 'GET https://a.org:443': the rule 'deny connect(domain:a.org)' refuses it. \
             Do without it; only the user can change the rule.",
        ),
        (
            true,
            "'cron' may not connect to 'GET https://a.org:443': the rule 'deny connect(domain:a.org)' of the project's file refuses it. \
             Do without it; only the user can change the rule.",
        ),
    ] {
        rule.of_project = of_project;
        let mut setting = Setting::new();
        setting.spec.rules.deny = vec![rule.clone()];
        let policy = StandardPolicy::compile(&setting.spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
        let decision = policy.decide(&Candidate::new(&setting.definition, &ToolSource::BuiltIn), Some(&connect), &setting.caller);
        assert_eq!(decision.denial().map(|refusal| refusal.message.as_str()), Some(message));
    }
    let location = Location::new("k".into(), "/ws/k".into(), "k".into(), Zone::Workspace, Arc::new(())).refuse_read("it is a key");
    let decision = StandardPolicy::default().decide(
        &Candidate::new(&Setting::new().definition, &ToolSource::BuiltIn),
        Some(&Plan::nothing().read(location)),
        &Setting::new().caller,
    );
    assert_eq!(said(&decision, "access level"), [(StepOutcome::Deny, "read: it is a key".to_owned())]);
}
