use std::sync::Arc;
use std::time::Duration;

use haft_contract::{CommandRequest, JobOptions, ports::ProcessRunner};
use haft_testkit::{FakeHost, Script};

use super::*;

async fn started(script: Script) -> Arc<dyn Job> {
    let host = FakeHost::new();
    host.processes.script(script);
    let line = host.processes.plan(&CommandRequest { command: "x".into(), ..CommandRequest::default() }).unwrap();
    host.processes.start(&line, JobOptions::default()).await.unwrap()
}

async fn ended(script: Script) -> Arc<dyn Job> {
    let job = started(script).await;
    job.wait().await;
    job
}

fn lines(range: std::ops::Range<usize>) -> String {
    range.map(|number| format!("line {number:05}\n")).collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn what_fits_is_shown_whole() {
    for text in [String::new(), "one\ntwo\n".into(), "x".repeat(SHOWN)] {
        let excerpt = OutputExcerpt::from_job(&*ended(Script::says(text.as_str())).await, 0);
        let to = text.len() as u64;
        assert_eq!(excerpt, OutputExcerpt { tail: text.clone(), line: Some(1), to, ..OutputExcerpt::default() });
        assert_eq!(excerpt.text("not used"), text.trim_end());
    }
}

/// 10,000 bytes of the beginning and 20,000 of the end, rounded to whole lines of 11 bytes.
#[tokio::test]
async fn of_more_the_beginning_and_the_end_are_shown_by_whole_lines() {
    for script in [Script::says(lines(0..10_000)), Script::says(lines(0..10_000)).keeping(10_000, 20_000)] {
        let excerpt = OutputExcerpt::from_job(&*ended(script).await, 0);
        let expected = OutputExcerpt {
            head: lines(0..909),
            tail: lines(8_182..10_000),
            left_out: (8_182 - 909) * 11,
            line: Some(910),
            to: 110_000,
            ..OutputExcerpt::default()
        };
        assert_eq!(excerpt, expected);
        assert_eq!(excerpt.text("(cut)"), format!("{}\n\n(cut)\n\n{}", lines(0..909).trim_end(), lines(8_182..10_000).trim_end()));
    }
}

#[tokio::test]
async fn a_line_without_end_is_cut_between_characters() {
    let text = format!("a{}", "€".repeat(20_000));
    let excerpt = OutputExcerpt::from_job(&*ended(Script::says(text.as_str())).await, 0);
    let (head, tail) = (format!("a{}", "€".repeat(3_333)), "€".repeat(6_666));
    let left_out = (text.len() - head.len() - tail.len()) as u64;
    assert_eq!(excerpt, OutputExcerpt { head, tail, left_out, line: Some(1), to: 60_001, ..OutputExcerpt::default() });
}

#[tokio::test]
async fn what_is_gone_counts_as_left_out() {
    let job = ended(Script::says(lines(0..1_000)).keeping(110, 1_100)).await;
    // 9,900 is where the last hundred lines begin.
    let tail = lines(901..1_000);
    for (from, left_out) in [(110, 9_911 - 110), (5_000, 9_911 - 5_000)] {
        assert_eq!(
            OutputExcerpt::from_job(&*job, from),
            OutputExcerpt { tail: tail.clone(), left_out, to: 11_000, ..OutputExcerpt::default() }
        );
    }
    assert_eq!(OutputExcerpt::from_job(&*job, 10_989), OutputExcerpt { tail: lines(999..1_000), to: 11_000, ..OutputExcerpt::default() });
    assert_eq!(OutputExcerpt::from_job(&*job, 11_000), OutputExcerpt { to: 11_000, ..OutputExcerpt::default() });
    assert_eq!(OutputExcerpt::from_job(&*job, 10_989).text(""), "line 00999");
    assert_eq!(OutputExcerpt::from_job(&*job, 5_000).text("(cut)"), format!("(cut)\n\n{}", tail.trim_end()));
}

#[tokio::test(start_paused = true)]
async fn half_a_character_waits_for_the_other_half() {
    let job = started(Script::says(b"a\xe2\x82").waits(Duration::from_secs(1)).then_says(b"\xacb\xe2")).await;
    job.wait_for_output(0).await;
    assert_eq!(OutputExcerpt::from_job(&*job, 0), OutputExcerpt { tail: "a".into(), line: Some(1), to: 1, ..OutputExcerpt::default() });
    job.wait().await;
    let excerpt = OutputExcerpt::from_job(&*job, 1);
    assert_eq!(excerpt, OutputExcerpt { tail: "€b\u{fffd}".into(), to: 6, is_lossy: true, ..OutputExcerpt::default() });
    assert_eq!(excerpt.notes(), ["Some bytes of the output are not UTF-8; each is shown as \u{fffd}."]);
}

#[tokio::test]
async fn the_end_alone_begins_with_a_whole_line() {
    let job = ended(Script::says(lines(0..1_000))).await;
    assert_eq!(tail(&*job, 30), "line 00998\nline 00999");
    assert_eq!(tail(&*job, 100_000), lines(0..1_000).trim_end());
}
