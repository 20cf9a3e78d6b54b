//! Where a run comes from: program, seed, machine and environment, and the one place that reads the clock.

use serde::{Deserialize, Serialize};
use std::fs;

/// The first thing to read in a run directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always `cgcmarl`.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// Name of the task.
    pub task: String,
    /// Such as `cg_cmarl`.
    pub algorithm: String,
    /// The root of all randomness.
    pub seed: u64,
    /// When the run began, in UTC.
    pub created: String,
    /// What it ran on.
    pub machine: Machine,
    /// The environment card: everything that makes two scores comparable.
    pub environment: serde_json::Value,
}

/// What a run ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu: String,
    /// Cores that the program may use.
    pub cores: usize,
    /// Operating system.
    pub os: String,
    /// Instruction set.
    pub architecture: String,
}

impl Manifest {
    /// The manifest of a run that begins now on this machine.
    pub fn new(task: &str, algorithm: &str, seed: u64, environment: serde_json::Value) -> Self {
        Self {
            program: "cgcmarl".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            task: task.into(),
            algorithm: algorithm.into(),
            seed,
            created: utc(unix_seconds() as u64),
            machine: Machine::here(),
            environment,
        }
    }
}

impl Machine {
    /// The machine this runs on.
    pub fn here() -> Self {
        Self {
            cpu: processor(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            os: std::env::consts::OS.into(),
            architecture: std::env::consts::ARCH.into(),
        }
    }
}

/// What the system tells of its processor: the name, and family and model, since hosts call processors of
/// different generations by one name.
fn processor(information: &str) -> String {
    let told = |wanted: &str| {
        let entries = information.lines().filter_map(|line| line.split_once(':'));
        let mut values = entries.filter(|(name, _)| name.trim() == wanted);
        values.next().map(|(_, value)| value.trim())
    };
    let name = told("model name").unwrap_or("unknown");
    match (told("cpu family"), told("model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name.to_owned(),
    }
}

/// Seconds that the threads of this pool have spent on a processor, which other work on the machine
/// does not lengthen; seconds since 1970 where the system does not tell. Only differences mean anything.
pub fn cpu_seconds() -> f64 {
    let of_threads = rayon::broadcast(|_| thread_cpu_seconds());
    of_threads.into_iter().sum::<Option<f64>>().unwrap_or_else(unix_seconds)
}

fn thread_cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}

/// Seconds since 1970; a clock before that reads 0.
#[expect(clippy::disallowed_types, reason = "run_dir is the one room that reads the clock")]
pub fn unix_seconds() -> f64 {
    std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

/// Seconds since 1970 as `2026-01-31T23:59:59Z` (days to a date as in Hinnant's `civil_from_days`).
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let era_day = days % 146_097;
    let era_year = (era_day - era_day / 1_460 + era_day / 36_524 - era_day / 146_096) / 365;
    let year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    let shifted_month = (5 * year_day + 2) / 153;
    let day = year_day - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era_year + days / 146_097 * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_of_one_name_are_told_apart() {
        let told = "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n";
        assert_eq!(processor(told), "AMD EPYC (family 26, model 2)");
        assert_eq!(processor("model name : Some core\n"), "Some core");
        assert_eq!(processor(""), "unknown");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_767_225_599), "2025-12-31T23:59:59Z");
    }

    #[test]
    fn a_manifest_is_read_back() {
        let manifest =
            Manifest::new("simple_spread", "cg_cmarl", 7, serde_json::json!({"dt": 0.1}));
        let text = serde_json::to_string(&manifest).unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
        assert!(manifest.machine.cores > 0 && manifest.created.ends_with('Z'));
    }
}
