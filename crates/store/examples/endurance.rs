//! What large transactions and long use cost: memory, file, and how long the sweep holds others up.
//!
//! `cargo run --release -p farbird-store --example endurance -- FOLDER EXPERIMENT [ROWS]`, with one of these experiments:
//! - `insert`, `insert-undone`: so many rows in one transaction, committed or rolled back;
//! - `insert-indexed`: the same with two indexes;
//! - `update`, `update-undone`, `delete`: all of so many rows, one of two indexed columns changed;
//! - `refill`: so many rows inserted and deleted, again and again;
//! - `writers`: all of so many rows with two indexes updated in one transaction; then another thread commits single rows,
//!   first alone, then while the sweep goes over the rows, and the slowest commits of both are told;
//! - `churn`: so many updates of the same 1,000 rows, a reader's snapshot held for half of them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use farbird_record::RecordFormat;
use farbird_store::{
    CancelFlag, IndexDefinition, IndexId, KeyPart, KeySource, Projection, RelationId, RelationLayout,
    RelationScan, RowBatch, Store, StoreOptions, Transaction, TransactionOptions,
};
use farbird_types::character_set::Collation;
use farbird_types::{SqlType, Value};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, experiment, ..] = &arguments[..] else {
        return Err("give a folder and an experiment".into());
    };
    let rows = arguments.get(2).map_or(Ok(1_000_000), |rows| rows.parse())?;
    let path = Path::new(folder).join("endurance.fbd");
    if path.exists() {
        std::fs::remove_file(&path)?;
    }
    let bench = Bench::create(
        &path,
        ["insert-indexed", "update", "update-undone", "writers"].contains(&experiment.as_str()),
    )?;
    let began = Instant::now();
    match experiment.as_str() {
        "insert" | "insert-indexed" => bench.insert(rows)?.commit().map(drop)?,
        "insert-undone" => bench.insert(rows)?.rollback()?,
        "update" | "update-undone" | "delete" => {
            bench.insert(rows)?.commit()?;
            bench.report("filled", began);
            bench.sweep_all()?;
            bench.report("swept", began);
            let transaction = bench.change_all(experiment == "delete")?;
            bench.report("changed", began);
            if experiment == "update-undone" {
                transaction.rollback()?
            } else {
                transaction.commit().map(drop)?
            }
        }
        "writers" => bench.writers(rows)?,
        "refill" => bench.refill(rows)?,
        "churn" => bench.churn(rows)?,
        other => return Err(format!("no experiment {other}").into()),
    }
    bench.report("ended", began);
    bench.sweep_all()?;
    bench.report("swept", began);
    println!("{} rows", bench.count()?);
    bench.store.close()?;
    let Bench { store, .. } = bench;
    drop(store);
    println!("closed: file {} MB", std::fs::metadata(&path)?.len() >> 20);
    Ok(())
}

struct Bench {
    store: Store,
    layout: Arc<RelationLayout>,
    path: std::path::PathBuf,
}

impl Bench {
    fn create(path: &Path, indexed: bool) -> Outcome<Bench> {
        let options = StoreOptions { background_sweep: false, ..StoreOptions::default() };
        let store = Store::create(path, options)?;
        let index = |id, slot, unique| IndexDefinition {
            id: IndexId(id),
            unique,
            descending: false,
            parts: vec![KeyPart { source: KeySource::Column(slot), collation: Collation(0) }],
            condition: None,
            active: true,
        };
        let layout = Arc::new(RelationLayout {
            id: RelationId(128),
            formats: vec![RecordFormat::new(vec![SqlType::BIGINT, SqlType::BIGINT])],
            current: 0,
            added_defaults: Vec::new(),
            indexes: if indexed { vec![index(1, 0, true), index(2, 1, false)] } else { Vec::new() },
            codec: None,
            temporary: None,
        });
        store.register_layout(Arc::clone(&layout));
        Ok(Bench { store, layout, path: path.to_owned() })
    }

    fn begin(&self) -> Outcome<Transaction> {
        Ok(self.store.begin(TransactionOptions::default(), CancelFlag::new())?)
    }

