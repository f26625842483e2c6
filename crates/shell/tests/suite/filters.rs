//! Filters that need no rule.

use haft_shell::{SafeBins, analyse, satisfies_safe_bins};

#[test]
fn filters_pass_only_without_files() {
    let safe = SafeBins::new(["cut", "uniq", "head", "tail", "tr", "wc", "grep", "sort"]).unwrap();
    for (line, wanted) in [
        ("jq .a", false),
        ("jq 'import \"x\" as $x; $x'", false),
        ("jq -n '$__prog_args'", false),
        ("awk '{ print }'", false),
        ("sed -n 1p", false),
        ("cut -d: -f1", true),
        ("cut -d / -f 1", true),
        ("cut -d: -f1 /etc/passwd", false),
        ("uniq -c", true),
        ("uniq a b", false),
        ("head -5", true),
        ("head -n 5", true),
        ("head --lines=5", true),
        ("head --line=5", false),
        ("head x", false),
        ("tail -n 5", true),
        ("tail -f", false),
        ("tr a-z A-Z", true),
        ("tr -d '\\n'", true),
        ("tr a b c", false),
        ("wc -l", true),
        ("wc --files0-from=x", false),
        ("grep -i x", true),
        ("grep -e x", true),
        ("grep -e x y", false),
        ("grep x y", false),
        ("grep -f x", false),
        ("grep -r x", false),
        ("sort -nr -k 2", true),
        ("sort -o x", false),
        ("sort --output=x", false),
        ("sort --compress-program=sh", false),
        ("sort -T /tmp", false),
        ("head $x", false),
        ("head -n $x", false),
        ("tr /etc/x b", false),
        ("wc -l < x", false),
        ("wc -l > x", false),
        ("wc -l 2>&1", true),
        ("wc -l 2>/dev/null", true),
        ("a=b wc -l", false),
        ("./wc -l", false),
        ("/usr/bin/wc -l", true),
        ("timeout 5 wc -l", true),
        ("xargs wc -l", false),
        ("awk x", false),
    ] {
        let analysis = analyse(line);
        assert_eq!(satisfies_safe_bins(&analysis.commands[0], &safe), wanted, "{line}");
    }
    assert!(!satisfies_safe_bins(&analyse("grep x").commands[0], &SafeBins::default()));
    assert!(satisfies_safe_bins(&analyse("wc -l").commands[0], &SafeBins::default()));
    let message = "'python' cannot be a safe filter: its options are not known; known are cut, grep, head, sort, tail, tr, uniq, wc. \
                   Write a rule for it instead";
    assert_eq!(SafeBins::new(["wc", "python"]).unwrap_err().message, message);
}
