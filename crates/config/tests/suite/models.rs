//! Models, their prices, and what they may cost.

use haft_config::{BudgetSettings, BudgetThen, Config, ConfigValue};

use super::fixture::Fixture;

const WHOLE: &str = r#"
[providers.work]
api_key_command = "pass show work"
models = ["qwen3", "small"]
idle_seconds = 30
total_seconds = 900
retries = 0

[models."work/qwen3"]
context_window = 32_000
max_output = 4_000
max_tools = 0
legacy_schema = true
dropped_keywords = ["pattern"]
version = "2023-06-01"

[prices."work/*"]
input = 0.25
output = 2
cached = 0.025
cache_writes = 0.3125

[budget]
turn = 0.5
session = 5
day = 20.25
tokens = 2_000_000
then = "stop"

[context]
compact_percent = 60
"#;

#[test]
fn everything_about_models_is_read() {
    let loaded = Fixture::new().user(WHOLE).load();
    assert_eq!(loaded.problems, []);
    let at = |path: &[&str]| loaded.provenance.get_at(path).unwrap().value.clone();
    let texts =
        |path: &[&str]| -> Vec<String> { loaded.provenance.value_at(path).entries().iter().map(|entry| entry.value.clone()).collect() };
    assert_eq!(texts(&["providers", "work", "models"]), ["qwen3", "small"]);
    assert_eq!(texts(&["models", "work/qwen3", "dropped_keywords"]), ["pattern"]);
    for (path, value) in [
        (["providers", "work", "api_key_command"], ConfigValue::Text("pass show work".into())),
        (["providers", "work", "idle_seconds"], ConfigValue::Count(30)),
        (["providers", "work", "total_seconds"], ConfigValue::Count(900)),
        (["providers", "work", "retries"], ConfigValue::Count(0)),
        (["models", "work/qwen3", "context_window"], ConfigValue::Count(32_000)),
        (["models", "work/qwen3", "max_output"], ConfigValue::Count(4_000)),
        (["models", "work/qwen3", "max_tools"], ConfigValue::Count(0)),
        (["models", "work/qwen3", "legacy_schema"], ConfigValue::Flag(true)),
        (["models", "work/qwen3", "version"], ConfigValue::Text("2023-06-01".into())),
        (["prices", "work/*", "input"], ConfigValue::Money(250_000)),
        (["prices", "work/*", "output"], ConfigValue::Money(2_000_000)),
        (["prices", "work/*", "cached"], ConfigValue::Money(25_000)),
        (["prices", "work/*", "cache_writes"], ConfigValue::Money(312_500)),
    ] {
        assert_eq!(at(&path), value, "{path:?}");
    }
    let BudgetSettings { turn, session, day, tokens, then, .. } = loaded.config.budget;
    assert_eq!((turn, session, day, tokens, then), (Some(500_000), Some(5_000_000), Some(20_250_000), Some(2_000_000), BudgetThen::Stop));
    assert_eq!(loaded.config.context.compact_percent, 60);
}

#[test]
fn budget_without_a_file_is_unlimited_and_asks() {
    let Config { budget, context, .. } = Config::default();
    let BudgetSettings { turn, session, day, tokens, then, .. } = budget;
    assert_eq!((turn, session, day, tokens, then, context.compact_percent), (None, None, None, None, BudgetThen::Ask, 80));
}

#[test]
fn a_budget_can_come_from_the_environment() {
    let loaded = Fixture::new()
        .user("budget.turn = 1")
        .variable("HAFT_BUDGET_TURN", "0.05")
        .variable("HAFT_BUDGET_TOKENS", "1_000")
        .variable("HAFT_BUDGET_THEN", "stop")
        .variable("HAFT_CONTEXT_COMPACT_PERCENT", "95")
        .load();
    assert_eq!(loaded.problems, []);
    let Config { budget, context, .. } = loaded.config;
    assert_eq!((budget.turn, budget.tokens, budget.then, context.compact_percent), (Some(50_000), Some(1_000), BudgetThen::Stop, 95));
}

