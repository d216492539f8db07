//! Runs all plays of the rows.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use romer_clock::skew::Method;

use crate::judge::{Outcome, judge};
use crate::row::{Figures, Row};
use crate::{csv, page, rows};

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Plays of each row; rows of long runs have fewer.
    pub plays: u32,
    /// Seed of the first play; the next has the next.
    pub first_seed: u32,
    /// Parts of names of rows; all rows if empty.
    pub rows: Vec<String>,
    /// Methods as `--skew` takes them. The first is the reference of the others.
    pub methods: Vec<String>,
    /// Threads.
    pub threads: usize,
}

/// The figures of all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    plan: Plan,
    figures: Vec<Figures>,
}

impl Results {
    /// The page, in Markdown.
    pub fn page(&self) -> String {
        page::page(&self.plan, &self.figures)
    }

    /// Writes the page and the figures of each row and method to `clock-events.md` and `clock-events.csv` of a folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let files = [("clock-events.md", self.page()), ("clock-events.csv", csv::rows(&self.figures))];
        for (name, text) in files {
            let file = folder.join(name);
            std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }

    /// The outcome of each play, as CSV with a header.
    pub fn plays_csv(&self) -> String {
        csv::plays(&self.figures)
    }
}

/// Runs a plan. `progress` receives a line for each row and method.
///
/// # Errors
/// If no row has one of the names, a method does not exist, or `interrupted` is set.
pub fn run(plan: &Plan, interrupted: &AtomicBool, progress: &dyn Fn(&str)) -> Result<Results> {
    let is_wanted = |row: &Row| plan.rows.is_empty() || plan.rows.iter().any(|part| row.name.contains(part));
    let rows: Vec<Row> = rows::all().into_iter().filter(is_wanted).collect();
    if rows.is_empty() {
        bail!("no row has a name that contains {}; omit --row to run all", plan.rows.join(" or "));
    }
    if let Some(error) = plan.methods.iter().find_map(|name| name.parse::<Method>().err()) {
        bail!(error);
    }
    let mut figures = Vec::new();
    for row in &rows {
        for method in &plan.methods {
            let one = figures_of(row, method, plan, interrupted);
            if interrupted.load(Ordering::Acquire) {
                bail!("interrupted");
            }
            progress(&page::progress(&one));
            figures.push(one);
        }
    }
    Ok(Results { plan: plan.clone(), figures })
}

fn figures_of(row: &Row, method: &str, plan: &Plan, interrupted: &AtomicBool) -> Figures {
    let plays = plan.plays.min(row.most_plays);
    let (next, outcomes, began) = (AtomicU32::new(0), Mutex::new(Vec::new()), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..plan.threads.max(1) {
            scope.spawn(|| {
                let mut own: Vec<Outcome> = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= plays || interrupted.load(Ordering::Acquire) {
                        break;
                    }
                    let seed = plan.first_seed.saturating_add(number);
                    own.push(judge(method, &(row.make)(seed), seed, row.tolerance));
                }
                if let Ok(mut all) = outcomes.lock() {
                    all.append(&mut own);
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_default();
    outcomes.sort_by_key(|outcome| outcome.seed);
    Figures {
        row: row.name.clone(),
        method: method.into(),
        has_rate: row.has_rate,
        outcomes,
        seconds: began.elapsed().as_secs_f64(),
    }
}
