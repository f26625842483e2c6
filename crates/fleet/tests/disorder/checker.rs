//! Compares what is stored with what happened: nothing lost, nothing doubled, nothing of one tenant in another's.

use std::collections::{HashMap, HashSet};

use haft_store::{WorkRecord, WorkState};

/// Work as it was given.
#[derive(Debug, Clone)]
pub(super) struct GivenWork {
    pub(super) id: String,
    pub(super) tenant: String,
    pub(super) repeatable: bool,
}

impl GivenWork {
    pub(super) fn encode(&self) -> String {
        format!("{}|{}|{}", self.id, self.tenant, self.repeatable)
    }

    pub(super) fn decode(line: &str) -> Option<Self> {
        let [id, tenant, repeatable] = line.split('|').collect::<Vec<_>>().try_into().ok()?;
        Some(Self { id: id.to_owned(), tenant: tenant.to_owned(), repeatable: repeatable == "true" })
    }
}

/// What a run left.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// What servers were about to give. A server that is killed then may have given it or not.
    pub(super) given: Vec<GivenWork>,
    /// The ids of which a server knew that they are recorded.
    pub(super) recorded: HashSet<String>,
    /// What servers were told in the end.
    pub(super) told: Vec<(String, String)>,
    pub(super) records: HashMap<String, WorkRecord>,
    /// A line for each effect: the id of the work, and the tenant for whom it was.
    pub(super) effects: Vec<(String, String)>,
}

/// Every sentence is something that must not be.
pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let mut faults = Vec::new();
    let mut effects: HashMap<&str, Vec<&str>> = HashMap::new();
    for (id, tenant) in &evidence.effects {
        effects.entry(id).or_default().push(tenant);
    }
    for work in &evidence.given {
        let tenants = effects.remove(work.id.as_str()).unwrap_or_default();
        match evidence.records.get(&work.id) {
            None if evidence.recorded.contains(&work.id) => faults.push(format!("lost: {} is not in the database", work.id)),
            None if tenants.is_empty() => {}
            None => faults.push(format!("invented: {} had an effect and is not in the database", work.id)),
            Some(record) => faults.extend(check_work(work, record, &tenants)),
        }
    }
    for (id, state) in &evidence.told {
        let stored = evidence.records.get(id).map_or("nothing", |record| record.state.as_str());
        if stored != state {
            faults.push(format!("lost: a server was told that {id} is {state}, and it is {stored}"));
        }
    }
    faults.extend(effects.keys().map(|id| format!("invented: {id} had an effect, and nobody gave it")));
    faults
}

fn check_work(work: &GivenWork, record: &WorkRecord, tenants: &[&str]) -> Vec<String> {
    let (id, count, attempts) = (&work.id, tenants.len(), usize::try_from(record.attempts).unwrap_or(usize::MAX));
    let mut faults = Vec::new();
    let mut must = |holds: bool, fault: String| {
        if !holds {
            faults.push(fault);
        }
    };
    must(record.state.is_final(), format!("lost: {id} is not settled ({})", record.state.as_str()));
    must(
        tenants.iter().all(|tenant| *tenant == work.tenant) && record.tenant == work.tenant,
        format!("leaked: {id} is of {}", work.tenant),
    );
    must(work.repeatable || count <= 1, format!("doubled: {id} had its effect {count} times"));
    must(count <= attempts, format!("doubled: {id} had its effect {count} times in {attempts} attempts"));
    let outcome = record.outcome.as_deref();
    match record.state {
        WorkState::Done => {
            must(count >= 1, format!("lost: {id} is done and had no effect"));
            must(outcome == Some(format!("{id} for {}", work.tenant).as_str()), format!("leaked: the outcome of {id} is {outcome:?}"));
        }
        WorkState::Unknown => must(!work.repeatable && outcome.is_none(), format!("lost: {id} is repeatable, and was given up")),
        WorkState::Aside => must(record.attempts >= 5, format!("lost: {id} was set aside after {} attempts", record.attempts)),
        state => must(count == 0, format!("lost: {id} is {} and had an effect", state.as_str())),
    }
    faults
}