#[test]
fn a_project_decides_nothing_about_models_and_money() {
    let fixture = Fixture::new().user("budget.day = 3").project(
        "budget.day = 100\n[providers.work]\napi_key_command = 'steal'\n[models.'a/b']\nmax_output = 5\n[prices.'a/b']\ninput = 0\noutput = 0\n",
    );
    let loaded = fixture.load();
    let ignored = |problem: &String| problem.starts_with("warning project") && problem.contains("a project file cannot widen");
    let problems = fixture.problems(&loaded);
    assert_eq!((problems.len(), problems.iter().filter(|problem| ignored(problem)).count()), (5, 5), "{problems:#?}");
    assert_eq!(loaded.config.budget.day, Some(3_000_000));
    assert!(loaded.provenance.get_at(&["providers", "work", "api_key_command"]).is_none());
}

#[test]
fn faults_of_models_are_reported_with_advice() {
    const RANGE: &str = "a number from 0 to 1000000, with at most 6 decimals";
    let out_of_range =
        |amount: &str| format!("error user 1:15 budget.turn 'budget.turn' is '{amount}', which is out of range | use {RANGE}");
    for (text, expected) in [
        ("budget.turn = -0.5", out_of_range("-0.5")),
        ("budget.turn = nan", out_of_range("nan")),
        ("budget.turn = inf", out_of_range("inf")),
        ("budget.turn = 1000000.5", out_of_range("1000000.5")),
        (
            "budget.turn = 0.1234567",
            format!("error user 1:15 budget.turn 'budget.turn' is '0.1234567', which has too many decimals | use {RANGE}"),
        ),
        (
            "budget.turn = '$5'",
            format!(
                "error user 1:15 budget.turn 'budget.turn' must be an amount of money, not text | write {RANGE}, without quotes and without a currency"
            ),
        ),
        ("budget.then = 'wait'", "error user 1:15 budget.then 'budget.then' has the unknown value 'wait' | use one of: ask, stop".into()),
        (
            "context.compact_percent = 99",
            "error user 1:27 context.compact_percent 'context.compact_percent' is '99', which is out of range | use a number from 20 to 95"
                .into(),
        ),
        (
            "[prices.'a/b']\ncached = 1\noutput = 1",
            "error user 3:10 prices.\"a/b\" 'prices.\"a/b\"' has no input, so its cost is unknown | set both input and output".into(),
        ),
        (
            "[models.'a/b']\ncontext_window = 4000\nmax_output = 4000",
            "error user 3:14 models.\"a/b\".max_output 'models.\"a/b\".max_output' (4000) must be less than context_window (4000, \
             home/.config/haft/config.toml:2:18) | the answer shares the context window with the request: lower max_output, or raise context_window"
                .into(),
        ),
        (
            "[models.qwen3]\nmax_tools = 1",
            "error user 1:9 models 'models' has the name 'qwen3': it is not provider/model | write it as [models.\"work/qwen3\"]".into(),
        ),
        (
            "[models.'work/*']\nmax_tools = 1",
            "error user 1:9 models 'models' has the name 'work/*': it is not provider/model | write it as [models.\"work/qwen3\"]".into(),
        ),
        (
            "[prices.'*']\ninput = 1\noutput = 1",
            "error user 1:9 prices 'prices' has the name '*': it is not provider/model | write it as [prices.\"anthropic/claude-*\"]"
                .into(),
        ),
    ] {
        assert_eq!(Fixture::new().problems_of(text), [expected], "{text}");
    }
}

#[test]
fn money_is_shown_as_it_is_written() {
    let loaded = Fixture::new().user("[budget]\nturn = 0.50\nsession = 3.0\n").load();
    let shown = |key: &str| {
        let setting = loaded.provenance.get(key).unwrap();
        (setting.value.to_string(), serde_json::to_string(&setting.value).unwrap())
    };
    assert_eq!(shown("budget.turn"), ("0.5".to_owned(), "0.5".to_owned()));
    assert_eq!(shown("budget.session"), ("3".to_owned(), "3".to_owned()));
    assert_eq!(shown("budget.day"), ("unset".to_owned(), "null".to_owned()));
}
