//! Quotas: what is used up is refused, with which quota it was, when it renews and who can change it.

use serde_json::{Value, json};

use super::TwoTenants;
use super::worlds::wait_until;

fn set(two: &TwoTenants, name: &str, setting: &str) {
    let ran = two.world.run(&["tenants", "set", name, setting]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn time(two: &TwoTenants) -> Value {
    two.beta.post("/api/tools/get_current_time/invoke", &json!({ "arguments": {} })).json()
}

#[test]
fn calls_beyond_the_quota_of_a_tenant_are_refused_and_other_tenants_have_their_own() {
    let two = TwoTenants::start();
    set(&two, "beta", "quota.calls=2");
    let states: Vec<Value> = (0..3).map(|_| time(&two)["state"].clone()).collect();
    assert_eq!((&states[0], &states[1]), (&json!("success"), &json!("success")), "{states:?}");
    let refused = time(&two);
    let message = refused["message"].as_str().unwrap_or_default();
    for part in
        ["the quota of 2 calls for one day is used up (quota.calls)", "it renews 20", "00:00", "the operator of this server can raise it"]
    {
        assert!(message.contains(part), "{part}: {refused}");
    }
    let quotas = two.beta.read("/api/usage")["quotas"].clone();
    assert_eq!((&quotas[0]["quota"], &quotas[0]["limit"]), (&json!("quota.calls"), &json!(2)), "{quotas}");
    let shown = two.world.run(&["tenants", "show", "beta"]);
    assert!(shown.stdout.contains("setting   quota.calls = 2") && shown.stdout.contains("of 2 calls"), "{shown:?}");
    // The other one has no quota, and does not see this one.
    let other = two.alpha.post("/api/tools/get_current_time/invoke", &json!({ "arguments": {} })).json();
    assert_eq!((&other["state"], &two.alpha.read("/api/usage")["quotas"]), (&json!("success"), &json!([])), "{other}");
    // A higher one counts at once, and what the tenant writes itself only lowers it.
    set(&two, "beta", "quota.calls=100");
    assert_eq!(time(&two)["state"], "success");
    std::fs::create_dir_all(two.workspace("beta").join(".haft")).unwrap();
    std::fs::write(two.workspace("beta").join(".haft/config.toml"), "[quota]\ncalls = 1000000\n").unwrap();
    assert_eq!(two.beta.read("/api/usage")["quotas"][0]["limit"], 100);
}

#[test]
fn turns_are_refused_when_nothing_more_may_be_stored_and_removing_is_not() {
    let two = TwoTenants::start();
    std::fs::write(two.workspace("beta").join("large.bin"), vec![0; 3 << 20]).unwrap();
    set(&two, "beta", "quota.storage=2MB");
    let session = two.beta.create();
    let events = two.beta.turn(&session, "create a.txt with 'hello'");
    let text = json!(events).to_string();
    assert!(text.contains("quota.storage") && text.contains("remove files or sessions"), "{text}");
    assert!(!two.workspace("beta").join("a.txt").exists());
    let write = json!({ "arguments": { "path": "a.txt", "content": "hello" } });
    let refused = two.beta.post("/api/tools/write_file/invoke", &write).json();
    assert!(refused["message"].as_str().unwrap_or_default().contains("quota.storage"), "{refused}");
    let read = two.beta.post("/api/tools/read_file/invoke", &json!({ "arguments": { "path": "README.md" } })).json();
    assert!(!read["message"].as_str().unwrap_or_default().contains("quota"), "{read}");
}

#[test]
fn tokens_and_money_of_a_day_are_those_of_the_store() {
    let two = TwoTenants::start();
    set(&two, "beta", "quota.tokens=0");
    set(&two, "beta", "quota.money=0");
    let session = two.beta.create();
    let events = two.beta.turn(&session, "what time is it?");
    let text = json!(events).to_string();
    assert!(text.contains("the quota of 0 tokens for one day is used up (quota.tokens)"), "{text}");
    set(&two, "beta", "quota.tokens=");
    // A session that is open follows.
    let reason = || json!(two.beta.turn(&session, "what time is it?")).to_string();
    wait_until("the other quota", || reason().contains("the quota of $0.00 for one day is used up (quota.money)"));
}

#[test]
fn processor_time_of_commands_counts_and_ends_them() {
    let two = TwoTenants::start();
    set(&two, "beta", "quota.cpu_seconds=1");
    let session = two.beta.create();
    let burn = "run `sh -c 'i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done; echo done'`";
    let first = json!(two.beta.turn(&session, burn)).to_string();
    assert!(!first.contains("quota.cpu_seconds"), "{first}");
    let second = json!(two.beta.turn(&session, "run `echo again`")).to_string();
    assert!(second.contains("the quota of 1 seconds of processor time for one day is used up (quota.cpu_seconds)"), "{second}");
}