    fn insert(&self, rows: i64) -> Outcome<Transaction> {
        let began = Instant::now();
        let transaction = self.begin()?;
        for id in 0..rows {
            if id % (rows / 10).max(1) == 0 {
                self.report(&format!("{id} inserted"), began);
            }
            let scattered = id.wrapping_mul(2_654_435_761) % 1_000_003;
            transaction.insert(&self.layout, &mut [Value::integer(id), Value::integer(scattered)])?;
        }
        self.report("inserted", began);
        Ok(transaction)
    }

    fn change_all(&self, delete: bool) -> Outcome<Transaction> {
        let began = Instant::now();
        let transaction = self.begin()?;
        let view = transaction.view()?;
        let mut scan = RelationScan::new(Arc::clone(&self.layout), view.clone(), Projection::all());
        let mut batch = RowBatch::new();
        let mut count = 0_u64;
        while scan.next_batch(&transaction, 1_000, &mut batch)? {
            for index in 0..batch.len() {
                let row_id = batch.row_id(index);
                if delete {
                    transaction.delete(&self.layout, &view, row_id)?;
                } else {
                    let mut row = [batch.value(index, 0), Value::integer(-(count as i64))];
                    transaction.update(&self.layout, &view, row_id, &mut row)?;
                }
                count += 1;
                if count.is_multiple_of(1_000_000) {
                    self.report(&format!("{count} changed"), began);
                }
            }
        }
        Ok(transaction)
    }

    /// How long commits of single rows take while the sweep works, and while it does not.
    fn writers(&self, rows: i64) -> Outcome<()> {
        self.insert(rows)?.commit()?;
        self.sweep_all()?;
        self.change_all(false)?.commit()?;
        let commit_while = |first: i64, going_on: &(dyn Fn() -> bool + Sync)| -> Outcome<Vec<Duration>> {
            let mut times = Vec::new();
            while going_on() {
                let transaction = self.begin()?;
                let id = first + times.len() as i64;
                transaction.insert(&self.layout, &mut [Value::integer(-id), Value::integer(id)])?;
                let began = Instant::now();
                transaction.commit()?;
                times.push(began.elapsed());
                std::thread::sleep(PAUSE_BETWEEN_COMMITS);
            }
            times.sort_unstable();
            Ok(times)
        };
        let until = Instant::now() + ALONE;
        tell_times("commits alone", &commit_while(rows, &|| Instant::now() < until)?);
        let swept = AtomicBool::new(false);
        let (mut steps, times) = std::thread::scope(|scope| -> Outcome<_> {
            let sweep = scope.spawn(|| {
                let mut steps = Vec::new();
                let mut idle = 0;
                while idle < 4 {
                    let began = processor_time();
                    if self.store.sweep(1).expect("a sweep") == 0 {
                        idle += 1;
                    } else {
                        idle = 0;
                        steps.push(processor_time() - began);
                    }
                    // Commits of the other thread are something to do each time.
                    if steps.len() as i64 > 64 + rows / 200 {
                        break;
                    }
                }
                swept.store(true, Ordering::SeqCst);
                steps
            });
            let times = commit_while(2 * rows, &|| !swept.load(Ordering::SeqCst))?;
            Ok((sweep.join().expect("the sweep"), times))
        })?;
        steps.sort_unstable();
        tell_times("commits beside the sweep", &times);
        tell_times("steps of the sweep", &steps);
        Ok(())
    }

    fn refill(&self, rows: i64) -> Outcome<()> {
        let began = Instant::now();
        for round in 1..=5 {
            self.insert(rows)?.commit()?;
            self.report(&format!("round {round}: filled"), began);
            self.change_all(true)?.commit()?;
            self.sweep_all()?;
            self.report(&format!("round {round}: emptied"), began);
        }
        Ok(())
    }

