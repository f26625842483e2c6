//! Takes over the runs of processes that have ended: none is lost, and nothing is done twice.

use haft_contract::ports::{DeliveryState, JobRun, RunState};
use haft_store::{RunOwner, StoreError};

use crate::run_effects::RetryAdvice;
use crate::scheduler::{MOST_ATTEMPTS, Scheduler};

impl Scheduler {
    /// Runs that nobody works on: those of a process that was killed, and those that an error of the store cut off in this one.
    pub(crate) async fn recover(&self, open: &[(JobRun, RunOwner)]) -> Result<(), StoreError> {
        for (run, owner) in open.iter().filter(|(run, _)| run.state != RunState::Waiting) {
            let is_left = match owner {
                RunOwner::Other => false,
                RunOwner::Nobody => self.store().take_run(&run.id).await?,
                RunOwner::Mine => run.delivery_due.is_none() && !self.is_active(&run.id),
            };
            if is_left {
                self.take_over(run.clone()).await?;
            }
        }
        Ok(())
    }

    async fn take_over(&self, mut run: JobRun) -> Result<(), StoreError> {
        match (run.state, run.delivery) {
            (RunState::Running, _) if run.attempts >= MOST_ATTEMPTS => {
                run.state = RunState::Failed;
                run.error = Some(format!("the server ended in the middle of it, {MOST_ATTEMPTS} times"));
                self.finish(&mut run, RetryAdvice::IsUseless).await
            }
            (RunState::Running, _) => self.continue_run(run).await,
            (_, DeliveryState::Sending) => self.settle_cut_off(run).await,
            (_, DeliveryState::Pending) => {
                if run.delivery_due.is_none_or(|due| due <= self.now()) {
                    self.spawn_delivery(run);
                    return Ok(());
                }
                // It is tried at its time; from now on it is this process's own.
                self.put_run(run, Vec::new()).await
            }
            _ => Ok(()),
        }
    }

    async fn continue_run(&self, mut run: JobRun) -> Result<(), StoreError> {
        let Some(job) = self.store().job(&run.job).await? else {
            run.state = RunState::Failed;
            run.error = Some("the server ended in the middle of it, and the job was removed since".into());
            return self.finish(&mut run, RetryAdvice::IsUseless).await;
        };
        run.attempts += 1;
        self.put_run(run.clone(), Vec::new()).await?;
        self.spawn_run(job, run);
        Ok(())
    }
}
