//! Which tenant is next. Workers of all tenants are shared: who has least running gets the next one that is free, and of several the one
//! that has waited longest since its last work ended.

use super::super::failure::Failure;
use super::super::link::{Columns, Link, Text, all, row};

/// Tenants that are looked at for one claim: work of the first is nearly always free.
const MOST_TENANTS: usize = 16;

/// The tenants of which work waits, the next one first. It looks at one row of an index for each, not at all work.
const TENANTS: &str = "WITH RECURSIVE waiting AS (\
     (SELECT tenant FROM work WHERE topic = $1 AND state = 'queued' ORDER BY tenant LIMIT 1) UNION ALL \
     SELECT (SELECT next.tenant FROM work next WHERE next.topic = $1 AND next.state = 'queued' AND next.tenant > waiting.tenant \
     ORDER BY next.tenant LIMIT 1) FROM waiting WHERE waiting.tenant IS NOT NULL) \
     SELECT tenant FROM waiting WHERE tenant IS NOT NULL ORDER BY \
     (SELECT count(*) FROM work WHERE work.tenant = waiting.tenant AND state IN ('claimed', 'started')), \
     (SELECT settled FROM work WHERE work.tenant = waiting.tenant AND settled IS NOT NULL ORDER BY settled DESC LIMIT 1) NULLS FIRST";
const OLDEST: &str = "SELECT id FROM work WHERE topic = $1 AND tenant = $2 AND state = 'queued' AND NOT cancelling \
     AND deadline > clock_timestamp() AND (holds = '' OR NOT EXISTS (SELECT FROM work other WHERE other.holds = work.holds \
     AND other.id <> work.id AND (other.state IN ('claimed', 'started') OR (other.state = 'queued' AND other.made < work.made)))) \
     ORDER BY made LIMIT 1 FOR UPDATE SKIP LOCKED";

/// Work of a topic that may be begun and comes before that of this tenant; any, if none is given.
pub(super) async fn waiting(link: &Link, topic: &str, tenant: Option<&str>) -> Result<Option<String>, Failure> {
    let tenants = all(link, TENANTS, &[&Text(topic)], |row| row.text(0)).await?;
    for other in tenants.iter().take(MOST_TENANTS) {
        if tenant == Some(other) {
            break;
        }
        if let Some(found) = row(link, OLDEST, &[&Text(topic), &Text(other)]).await? {
            return found.text(0).map(Some);
        }
    }
    Ok(None)
}
