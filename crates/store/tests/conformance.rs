//! One suite, every backend. A new backend adds a module here and passes the same cases.
#![allow(clippy::unwrap_used, reason = "helpers are part of the tests")]

mod common;
#[cfg(feature = "postgres")]
mod postgres_cases;
mod suite;

macro_rules! call_log_cases {
    ($($case:ident)*) => {
        mod in_memory {
            use haft_store::InMemoryCallLog;
            $(#[tokio::test]
            async fn $case() {
                crate::suite::$case(&InMemoryCallLog::default()).await;
            })*
        }

        mod sqlite {
            use haft_store::SqliteCallLog;
            $(#[tokio::test]
            async fn $case() {
                let folder = tempfile::tempdir().unwrap();
                let opened = SqliteCallLog::open(folder.path()).unwrap();
                assert_eq!(opened.notice, None);
                crate::suite::$case(&opened.log).await;
            })*
        }

        #[cfg(feature = "postgres")]
        #[test]
        fn on_postgres() {
            let mut cases = crate::postgres_cases::Cases::new();
            $(cases.run(stringify!($case), |address| async move {
                crate::suite::$case(&haft_store::PostgresLog::open(&address).unwrap()).await;
            });)*
            cases.end();
        }
    };
}

call_log_cases! {
    a_record_comes_back_whole
    a_record_with_the_same_id_replaces_the_earlier_one
    a_record_that_is_made_later_keeps_its_place
    calls_are_listed_newest_first_whatever_the_order_of_arrival
    calls_since_a_time_are_counted
    filters_narrow_the_list
    huge_arguments_come_back_whole
    a_flush_may_have_nothing_to_do_and_may_run_beside_others
    eight_threads_lose_nothing
    a_call_is_found_by_any_id_that_is_unique
    an_id_that_fits_nothing_is_missing
    an_id_that_fits_several_says_which
    an_id_that_fits_very_many_names_five
    pre_images_come_back_whole_and_in_order
    pre_images_survive_the_end_of_their_call
    a_pre_image_needs_its_call
    a_pre_image_that_is_withdrawn_is_gone_and_no_other
    of_calls_that_ran_at_once_the_last_change_is_the_newest
    a_session_has_the_pre_images_of_its_calls_in_the_order_they_were_kept
    a_path_has_the_pre_images_of_all_calls_in_order
    the_newest_undoable_call_has_pre_images_and_is_not_undone
    what_is_undone_stays_so
    a_call_that_is_not_there_cannot_be_undone
}

macro_rules! session_store_cases {
    ($($case:ident)*) => {
        mod in_memory_sessions {
            use haft_store::InMemorySessionStore;
            $(#[tokio::test]
            async fn $case() {
                crate::suite::$case(&InMemorySessionStore::default()).await;
            })*
        }

        mod sqlite_sessions {
            use haft_store::SqliteCallLog;
            $(#[tokio::test]
            async fn $case() {
                let folder = tempfile::tempdir().unwrap();
                crate::suite::$case(&SqliteCallLog::open(folder.path()).unwrap().log.sessions()).await;
            })*
        }

        #[cfg(feature = "postgres")]
        #[test]
        fn sessions_on_postgres() {
            let mut cases = crate::postgres_cases::Cases::new();
            $(cases.run(stringify!($case), |address| async move {
                crate::suite::$case(&haft_store::PostgresLog::open(&address).unwrap().sessions()).await;
            });)*
            cases.end();
        }
    };
}

session_store_cases! {
    a_session_comes_back_whole
    a_new_session_has_an_id_of_its_own
    an_id_is_taken_once
    sessions_are_listed_by_their_last_message
    overview_has_what_each_session_used_and_its_sub_agent
    filters_narrow_the_list_of_sessions
    a_session_is_found_by_any_id_that_is_unique
    an_id_that_fits_no_session_is_missing
    an_id_that_fits_several_sessions_says_which
    title_and_model_can_be_changed
    the_next_message_reopens_a_closed_session
    a_deleted_session_is_gone_with_all_it_held
    a_fork_shares_nothing
    a_fork_is_cut_where_it_is_asked_to_be
    nothing_can_be_done_with_a_session_that_is_not_there
    messages_are_numbered_without_gaps
    a_message_comes_back_whole
    messages_are_read_in_pages
    an_append_after_an_unseen_message_is_a_conflict
    appends_at_once_lose_nothing
    a_rewrite_replaces_the_end_and_keeps_what_was_there
    a_rewrite_leaves_no_gap
    one_at_a_time_claims_a_session
    a_claim_ends_with_what_holds_it
    a_claim_is_released_when_its_caller_stops_waiting
    the_owner_of_a_session_may_do_everything
    usage_is_summed_by_session_and_by_day
    usage_is_summed_by_day_and_model
    usage_never_overflows
    a_sub_agent_comes_back_whole_and_its_newest_state_counts
    sub_agents_are_listed_by_their_parent_and_go_with_their_session
    usage_of_a_tree_counts_every_session_beneath
    a_sub_agent_of_this_process_is_not_interrupted
    todo_lists_keep_their_history_and_end_with_their_session
    a_fork_has_the_list_of_its_last_message
    old_versions_of_a_todo_list_are_forgotten
    taint_counts_for_the_sessions_above_and_for_those_beneath_them
    a_fork_has_the_taint_and_the_skills_of_its_session
    skills_of_a_session_are_replaced_and_taken_away
    access_level_of_a_session_is_kept_and_goes_to_its_forks
}

