//! What a session carries over to the process that resumes it: what it has read, as far as it matters for leaks, and the skills that
//! it has loaded.

use std::path::{Path, PathBuf};

use haft_contract::{LimitEnd, TurnLimit};
use haft_engine::{RecordedTaint, Session};
use serde::{Deserialize, Serialize};

use crate::runner::Runner;

/// What a session carries over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CarriedState {
    /// What its calls have brought in.
    pub taint: RecordedTaint,
    /// The skills that it has loaded.
    pub skills: LoadedSkills,
}

/// Skills that a session has loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedSkills {
    /// Their folders, which commands may read.
    pub folders: Vec<PathBuf>,
    /// What they left to a sub-agent, or to a turn that has not ended.
    pub limits: Vec<TurnLimit>,
}

impl LoadedSkills {
    /// Whether nothing was loaded.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.limits.is_empty()
    }
}

/// When the state is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarryMoment {
    /// Limits of the turn hold for one that resumes it after a crash.
    InTurn,
    /// They have ended with the turn.
    AfterTurn,
}

impl CarriedState {
    fn of_session(session: &Session, moment: CarryMoment) -> Self {
        let mut limits = session.caller().turn_tools.current();
        limits.retain(|limit| match limit.end {
            LimitEnd::Turn => moment == CarryMoment::InTurn,
            LimitEnd::Session => true,
            LimitEnd::Type => false,
        });
        // JSON has no other paths; what cannot be stored is loaded again by the model.
        let folders = session.host().files().shown_folders().into_iter().filter(|folder| folder.to_str().is_some()).collect();
        Self { taint: session.brought_in(), skills: LoadedSkills { folders, limits } }
    }
}

impl Runner {
    /// Gives a resumed session what it had in the process before; `is_skill` tells which folders are still those of skills.
    pub fn restore(&mut self, carried: CarriedState, is_skill: impl Fn(&Path) -> bool) {
        self.session.restore_taint(carried.taint);
        for folder in carried.skills.folders.iter().filter(|folder| is_skill(folder)) {
            // One that is gone has nothing to read any more.
            self.session.host().files().show_folder(folder).ok();
        }
        for limit in &carried.skills.limits {
            let tools = &self.session.caller().turn_tools;
            match limit.end {
                LimitEnd::Turn => tools.limit_next(limit.clone()),
                LimitEnd::Session | LimitEnd::Type => tools.limit(limit.clone()),
            }
        }
        self.carried = carried;
    }

    /// Stores what the session carries over, if it has changed: before the conversation keeps what changed it.
    pub(crate) async fn carry(&mut self, moment: CarryMoment) -> Result<(), String> {
        let now = CarriedState::of_session(&self.session, moment);
        if now != self.carried {
            self.ledger.carry(&now, &self.carried).await?;
            self.carried = now;
        }
        Ok(())
    }
}
