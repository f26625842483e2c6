//! One run: servers give work all the time, and something is broken all the time.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use haft_store::{PostgresLog, PostgresWork};
use haft_testkit::{NatsServer, PostgresServer};

use super::checker::{Evidence, GivenWork};
use super::child::{ChaosPlace, LEASE, PlantedFault, start};
use super::random::Dice;
use super::server;

/// Nothing that was given takes longer to be settled when nothing is broken any more.
const SETTLING: Duration = Duration::from_mins(5);
/// The second and the third have the same name, and so have all that follow, two by two.
fn worker_name(number: usize) -> String {
    format!("worker{}", number.div_ceil(2))
}

const SERVERS: usize = 2;
/// Work that each server has open at once.
const OPEN: usize = 12;

/// How long a run is and how violent.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChaosBounds {
    pub(super) time: Duration,
    pub(super) points: u64,
    /// The usual time between two throws of the dice, of which two in three break something.
    pub(super) pace: Duration,
    pub(super) workers: usize,
}

/// What was broken, and how often.
#[derive(Debug, Default)]
pub(super) struct FaultCounts {
    pub(super) killed_workers: u64,
    pub(super) killed_servers: u64,
    pub(super) frozen: u64,
    pub(super) queue_restarts: u64,
    pub(super) database_restarts: u64,
}

impl FaultCounts {
    fn sum(&self) -> u64 {
        self.killed_workers + self.killed_servers + self.frozen + self.queue_restarts + self.database_restarts
    }
}

/// What a run was.
#[derive(Debug)]
pub(super) struct ChaosRun {
    pub(super) evidence: Evidence,
    pub(super) counts: FaultCounts,
}

/// Everything that can be broken.
struct Disorder {
    nats: NatsServer,
    database: PostgresServer,
    place: ChaosPlace,
    workers: Vec<Child>,
    servers: Vec<Child>,
    dice: Dice,
    counts: FaultCounts,
    /// Workers that do not run, and until when.
    frozen: Vec<(u32, Instant)>,
}

impl Disorder {
    /// A server that was never there before: its work is its own.
    fn new_server(&mut self) -> Child {
        let seed = self.dice.roll() >> 1;
        server::start(&self.place, &format!("server{}", self.counts.killed_servers), seed, OPEN)
    }

    fn choose(&mut self, count: usize) -> usize {
        usize::try_from(self.dice.below(count as u64)).unwrap()
    }

    fn break_something(&mut self) {
        match self.dice.below(1_000) {
            0..=499 => {
                let number = self.choose(self.workers.len());
                kill(&mut self.workers[number]);
                self.workers[number] = start(&self.place, &worker_name(number));
                self.counts.killed_workers += 1;
            }
            500..=619 => {
                let number = self.choose(SERVERS);
                kill(&mut self.servers[number]);
                self.counts.killed_servers += 1;
                self.servers[number] = self.new_server();
            }
            620..=659 => {
                // Longer than its lease: others have its work when it comes back.
                let number = self.choose(self.workers.len());
                signal(self.workers[number].id(), "STOP");
                self.frozen.push((self.workers[number].id(), Instant::now() + LEASE + Duration::from_millis(300)));
                self.counts.frozen += 1;
            }
            660..=667 => {
                let keeps = self.dice.below(2) == 0;
                self.nats.kill(keeps);
                tokio::task::block_in_place(|| self.nats.resume());
                self.counts.queue_restarts += 1;
            }
            668..=675 => {
                // As a crash, or as an administrator does.
                if self.dice.below(2) == 0 {
                    self.database.kill();
                } else {
                    self.database.stop();
                }
                tokio::task::block_in_place(|| self.database.resume());
                self.counts.database_restarts += 1;
            }
            _ => {}
        }
    }

    /// Those that were frozen long enough and were not killed meanwhile come back.
    fn thaw(&mut self, now: Instant) {
        let living: Vec<u32> = self.workers.iter().map(Child::id).collect();
        for (id, _) in self.frozen.extract_if(.., |(_, until)| *until <= now) {
            if living.contains(&id) {
                signal(id, "CONT");
            }
        }
    }
}

pub(super) async fn run(seed: u64, bounds: ChaosBounds, fault: PlantedFault) -> ChaosRun {
    let (nats, database, folder) = (NatsServer::start(), PostgresServer::start(), tempfile::tempdir().unwrap());
    let place = ChaosPlace { database: database.schema("postgres"), queue: nats.address(), folder: folder.path().to_owned(), fault };
    let opened = place.database.clone();
    let work = tokio::task::spawn_blocking(move || PostgresLog::open(&opened).unwrap().work()).await.unwrap();
    let workers = (0..bounds.workers).map(|number| start(&place, &worker_name(number))).collect();
    let servers = (0..SERVERS).map(|number| server::start(&place, &format!("first{number}"), seed + number as u64, OPEN)).collect();
    let (counts, frozen) = (FaultCounts::default(), Vec::new());
    let mut disorder = Disorder { nats, database, place, workers, servers, dice: Dice::new(seed), counts, frozen };
    let (until, pause) = (Instant::now() + bounds.time, u64::try_from(bounds.pace.as_millis()).unwrap());
    while Instant::now() < until && disorder.counts.sum() < bounds.points {
        tokio::time::sleep(Duration::from_millis(pause / 4 + disorder.dice.below(pause * 3 / 2))).await;
        disorder.break_something();
        disorder.thaw(Instant::now());
    }
    disorder.thaw(until + LEASE * 10);
    // No new work, and nothing that breaks: what was recorded comes to an end.
    disorder.servers.iter_mut().for_each(kill);
    let evidence = settle(&disorder.place, &work, fault).await;
    disorder.workers.iter_mut().for_each(kill);
    ChaosRun { evidence, counts: disorder.counts }
}

/// Waits until all work is settled, and reads what is left.
async fn settle(place: &ChaosPlace, work: &PostgresWork, fault: PlantedFault) -> Evidence {
    let lines =
        |name: &str| -> Vec<String> { std::fs::read_to_string(place.file(name)).unwrap_or_default().lines().map(str::to_owned).collect() };
    let until = Instant::now() + SETTLING;
    while Instant::now() < until {
        let is_settled = work.counts().await.is_ok_and(|counts| counts.iter().all(|(state, _)| state.is_final()));
        if is_settled {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(Instant::now() < until || fault != PlantedFault::None, "not all is settled");
    let pair = |line: &String| line.split_once('|').map(|(id, rest)| (id.to_owned(), rest.to_owned()));
    let mut evidence = Evidence {
        given: lines("asked").iter().filter_map(|line| GivenWork::decode(line)).collect(),
        recorded: lines("recorded").into_iter().collect(),
        told: lines("told").iter().filter_map(pair).collect(),
        effects: lines("effects").iter().filter_map(pair).collect(),
        ..Evidence::default()
    };
    for given in &evidence.given {
        if let Some(record) = work.look(&given.id).await.unwrap() {
            evidence.records.insert(given.id.clone(), record);
        }
    }
    evidence
}

fn kill(process: &mut Child) {
    process.kill().ok();
    process.wait().ok();
}

fn signal(process: u32, name: &str) {
    Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status().unwrap();
}