macro_rules! blob_cases {
    ($($case:ident)*) => {
        mod file_blobs {
            use haft_store::FileBlobs;
            $(#[tokio::test]
            async fn $case() {
                let folder = tempfile::tempdir().unwrap();
                crate::suite::$case(&FileBlobs::open(folder.path()).unwrap()).await;
            })*
        }

        #[cfg(feature = "postgres")]
        #[test]
        fn blobs_on_postgres() {
            let mut cases = crate::postgres_cases::Cases::new();
            $(cases.run(stringify!($case), |address| async move {
                let folder = tempfile::tempdir().unwrap();
                let objects = haft_store::PostgresLog::open(&address).unwrap().objects();
                let files = haft_store::FileBlobs::open(folder.path()).unwrap();
                crate::suite::$case(&haft_store::SharedBlobs::new(files, std::sync::Arc::new(objects))).await;
            });)*
            cases.end();
        }
    };
}

blob_cases! {
    a_spill_of_any_size_comes_back_whole
    a_pre_image_of_any_size_comes_back_whole
    what_cannot_be_read_is_not_kept
    a_pre_image_that_is_not_there_is_missing
    a_pre_image_is_found_at_its_path
    pruning_removes_old_spills_and_nothing_else
}

macro_rules! memory_cases {
    ($($case:ident)*) => {
        mod sqlite_memory {
            use haft_store::MemoryDatabase;
            $(#[test]
            fn $case() {
                let folder = tempfile::tempdir().unwrap();
                crate::suite::$case(&*MemoryDatabase::open(folder.path(), "test").unwrap().database);
            })*

            #[test]
            fn another_process() {
                let folder = tempfile::tempdir().unwrap();
                let open = || MemoryDatabase::open(folder.path(), "test").unwrap().database;
                crate::suite::change_of_memory_by_another_process_is_noticed(&*open(), &*open());
            }
        }

        #[cfg(feature = "postgres")]
        #[test]
        fn memory_on_postgres() {
            use haft_store::PostgresLog;
            let mut cases = crate::postgres_cases::Cases::new();
            $(cases.run(stringify!($case), |address| async move {
                let log = PostgresLog::open(&address).unwrap();
                // What another workspace has is never found.
                crate::suite::vectors_of_memory_are_made_once_for_each_text(&*log.memory("other").unwrap());
                crate::suite::$case(&*log.memory("test").unwrap());
            });)*
            cases.run("another process", |address| async move {
                let logs = [&address, &address].map(|address| PostgresLog::open(address).unwrap());
                let [one, other] = logs.each_ref().map(|log| log.memory("test").unwrap());
                crate::suite::change_of_memory_by_another_process_is_noticed(&*one, &*other);
                other.discard();
                assert!(matches!(one.data_version(), Err(haft_store::StoreError::Vanished { .. })), "it is built anew");
            });
            cases.end();
        }
    };
}

memory_cases! {
    files_of_memory_come_back_whole_and_are_replaced_touched_and_removed
    chunk_of_memory_that_did_not_change_keeps_its_writer
    words_of_memory_are_stemmed_ranked_and_never_syntax
    words_of_memory_are_found_by_trigrams_and_first_letters
    vectors_of_memory_are_made_once_for_each_text
}

macro_rules! whole_store_cases {
    ($($case:ident)*) => {
        mod sqlite_store {
            use crate::suite::test_store::TestStore;
            $(#[tokio::test]
            async fn $case() {
                crate::suite::$case(&TestStore::sqlite()).await;
            })*
        }

        #[cfg(feature = "postgres")]
        #[test]
        fn store_on_postgres() {
            let mut cases = crate::postgres_cases::Cases::new();
            $(cases.run(stringify!($case), |address| async move {
                crate::suite::$case(&crate::suite::test_store::TestStore::At(address)).await;
            });)*
            cases.end();
        }
    };
}

whole_store_cases! {
    message_is_intended_once_and_its_first_certain_outcome_counts
    code_is_used_once_expires_and_ends_with_too_many_guesses
    senders_conversations_and_cursors_survive_and_end_with_their_session
    message_that_was_not_answered_is_taken_over_once_when_its_process_has_ended
    jobs_come_back_whole_by_session_and_by_workspace_in_another_process_too
    the_first_end_counts_and_no_number_is_given_twice
    what_ended_two_weeks_ago_is_swept_by_the_next_and_what_runs_is_not
    a_call_is_interrupted_when_its_process_is_gone_and_has_one_finder
    a_call_that_was_undone_is_not_interrupted_any_more
    sub_agents_of_a_killed_process_have_failed_and_others_are_as_they_were
    a_killed_process_loses_nothing_that_was_acknowledged
    a_second_process_is_refused_until_the_first_is_killed
    the_second_process_names_the_first
    two_stores_of_one_process_are_two
    of_many_at_once_one_gets_the_claim
    scheduled_job_is_changed_by_its_version_and_found_when_it_is_due
    run_of_a_time_is_made_once_and_has_one_process
}
