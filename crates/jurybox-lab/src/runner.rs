//! Runs experiments on all cores, and keeps finished runs on disk if a folder is given.
//!
//! A run depends on its setting, contenders, seed and number only, so that results do not depend on
//! threads. A run that a file in the folder holds is not repeated.

use crate::contender::Contender;
use crate::error::Error;
use crate::setting::Setting;
use crate::trial::{RunRecord, trial};
use jurybox::toolbox::hash_text;
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A setting, its contenders, and the number of runs.
///
/// ```
/// use jurybox_lab::{Contender, Experiment, Setting};
///
/// let experiment = Experiment {
///     setting: Setting { rounds: 20, ..Setting::default() },
///     contenders: vec![Contender::of("esag".parse()?), Contender::of("uniform".parse()?)],
///     seed: 1,
///     runs: 2,
/// };
/// experiment.check()?;
/// # Ok::<(), jurybox_lab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Experiment {
    /// The simulated queue.
    pub setting: Setting,
    /// The policies.
    pub contenders: Vec<Contender>,
    /// Seed of everything random.
    pub seed: u64,
    /// Number of independent runs.
    pub runs: u64,
}

/// Largest number of runs.
const MOST_RUNS: u64 = 100_000;

impl Experiment {
    /// Errors if the setting or a policy cannot be simulated, if the number of runs is out of
    /// bounds, or if the list of policies is empty or names one twice. Simulates nothing.
    pub fn check(&self) -> Result<(), Error> {
        self.setting.check()?;
        if self.runs == 0 {
            return Err(Error::setting("runs", 0, "there must be at least one"));
        }
        if self.runs > MOST_RUNS {
            return Err(Error::setting("runs", self.runs, format!("at most {MOST_RUNS} can be simulated")));
        }
        if self.contenders.is_empty() {
            return Err(Error::setting("policies", "none", "name at least one"));
        }
        for (at, contender) in self.contenders.iter().enumerate() {
            contender.check(&self.setting)?;
            if self.contenders[..at].iter().any(|other| other.label == contender.label) {
                return Err(Error::setting("policies", &contender.label, "is named twice"));
            }
        }
        Ok(())
    }

    /// The name of the experiment's folder: a hash of everything that its records depend on. The
    /// number of runs is not part of it, so that a call for more runs adds to the finished ones.
    fn key(&self) -> String {
        let work = (env!("CARGO_PKG_VERSION"), FORMAT, &self.setting, &self.contenders, self.seed);
        // Earlier builds wrote the field `extensions` as "twists". The old name is hashed, so that
        // their folders are found.
        let json = serde_json::to_string(&work).expect("plain data");
        format!("{:016x}", hash_text(&json.replacen("\"extensions\":", "\"twists\":", 1)))
    }
}

/// Version of the simulation, raised when the same experiment would give other records.
const FORMAT: u32 = 5;

/// Options of [`run_all`]: where to keep runs, and how to follow and stop the work.
///
/// ```
/// let how = jurybox_lab::Running::default();
/// assert!(how.keep.is_none());
/// ```
#[derive(Default)]
pub struct Running<'a> {
    /// Folder to which finished runs are written, and from which they are read if they are there.
    pub keep: Option<&'a Path>,
    /// Called after each finished run, from any thread, with the number of finished runs and the
    /// number of all runs. A run that is read from the folder counts as finished.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Set to true to stop: `run_all` then returns [`Error::Interrupted`] unless all runs are
    /// finished.
    pub stop: Option<&'a AtomicBool>,
}

/// Simulates every run of every experiment. Returns the records of each experiment in the order of
/// its runs.
///
/// ```
/// use jurybox_lab::{Contender, Experiment, Running, Setting, run_all};
///
/// let setting = Setting { rounds: 20, ..Setting::default() };
/// let contenders = vec![Contender::of("esag".parse()?)];
/// let experiment = Experiment { setting, contenders, seed: 1, runs: 3 };
/// let records = run_all(&[experiment], &Running::default())?;
/// assert_eq!(records[0].len(), 3);
/// # Ok::<(), jurybox_lab::Error>(())
/// ```
pub fn run_all(experiments: &[Experiment], how: &Running<'_>) -> Result<Vec<Vec<RunRecord>>, Error> {
    let mut folders = Vec::new();
    for experiment in experiments {
        experiment.check()?;
        folders.push(folder_of(experiment, how.keep)?);
    }
    // Experiments with long runs first, so that no long run is left for a single core at the end.
    let mut jobs: Vec<(usize, u64)> =
        experiments.iter().enumerate().flat_map(|(at, e)| (0..e.runs).map(move |run| (at, run))).collect();
    jobs.sort_by_key(|&(at, run)| {
        let Experiment { setting, contenders, .. } = &experiments[at];
        (std::cmp::Reverse(setting.items as u64 * setting.rounds * contenders.len() as u64), at, run)
    });
    let (total, done) = (jobs.len(), AtomicUsize::new(0));
    let never = AtomicBool::new(false);
    let stop = how.stop.unwrap_or(&never);
    let finished: Vec<Option<RunRecord>> = jobs
        .par_iter()
        .with_max_len(1)
        .map(|&(at, run)| {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let record = one(&experiments[at], run, folders[at].as_deref(), stop)?;
            if record.is_some() {
                let done = 1 + done.fetch_add(1, Ordering::Relaxed);
                if let Some(progress) = how.progress {
                    progress(done, total);
                }
            }
            Ok(record)
        })
        .collect::<Result<_, Error>>()?;
    let done = finished.iter().flatten().count();
    if done < total {
        return Err(Error::Interrupted { done, total });
    }
    let mut records: Vec<Vec<(u64, RunRecord)>> = experiments.iter().map(|_| Vec::new()).collect();
    for ((at, run), record) in jobs.into_iter().zip(finished.into_iter().flatten()) {
        records[at].push((run, record));
    }
    Ok(records
        .into_iter()
        .map(|mut runs| {
            runs.sort_by_key(|(run, _)| *run);
            runs.into_iter().map(|(_, record)| record).collect()
        })
        .collect())
}