    /// Updates of the same 1,000 rows in transactions of 100, while the sweep runs as in the background.
    fn churn(&self, updates: i64) -> Outcome<()> {
        let began = Instant::now();
        self.insert(1_000)?.commit()?;
        self.sweep_all()?;
        self.report("filled", began);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| -> Outcome<()> {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    self.store.sweep(8).expect("a sweep");
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let result = self.update_for(updates, began);
            done.store(true, Ordering::SeqCst);
            result
        })
    }

    fn update_for(&self, updates: i64, began: Instant) -> Outcome<()> {
        let mut reader = None;
        let view = self.begin()?.view()?;
        let mut row_ids = Vec::new();
        let mut scan = RelationScan::new(Arc::clone(&self.layout), view, Projection::of([]));
        let mut batch = RowBatch::new();
        let transaction = self.begin()?;
        while scan.next_batch(&transaction, 1_000, &mut batch)? {
            row_ids.extend((0..batch.len()).map(|index| batch.row_id(index)));
        }
        drop((transaction, scan));
        let mut slowest = Duration::ZERO;
        let mut transaction = self.begin()?;
        for update in 0..updates {
            if update == updates / 4 {
                let snapshot = self.begin()?;
                reader = Some((snapshot.view()?, snapshot));
            }
            if update == updates * 3 / 4 {
                reader = None;
            }
            let row_id = row_ids[(update.wrapping_mul(7_919) % 1_000) as usize];
            let view = transaction.view()?;
            let mut row = [Value::integer(row_id.0 as i64), Value::integer(update)];
            transaction.update(&self.layout, &view, row_id, &mut row)?;
            if update % 100 == 99 {
                let commit = Instant::now();
                std::mem::replace(&mut transaction, self.begin()?).commit()?;
                drop(std::mem::replace(&mut transaction, self.begin()?));
                slowest = slowest.max(commit.elapsed());
            }
            if update % (updates / 10).max(1) == 0 {
                self.report(&format!("{update} updates, slowest commit {slowest:?}"), began);
                slowest = Duration::ZERO;
            }
        }
        drop(reader);
        Ok(transaction.commit().map(drop)?)
    }

    /// Sweeps until nothing is left, and says how long the steps took: of the processor's time, since others use it too.
    fn sweep_all(&self) -> Outcome<()> {
        let mut times = Vec::new();
        let mut idle = 0;
        // Single steps may find nothing while a round is under way.
        while idle < 4 {
            let began = processor_time();
            if self.store.sweep(1)? == 0 {
                idle += 1;
            } else {
                idle = 0;
                times.push(processor_time() - began);
            }
        }
        times.sort_unstable();
        tell_times("sweep", &times);
        Ok(())
    }

    fn count(&self) -> Outcome<u64> {
        let transaction = self.begin()?;
        let view = transaction.view()?;
        Ok(transaction.count_rows(&self.layout, &view)?)
    }

    fn report(&self, what: &str, since: Instant) {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) >> 10
        };
        let file = std::fs::metadata(&self.path).map_or(0, |file| file.len() >> 20);
        println!(
            "{what}: {:.1} s, memory {} MB (at most {} MB), file {file} MB",
            since.elapsed().as_secs_f64(),
            memory("VmRSS"),
            memory("VmHWM")
        );
    }
}

/// The other thread's pause after each commit, and for how long it commits alone.
const PAUSE_BETWEEN_COMMITS: Duration = Duration::from_millis(1);
const ALONE: Duration = Duration::from_secs(3);

/// Tells the distribution of sorted times.
fn tell_times(what: &str, times: &[Duration]) {
    let at = |share: f64| {
        let place = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        times.get(place).copied().unwrap_or_default()
    };
    println!(
        "  {what}: {} in {:.1?}, median {:.1?}, 99 % {:.1?}, 99.9 % {:.1?}, slowest {:.1?}",
        times.len(),
        times.iter().sum::<Duration>(),
        at(0.5),
        at(0.99),
        at(0.999),
        times.last().copied().unwrap_or_default()
    );
}

/// What this thread has had of the processor.
fn processor_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.try_into().unwrap_or(0), used.tv_nsec.try_into().unwrap_or(0))
}
