//! One suite, every backend. A new backend adds a module here and passes the same cases.
#![allow(clippy::unwrap_used, reason = "helpers are part of the tests")]

mod common;
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
    };
}

call_log_cases! {
    a_record_comes_back_whole
    a_record_with_the_same_id_replaces_the_earlier_one
    a_record_that_is_made_later_keeps_its_place
    calls_are_listed_newest_first_whatever_the_order_of_arrival
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
    the_newest_undoable_call_has_pre_images_and_is_not_undone
    what_is_undone_stays_so
    a_call_that_is_not_there_cannot_be_undone
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
    };
}

blob_cases! {
    a_spill_of_any_size_comes_back_whole
    a_pre_image_of_any_size_comes_back_whole
    what_cannot_be_read_is_not_kept
    a_pre_image_that_is_not_there_is_missing
    a_person_finds_a_pre_image_at_its_path
    pruning_removes_old_spills_and_nothing_else
}