/// Creates the experiment's folder under `keep` and writes its description there. None without
/// `keep`.
fn folder_of(experiment: &Experiment, keep: Option<&Path>) -> Result<Option<PathBuf>, Error> {
    let Some(keep) = keep else { return Ok(None) };
    let folder = keep.join(experiment.key());
    fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let about = folder.join("experiment.json");
    let text = serde_json::to_string_pretty(&experiment).expect("plain data");
    fs::write(&about, text).map_err(Error::file(&about))?;
    Ok(Some(folder))
}

fn one(
    e: &Experiment,
    run: u64,
    folder: Option<&Path>,
    stop: &AtomicBool,
) -> Result<Option<RunRecord>, Error> {
    let path = folder.map(|folder| folder.join(format!("{run}.json")));
    kept(path.as_deref(), || trial(&e.setting, &e.contenders, e.seed, run, stop))
}

/// The value in a file, or else the result of `work`, which is then written to the file. None if
/// `work` returns None, as after a stop. Without a path nothing is read or written.
pub(crate) fn kept<T: Serialize + DeserializeOwned>(
    path: Option<&Path>,
    work: impl FnOnce() -> Result<Option<T>, Error>,
) -> Result<Option<T>, Error> {
    if let Some(path) = path
        && let Ok(text) = fs::read(path)
        && let Ok(done) = serde_json::from_slice(&text)
    {
        return Ok(Some(done));
    }
    let Some(done) = work()? else { return Ok(None) };
    if let Some(path) = path {
        // Written under another name first: a file with the final name is complete.
        let part = path.with_extension("part");
        fs::write(&part, serde_json::to_vec(&done).expect("plain data")).map_err(Error::file(&part))?;
        fs::rename(&part, path).map_err(Error::file(path))?;
    }
    Ok(Some(done))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(runs: u64) -> Experiment {
        let setting = Setting { rounds: 120, items: 20, k: 5, ..Setting::default() };
        let contenders =
            ["esag", "eps-greedy", "exp4p"].map(|name| Contender::of(name.parse().unwrap())).to_vec();
        Experiment { setting, contenders, seed: 9, runs }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("jurybox-lab-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn one_thread_and_many_give_the_same_records() {
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run_all(&[experiment(6)], &Running::default()).unwrap())
        };
        assert_eq!(on(1), on(3));
    }

    #[test]
    fn what_was_finished_is_kept_and_taken_up_again() {
        let keep = folder("resume");
        let straight = run_all(&[experiment(5)], &Running::default()).unwrap();
        // Stop after the second run, as Ctrl-C would.
        let stop = AtomicBool::new(false);
        let progress = |done: usize, _: usize| {
            if done == 2 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let how = Running { keep: Some(&keep), progress: Some(&progress), stop: Some(&stop) };
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let stopped = one_thread.install(|| run_all(&[experiment(5)], &how)).unwrap_err();
        assert!(matches!(stopped, Error::Interrupted { done: 2, total: 5 }), "{stopped}");

        let from_disk = experiment(5).key();
        let kept = |run: u64| keep.join(&from_disk).join(format!("{run}.json"));
        let first = fs::metadata(kept(0)).unwrap().modified().unwrap();
        assert!(!kept(4).exists());
        let again = run_all(&[experiment(5)], &Running { keep: Some(&keep), ..Running::default() }).unwrap();
        assert_eq!(again, straight);
        assert_eq!(fs::metadata(kept(0)).unwrap().modified().unwrap(), first);
        // A truncated file is ignored: its run is repeated.
        fs::write(kept(3), "{\"rounds\":[1").unwrap();
        let again = run_all(&[experiment(5)], &Running { keep: Some(&keep), ..Running::default() }).unwrap();
        assert_eq!(again, straight);
        fs::remove_dir_all(keep).unwrap();
    }

    #[test]
    fn other_work_has_another_key_and_more_runs_do_not() {
        let base = experiment(5);
        let mut other = base.clone();
        other.setting.ratio = 0.2;
        assert_ne!(base.key(), other.key());
        assert_eq!(base.key(), experiment(50).key());
    }

    #[test]
    fn bad_experiments_are_refused() {
        let mut twice = experiment(1);
        twice.contenders.push(twice.contenders[0].clone());
        assert!(twice.check().unwrap_err().to_string().contains("named twice"));
        assert!(experiment(0).check().unwrap_err().to_string().contains("runs = 0"));
    }
}
