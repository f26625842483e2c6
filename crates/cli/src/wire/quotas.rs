//! Quotas: counted in the store where it counts already, and checked before the model is asked and before a call.
//!
//! Calls, tokens and money are those of the store, so that they hold across restarts and servers; calls of this process are counted here as
//! well, because those that run at once are not in the history yet. Processor time is added up where the state is.

mod cpu;
mod guard;
mod storage;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

use haft_agent::{Meter, Micros};
use haft_config::QuotaSettings;
use haft_store::{CallLog, StateStore};
use haft_text::numbers::{group_digits, size};
use jiff::{ToSpan, Zoned};
use serde_json::{Value, json};
use tokio::sync::Mutex;

pub(super) use self::guard::QuotaHook;
use self::guard::QuotaMeter;
use super::Wire;
use crate::failure::Failure;

/// How old the count of the store may be, for calls of other processes.
const FRESH: Duration = Duration::from_secs(1);

/// Calls of a day, as far as this process knows.
static CALLS: LazyLock<Mutex<CallCount>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct CallCount {
    day: String,
    calls: u64,
    read: Option<Instant>,
}

/// The quotas of a configuration, and what counts.
#[derive(Debug, Clone)]
pub(crate) struct Quotas {
    settings: QuotaSettings,
    store: Arc<StateStore>,
    data_folder: PathBuf,
    /// Where what is stored lies.
    folders: Vec<PathBuf>,
}

/// What of a quota is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuotaKind {
    Calls,
    Tokens,
    Money,
    CpuSeconds,
    Storage,
}

impl QuotaKind {
    const ALL: [Self; 5] = [Self::Calls, Self::Tokens, Self::Money, Self::CpuSeconds, Self::Storage];

    const fn key(self) -> &'static str {
        match self {
            Self::Calls => "quota.calls",
            Self::Tokens => "quota.tokens",
            Self::Money => "quota.money",
            Self::CpuSeconds => "quota.cpu_seconds",
            Self::Storage => "quota.storage",
        }
    }

    fn format_amount(self, amount: u64) -> String {
        match self {
            Self::Calls => format!("{} calls", group_digits(amount)),
            Self::Tokens => format!("{} tokens", group_digits(amount)),
            Self::Money => Micros(i64::try_from(amount).unwrap_or(i64::MAX)).to_string(),
            Self::CpuSeconds => format!("{} seconds of processor time", group_digits(amount)),
            Self::Storage => size(amount),
        }
    }
}

impl Wire {
    /// The quotas of the configuration, if there are any.
    pub(crate) fn quotas(&self) -> Result<Option<Quotas>, Failure> {
        let settings = self.settings.config.quota;
        if !settings.is_any() {
            return Ok(None);
        }
        let data_folder = self.settings.data_folder.clone();
        // A tenant also stores what its tools write; anyone else's workspace is not Haft's.
        let folders = match crate::tenants::current() {
            Some(tenant) => {
                [tenant.path().to_owned(), self.settings.workspace.clone()].into_iter().chain(crate::tenants::volumes()).collect()
            }
            None => vec![data_folder.clone()],
        };
        Ok(Some(Quotas::new(settings, self.conversation_store()?, data_folder, folders)))
    }
}

impl Wire {
    /// A meter that also holds to the quotas, if there are any.
    pub(crate) fn within_quotas(&self, meter: Arc<dyn Meter>) -> Result<Arc<dyn Meter>, Failure> {
        Ok(match self.quotas()? {
            Some(quotas) => Arc::new(QuotaMeter { meter, quotas }),
            None => meter,
        })
    }
}

impl Quotas {
    pub(crate) fn new(settings: QuotaSettings, store: Arc<StateStore>, data_folder: PathBuf, mut folders: Vec<PathBuf>) -> Self {
        // A folder in another one counts once.
        let all = folders.clone();
        folders.retain(|folder| !all.iter().any(|other| other != folder && folder.starts_with(other)));
        Self { settings, store, data_folder, folders }
    }

    fn limit(&self, kind: QuotaKind) -> Option<u64> {
        match kind {
            QuotaKind::Calls => self.settings.calls,
            QuotaKind::Tokens => self.settings.tokens,
            QuotaKind::Money => self.settings.money.map(|micros| u64::try_from(micros).unwrap_or_default()),
            QuotaKind::CpuSeconds => self.settings.cpu_seconds,
            QuotaKind::Storage => self.settings.storage,
        }
    }

