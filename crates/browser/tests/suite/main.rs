//! Real browsers on pages that the tests serve.
//!
//! The program is also the launcher of its sandboxes, so it has its own `main`. Each case is a process of its own under nextest; pages are
//! served on addresses of this machine's loopback network, which browsers reach through the proxy, as they reach any host.
#![cfg_attr(not(target_os = "linux"), allow(unused, reason = "the sandbox is that of Linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test that cannot continue has failed, and says why")]

mod addresses;
mod floods;
mod hostile;
mod lifecycle;
mod machine;
mod raw;
mod screens;
mod server;
mod snapshots;
mod tasks;
mod tricks;
mod world;

use std::pin::Pin;

type Case = fn() -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! cases {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), || Box::pin($module::$name()))),*]
    };
}

const CASES: &[(&str, Case)] = cases![
    lifecycle::browser_starts_and_leaves_nothing_behind,
    lifecycle::killed_program_leaves_no_process_and_its_folder_goes_with_the_next,
    snapshots::page_is_described_with_refs_and_acted_on,
    snapshots::refs_survive_re_rendering_and_stale_ones_tell_what_is_there,
    snapshots::frames_and_shadow_roots_are_part_of_the_page,
    snapshots::closed_shadow_roots_are_opened,
    snapshots::hidden_and_unseen_text_is_marked,
    hostile::hostile_pages_are_survived,
    addresses::no_way_of_a_page_leads_to_other_addresses,
    tricks::disguised_addresses_lead_nowhere,
    tricks::no_request_carries_what_it_should_not,
    floods::floods_are_bounded_in_time_and_memory,
    screens::user_takes_over_and_hands_back,
    machine::certificate_that_no_one_signed_is_named,
    machine::absent_chromium_is_one_sentence_with_the_command,
    machine::ordinary_user_has_a_browser,
    tasks::forty_tasks_are_done_by_snapshots_and_refs_alone,
];

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    haft_sandbox::launcher::main_if_asked();
    if let Some(folder) = std::env::var_os(lifecycle::VICTIM) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        return runtime.block_on(lifecycle::wait_to_be_killed(folder.as_ref()));
    }
    // What cargo-nextest asks of every test program, and how it runs one test.
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        CASES.iter().filter(|_| !words.iter().any(|word| word == "--ignored")).for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let is_asked = |name: &str| words.iter().all(|word| word.starts_with('-')) || words.iter().any(|word| name.contains(word.as_str()));
    for (name, case) in CASES.iter().filter(|(name, _)| is_asked(name)) {
        let began = std::time::Instant::now();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(case());
        drop(runtime);
        println!("test {name} ... ok ({} ms)", began.elapsed().as_millis());
    }
    println!("\ntest result: ok.");
}
