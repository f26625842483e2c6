use haft_store::{NewSession, SessionStore};

use crate::common::{message, new_session, second};

const FIRST: &str = "019a0000-aaaa-7000-8000-00000000abcd";
const SECOND: &str = "019a0000-bbbb-7000-8000-00000000ef01";
const THIRD: &str = "019a1111-cccc-7000-8000-0000000fef01";

async fn fill(store: &dyn SessionStore) {
    for (id, at) in [(FIRST, 3), (SECOND, 2), (THIRD, 1)] {
        store.create(NewSession { created: second(at), ..new_session(id) }).await.unwrap();
    }
}

pub(crate) async fn a_session_is_found_by_any_id_that_is_unique(store: &dyn SessionStore) {
    fill(store).await;
    let cases = [(FIRST, FIRST), ("019a1111", THIRD), ("019a1", THIRD), ("019a0000-b", SECOND), ("abcd", FIRST), ("0ef01", SECOND)];
    for (asked, expected) in cases {
        assert_eq!(store.open(asked).await.unwrap().id, expected, "{asked}");
    }
    assert_eq!(store.open("last").await.unwrap().id, FIRST);
    store.append(SECOND, None, vec![message(9, "newer")]).await.unwrap();
    assert_eq!(store.open("last").await.unwrap().id, SECOND);
}

pub(crate) async fn an_id_that_fits_no_session_is_missing(store: &dyn SessionStore) {
    let missing = |asked: &str| {
        format!(
            "no session '{asked}': `haft sessions list` lists the sessions; an id may be shortened to 4 or more characters of its beginning or end"
        )
    };
    assert_eq!(store.open("last").await.unwrap_err().to_string(), "there is no session yet: `haft run PROMPT` begins one");
    fill(store).await;
    // Too short, in the middle, wild cards, another case, longer than an id.
    for asked in ["", "bcd", "019", "bbbb-7000", "%%%%", "____", "019A0000-A", "Last", "x019a0000-aaaa-7000-8000-00000000abcd"] {
        assert_eq!(store.open(asked).await.unwrap_err().to_string(), missing(asked));
    }
}

pub(crate) async fn an_id_that_fits_several_sessions_says_which(store: &dyn SessionStore) {
    fill(store).await;
    for (asked, matches) in [("019a0000", vec![SECOND, FIRST]), ("ef01", vec![THIRD, SECOND]), ("019a", vec![THIRD, SECOND, FIRST])] {
        let matches = matches.join(", ");
        let expected = format!("'{asked}' fits several sessions, among them {matches}: give more characters of the one you mean");
        assert_eq!(store.open(asked).await.unwrap_err().to_string(), expected);
    }
}
