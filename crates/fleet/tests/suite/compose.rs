//! The compose file is parsed and compared with what it is to be. No container engine runs it here.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// YAML as JSON, by the library of Python that the tests need anyway.
const PARSE: &str = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";

#[test]
fn compose_file_has_two_servers_three_workers_and_no_open_port() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/fleet/compose.yaml");
    let output = Command::new("python3").args(["-c", PARSE]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let compose: Value = serde_json::from_slice(&output.stdout).unwrap();
    let services = compose["services"].as_object().unwrap();
    let command = |name: &str| services[name]["command"][0].as_str().unwrap().to_owned();
    let mut names: Vec<(&str, String)> = services.keys().map(|name| (name.as_str(), command(name))).collect();
    names.sort();
    let expected = [
        ("database", "postgres"),
        ("queue", "-js"),
        ("server-1", "serve"),
        ("server-2", "serve"),
        ("worker-1", "worker"),
        ("worker-2", "worker"),
        ("worker-3", "worker"),
    ];
    assert_eq!(names, expected.map(|(name, command)| (name, command.to_owned())));
    for (name, service) in services {
        let ports = service["ports"].as_array().cloned().unwrap_or_default();
        assert!(ports.iter().all(|port| port.as_str().unwrap().starts_with("127.0.0.1:")), "{name} is open to others: {ports:?}");
        let volumes = service["volumes"].as_array().cloned().unwrap_or_default();
        let is_declared = |volume: &str| compose["volumes"].as_object().unwrap().contains_key(volume.split(':').next().unwrap());
        assert!(volumes.iter().all(|volume| is_declared(volume.as_str().unwrap())), "{name}: {volumes:?}");
        if !["database", "queue"].contains(&name.as_str()) {
            assert_eq!(service["environment"]["HAFT_QUEUE"], json!("nats://queue:4222"));
            assert!(service["environment"]["HAFT_STORE"].as_str().unwrap().ends_with("@database/haft"));
        }
    }
}