    async fn used(&self, kind: QuotaKind) -> Result<u64, String> {
        let failed = |error: haft_store::StoreError| format!("what is used of {} cannot be counted: {error}", kind.key());
        match kind {
            QuotaKind::Calls => {
                let mut count = CALLS.lock().await;
                self.calls(&mut count).await.map_err(failed)
            }
            QuotaKind::Tokens | QuotaKind::Money => {
                let sum = self.store.sessions().day_usage(&super::today().1).await.map_err(failed)?;
                let money = u64::try_from(sum.cost_micros).unwrap_or_default();
                Ok(if kind == QuotaKind::Money { money } else { sum.input.saturating_add(sum.output) })
            }
            QuotaKind::CpuSeconds => {
                let time = cpu::of_today(&self.store, &self.data_folder, &super::today().1).await.map_err(failed)?;
                Ok(time.as_secs())
            }
            QuotaKind::Storage => {
                let on_server = self.store.server_bytes().await.map_err(failed)?;
                Ok(storage::bytes(self.folders.clone()).await.saturating_add(on_server))
            }
        }
    }

    /// The calls of today: those of the history, or more if this process knows of more.
    async fn calls(&self, count: &mut CallCount) -> Result<u64, haft_store::StoreError> {
        let day = super::today().1;
        if count.day != day {
            *count = CallCount { day, ..CallCount::default() };
        }
        if count.read.is_none_or(|read| read.elapsed() > FRESH) {
            let midnight = Zoned::now().start_of_day().map_or(SystemTime::UNIX_EPOCH, |midnight| SystemTime::from(midnight.timestamp()));
            count.calls = count.calls.max(self.store.count_since(midnight).await?);
            count.read = Some(Instant::now());
        }
        Ok(count.calls)
    }

    /// Counts one more call, unless the quota is used up.
    async fn take_call(&self) -> Result<(), String> {
        let Some(limit) = self.limit(QuotaKind::Calls) else { return Ok(()) };
        let mut count = CALLS.lock().await;
        let used = self.calls(&mut count).await.map_err(|error| error.to_string())?;
        // Processes that share a server may be at the last call at once.
        let is_counted =
            used < limit && self.store.count_call(&count.day, used, limit).await.map_err(|error| error.to_string())?.unwrap_or(true);
        if !is_counted {
            return Err(refusal(QuotaKind::Calls, used, limit));
        }
        count.calls += 1;
        Ok(())
    }

    /// Refuses when one of these is used up.
    async fn check(&self, kinds: &[QuotaKind]) -> Result<(), String> {
        for kind in kinds {
            let Some(limit) = self.limit(*kind) else { continue };
            let used = self.used(*kind).await?;
            if used >= limit {
                return Err(refusal(*kind, used, limit));
            }
        }
        Ok(())
    }

    /// Every quota with what is used of it.
    pub(crate) async fn report(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        for kind in QuotaKind::ALL {
            let Some(limit) = self.limit(kind) else { continue };
            let used = self.used(kind).await;
            let (number, text) = (used.as_ref().ok(), used.as_ref().map_or_else(Clone::clone, |used| kind.format_amount(*used)));
            let renews = (kind != QuotaKind::Storage).then(renewal);
            let text = format!("{text} of {}", kind.format_amount(limit));
            rows.push(json!({ "quota": kind.key(), "limit": limit, "used": number, "text": text, "renews": renews }));
        }
        rows
    }
}

/// The next midnight.
fn renewal() -> String {
    let midnight = Zoned::now().checked_add(1.day()).and_then(|tomorrow| tomorrow.start_of_day());
    midnight.map_or_else(|_| "at midnight".to_owned(), |midnight| midnight.strftime("%Y-%m-%d %H:%M %:z").to_string())
}

/// Which quota, its value, when it renews, and who can change it; continues a sentence.
fn refusal(kind: QuotaKind, used: u64, limit: u64) -> String {
    let raise =
        if crate::tenants::current().is_some() { "the operator of this server can raise it" } else { "raise it in your configuration" };
    let (key, most) = (kind.key(), kind.format_amount(limit));
    match kind {
        QuotaKind::Storage => {
            let stored = kind.format_amount(used);
            format!("the quota of {most} for what is stored is used up with {stored} ({key}); remove files or sessions, or {raise}")
        }
        _ => format!("the quota of {most} for one day is used up ({key}); it renews {}, or {raise}", renewal()),
    }
}
