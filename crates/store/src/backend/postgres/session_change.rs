//! Changes of sessions. What refuses a change is found before anything of it is written.

use super::failure::Failure;
use super::link::{Link, Text};
use super::presence::Presences;
use super::session_rows::lock;
use super::{carried, claims, messages, session_rows, sub_agents, todos, usage};
use crate::backend::write::SessionChange;

pub(super) async fn apply(link: &Link, change: &SessionChange, presences: &Presences) -> Result<u64, Failure> {
    match change {
        SessionChange::Create(record) => session_rows::create(link, record).await?,
        SessionChange::Rename { session, title } => session_rows::set(link, session, "title", &title.as_deref().map(Text)).await?,
        SessionChange::SetModel { session, model } => session_rows::set(link, session, "model", &model.as_deref().map(Text)).await?,
        SessionChange::SetAccess { session, access } => session_rows::set(link, session, "access", &access.as_deref().map(Text)).await?,
        SessionChange::SetSkills { session, skills } => session_rows::set(link, session, "skills", &skills.as_deref().map(Text)).await?,
        SessionChange::Close(session) => session_rows::set(link, session, "closed", &true).await?,
        SessionChange::Delete(session) => {
            lock(link, session, presences).await?.refuse_others(presences)?;
            session_rows::delete(link, session).await?;
        }
        SessionChange::Fork { session, at, id, now } => {
            let locked = lock(link, session, presences).await?;
            session_rows::fork(link, &locked, *at, id, *now).await?;
        }
        SessionChange::Append { session, expected, messages } => {
            let locked = lock(link, session, presences).await?.refuse_others(presences)?;
            return messages::append(link, &locked, *expected, messages).await;
        }
        SessionChange::Rewrite { session, from, messages, reason, now } => {
            let locked = lock(link, session, presences).await?.refuse_others(presences)?;
            return messages::rewrite(link, &locked, *from, messages, (reason, *now)).await;
        }
        SessionChange::Claim(claiming) => claims::claim(link, presences, claiming).await?,
        SessionChange::Release { token } => claims::release(link, token).await?,
        SessionChange::Usage(record) => usage::add(link, record).await?,
        SessionChange::SubAgent { status, presence } => sub_agents::put(link, status, presence).await?,
        SessionChange::InterruptSubAgents { now } => return sub_agents::interrupt(link, presences, *now).await,
        SessionChange::Todos { session, version } => todos::add(link, session, version).await?,
        SessionChange::Taint { session, taint } => carried::add_taint(link, session, *taint).await?,
    }
    Ok(0)
}
