use haft_store::{CallLog, CallRecord};

use crate::common::record;

const FIRST: &str = "019a0000-aaaa-7000-8000-00000000abcd";
const SECOND: &str = "019a0000-bbbb-7000-8000-00000000ef01";
const THIRD: &str = "019a1111-cccc-7000-8000-0000000fef01";

fn fill(log: &dyn CallLog) {
    log.append(CallRecord { call_id: "call_1".into(), ..record(FIRST) }).unwrap();
    log.append(CallRecord { call_id: "call_1".into(), ..record(SECOND) }).unwrap();
    // A provider's id that looks like a piece of another record's.
    log.append(CallRecord { call_id: "aaaa-7000".into(), ..record(THIRD) }).unwrap();
}

pub(crate) async fn a_call_is_found_by_any_id_that_is_unique(log: &dyn CallLog) {
    fill(log);
    let cases = [
        (FIRST, FIRST),
        (SECOND, SECOND),
        ("019a1111", THIRD),
        ("019a1", THIRD),
        ("019a0000-b", SECOND),
        ("abcd", FIRST),
        ("0ef01", SECOND),
        ("fef01", THIRD),
        ("aaaa-7000", THIRD),
        ("call_1", SECOND),
    ];
    for (asked, expected) in cases {
        assert_eq!(log.get(asked).await.unwrap().id, expected, "{asked}");
    }
}

pub(crate) async fn an_id_that_fits_nothing_is_missing(log: &dyn CallLog) {
    fill(log);
    // Too short, in the middle, wild cards, longer than an id.
    for asked in ["", "bcd", "019", "bbbb-7000", "%%%%", "____", "019A0000-A", "call_", "x019a0000-aaaa-7000-8000-00000000abcd"] {
        let expected = format!(
            "no call '{asked}': `haft history` lists the calls; an id may be shortened to 4 or more characters of its beginning or end"
        );
        assert_eq!(log.get(asked).await.unwrap_err().to_string(), expected);
    }
}

pub(crate) async fn an_id_that_fits_several_says_which(log: &dyn CallLog) {
    fill(log);
    let cases = [("019a0000", vec![SECOND, FIRST]), ("ef01", vec![THIRD, SECOND]), ("019a", vec![THIRD, SECOND, FIRST])];
    for (asked, matches) in cases {
        let matches = matches.join(", ");
        let expected = format!("'{asked}' fits several calls, among them {matches}: give more characters of the one you mean");
        assert_eq!(log.get(asked).await.unwrap_err().to_string(), expected);
    }
}

pub(crate) async fn an_id_that_fits_very_many_names_five(log: &dyn CallLog) {
    for number in 0..9 {
        log.append(record(&format!("same-{number}"))).unwrap();
    }
    let expected = "'same' fits several calls, among them same-8, same-7, same-6, same-5, same-4: give more characters of the one you mean";
    assert_eq!(log.get("same").await.unwrap_err().to_string(), expected);
}
