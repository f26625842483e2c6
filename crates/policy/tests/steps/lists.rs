//! Lists of tools, groups and tables.

use haft_contract::ToolSource;
use haft_policy::catalog::Vocabulary;
use haft_policy::{AgentSpec, Candidate, ChannelSpec, Policy, PolicySpec, Sender, StandardPolicy, ToolLists, Verdict};

use crate::setting::{Setting, allow, at, deny, profile, provider, tool};

#[test]
fn the_model_comes_before_the_provider_and_only_one_of_them_counts() {
    let mut setting = Setting::new();
    provider(&mut setting);
    setting.spec.by_provider = vec![("work".into(), deny(&["cron"])), ("Work/Big".into(), allow(&["cron"]))];
    assert_eq!(setting.decide().verdict, Verdict::Allow);
    setting.caller.model = Some("small".into());
    assert_eq!(setting.decide().verdict, Verdict::Deny);
    setting.caller.provider = Some("other".into());
    assert_eq!(setting.decide().verdict, Verdict::Allow);
}

#[test]
fn agents_profile_overrides_the_global_one_and_a_projects_comes_on_top() {
    let mut setting = Setting::new();
    setting.spec.tools.profiles = profile("minimal").profiles;
    setting.spec.agents = vec![("main".into(), AgentSpec { tools: profile("coding"), ..AgentSpec::default() })];
    assert_eq!(setting.decide().verdict, Verdict::Allow);
    setting.spec.tools.profiles[0].of_project = true;
    assert_eq!(setting.decide().verdict, Verdict::Deny);
}

#[test]
fn also_allow_adds_to_the_users_own_lists_alone() {
    for (of_project, verdict) in [(false, Verdict::Allow), (true, Verdict::Deny)] {
        let mut setting = Setting::new();
        setting.spec.tools = allow(&["exec"]);
        setting.spec.tools.profiles = profile("minimal").profiles;
        setting.spec.tools.allow[0].of_project = of_project;
        setting.spec.tools.also_allow = vec![at("cron")];
        assert_eq!(setting.decide().verdict, verdict);
        setting.spec.tools.deny = vec![at("cron")];
        assert_eq!(setting.decide().verdict, Verdict::Deny, "deny wins inside a step");
    }
}

#[test]
fn optional_tool_is_offered_once_the_user_names_it() {
    let mut setting = Setting::new();
    setting.definition.optional = true;
    let decision = setting.decide();
    assert_eq!((decision.verdict, &*decision.trace[0].entry), (Verdict::Deny, "optional, and not in tools.also_allow"));
    let agent = |tools: ToolLists| vec![("main".to_owned(), AgentSpec { tools, ..AgentSpec::default() })];
    let also = |entry: &str| ToolLists { also_allow: vec![at(entry)], ..ToolLists::default() };
    for (tools, of_agent, verdict) in [
        (also("cron"), ToolLists::default(), Verdict::Allow),
        (also("group:automation"), ToolLists::default(), Verdict::Allow),
        (also("exec"), ToolLists::default(), Verdict::Deny),
        (ToolLists::default(), also("cron"), Verdict::Allow),
        (allow(&["cron"]), ToolLists::default(), Verdict::Allow),
        (allow(&["*"]), ToolLists::default(), Verdict::Deny),
        (profile("coding"), ToolLists::default(), Verdict::Deny),
    ] {
        (setting.spec.tools, setting.spec.agents) = (tools, agent(of_agent));
        assert_eq!(setting.decide().verdict, verdict, "{:?}", setting.spec.tools);
    }
    setting.spec.tools = also("cron");
    setting.spec.tools.deny = vec![at("cron")];
    assert_eq!(setting.decide().verdict, Verdict::Deny);
}

#[test]
fn an_empty_allow_list_allows_nothing_and_none_at_all_everything() {
    let mut setting = Setting::new();
    assert_eq!(setting.decide().verdict, Verdict::Allow);
    setting.spec.tools = allow(&[]);
    let decision = setting.decide();
    assert_eq!((decision.verdict, decision.trace[0].line), (Verdict::Deny, Some(9)));
}

