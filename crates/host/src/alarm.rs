//! A clock that can be waited for, by the kernel's timer of the calendar: it also fires when the clock is set, and it counts while the
//! machine sleeps. Nothing wakes up before.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use haft_contract::BoxFuture;
use haft_contract::ports::{AlarmClock, Clock, LocalOffset};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};

use crate::SystemClock;
use crate::files::waitable;

/// Where there is no timer, the clock is looked at after this time.
const WITHOUT_TIMER: Duration = Duration::from_mins(1);
/// A time that does not come.
const NEVER: i64 = 7_258_118_400; // 2200

/// The machine's clock, which can be waited for.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemAlarm;

impl Clock for SystemAlarm {
    fn now(&self) -> SystemTime {
        SystemClock.now()
    }
    fn time_zone(&self) -> Option<String> {
        SystemClock.time_zone()
    }
    fn offset(&self, at: SystemTime) -> Option<LocalOffset> {
        SystemClock.offset(at)
    }
}

impl AlarmClock for SystemAlarm {
    fn alarm(&self, at: Option<SystemTime>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if wait(at).await.is_err() {
                let left = at.map_or(WITHOUT_TIMER, |at| at.duration_since(SystemTime::now()).unwrap_or_default());
                tokio::time::sleep(left.min(WITHOUT_TIMER)).await;
            }
        })
    }
}

async fn wait(at: Option<SystemTime>) -> io::Result<()> {
    let timer = waitable(timer(at)?)?;
    loop {
        let mut ready = timer.readable().await?;
        match rustix::io::read(timer.get_ref(), &mut [0; 8]) {
            Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
            // It has fired, or the clock was set (`ECANCELED`).
            _ => return Ok(()),
        }
    }
}

fn timer(at: Option<SystemTime>) -> io::Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
    let since = at.map(|at| at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
    let it_value = match since {
        // Zero would switch the timer off.
        Some(since) => {
            Timespec { tv_sec: i64::try_from(since.as_secs()).unwrap_or(NEVER), tv_nsec: i64::from(since.subsec_nanos().max(1)) }
        }
        None => Timespec { tv_sec: NEVER, tv_nsec: 0 },
    };
    let time = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
    timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET, &time)?;
    Ok(timer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn alarm_resolves_at_its_time_and_not_before() {
        for wait in [Duration::ZERO, Duration::from_millis(120)] {
            let at = SystemTime::now() + wait;
            SystemAlarm.alarm(Some(at)).await;
            assert!(SystemTime::now() >= at);
        }
        SystemAlarm.alarm(Some(SystemTime::UNIX_EPOCH)).await;
        let early = tokio::time::timeout(Duration::from_millis(50), SystemAlarm.alarm(None)).await;
        assert!(early.is_err(), "an alarm without a time does not resolve");
    }
}