#[test]
fn a_list_of_plugins_alone_leaves_the_core_on() {
    let plugin = ToolSource::Plugin("lobster".into());
    let mut definition = tool();
    definition.name = "catch".into();
    let vocabulary = Vocabulary::of_core(haft_builtin::metas()).with([(&definition, &plugin)]);
    for entry in ["catch", "lobster", "group:lobster", "group:plugins", "cat*"] {
        let mut spec = PolicySpec::default();
        spec.tools = allow(&[entry]);
        let policy = StandardPolicy::compile(&spec, vocabulary.clone()).unwrap();
        let core = tool();
        let owner = Setting::new().caller;
        let verdict = |definition, source| policy.offer(&Candidate::new(definition, source), &owner).verdict;
        assert_eq!((verdict(&core, &ToolSource::BuiltIn), verdict(&definition, &plugin)), (Verdict::Allow, Verdict::Allow), "{entry}");
        let mut other = definition.clone();
        other.name = "other".into();
        assert_eq!(verdict(&other, &ToolSource::Plugin("else".into())) == Verdict::Allow, entry == "group:plugins", "{entry}");
    }
    let mut spec = PolicySpec::default();
    spec.tools = allow(&["catch", "exec"]);
    let policy = StandardPolicy::compile(&spec, vocabulary).unwrap();
    assert_eq!(policy.offer(&Candidate::new(&tool(), &ToolSource::BuiltIn), &Setting::new().caller).verdict, Verdict::Deny);
}

#[test]
fn an_allow_list_of_nothing_known_allows_nothing() {
    let mut setting = Setting::new();
    setting.spec.groups = vec![("mine".into(), vec![]), ("outer".into(), vec![at("group:mine")])];
    for entry in ["group:mine", "group:outer", "group:unheard_of", "unheard_of", "zz_*"] {
        setting.spec.tools = allow(&[entry]);
        assert_eq!(setting.decide().verdict, Verdict::Deny, "{entry}");
    }
    setting.spec.tools = allow(&["group:mcp"]);
    assert_eq!(setting.decide().verdict, Verdict::Allow, "a list about servers alone");
    setting.spec.tools = allow(&["group:mcp", "group:fs"]);
    assert_eq!(setting.decide().verdict, Verdict::Deny);
}

#[test]
fn groups_of_the_user_hold_other_groups() {
    let mut setting = Setting::new();
    setting.spec.groups = vec![("mine".into(), vec![at("group:inner")]), ("inner".into(), vec![at("cron"), at("group:mine")])];
    setting.spec.tools = deny(&["group:mine"]);
    let decision = setting.decide();
    assert_eq!((decision.verdict, decision.trace[0].entry.as_ref()), (Verdict::Deny, "deny group:mine"));
}

#[test]
fn no_group_takes_the_name_of_one_that_comes_with_haft() {
    let mut setting = Setting::new();
    setting.spec.groups = vec![("Automation".into(), vec![at("noop")])];
    setting.spec.tools = deny(&["group:automation"]);
    assert_eq!(setting.decide().verdict, Verdict::Deny);
}

/// However strict it is itself: the user's denials would be gone.
#[test]
fn a_projects_table_comes_on_top_of_the_more_general_one_of_the_user() {
    let projects = |mut lists: ToolLists| {
        lists.deny.iter_mut().for_each(|entry| entry.of_project = true);
        lists.allow.iter_mut().for_each(|list| list.of_project = true);
        lists
    };
    let settings: [fn(&mut Setting, ToolLists); 3] = [
        |setting, lists| {
            provider(setting);
            setting.spec.by_provider = vec![("work".into(), deny(&["cron"])), ("work/big".into(), lists)];
        },
        |setting, lists| {
            setting.caller.channel = Some("t:-1".into());
            let channel = |tools| ChannelSpec { tools, ..ChannelSpec::default() };
            setting.spec.channels = vec![("t".into(), channel(deny(&["cron"]))), ("t:-1".into(), channel(lists))];
        },
        |setting, lists| {
            (setting.caller.channel, setting.caller.sender) = (Some("t".into()), Some(Sender::parse("42")));
            setting.spec.channels = vec![("t".into(), ChannelSpec { tools: deny(&["cron"]), senders: vec![("id:42".into(), lists)] })];
        },
    ];
    for arrange in settings {
        for (lists, verdict) in [
            (projects(deny(&["exec"])), Verdict::Deny),
            (projects(allow(&["cron"])), Verdict::Deny),
            (deny(&["exec"]), Verdict::Allow),
            (allow(&["cron"]), Verdict::Allow),
        ] {
            let mut setting = Setting::new();
            arrange(&mut setting, lists.clone());
            assert_eq!(setting.decide().verdict, verdict, "{lists:?}");
        }
    }
}
