//! Stated limits on results (`--limit 'throughput_percent>=90%'`) and whether they held.

use std::fmt;
use std::str::FromStr;

use romer_method::campaign::Procedure;
use romer_record::benchmark::{Benchmark, BenchmarkResult};
use romer_record::document;
use romer_record::limit::{self, Relation, Written};
use romer_record::metric::Unit;
use romer_record::quantity::{QUANTITIES, QUANTITY_STATISTICS, Quantity};

use crate::document::quantities_of;
use crate::error::LIMIT_SUBJECT;

/// A limit on one quantity in all its results: of every case, size and load.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultLimit {
    text: String,
    quantity: &'static str,
    statistic: String,
    relation: Relation,
    bound: f64,
}

impl FromStr for ResultLimit {
    type Err = String;

    /// Reads `QUANTITY[.STATISTIC] RELATION BOUND`, such as `loss_ratio<=0.1%` or `latency_mean_ns.max<200us`.
    fn from_str(text: &str) -> Result<Self, String> {
        let Written { shown, path, relation, bound } =
            limit::written(text, LIMIT_SUBJECT, "loss_ratio<=0.1%")?;
        let (name, statistic) = path.split_once('.').unwrap_or((path, "mean"));
        let quantity = Quantity::named(name).ok_or_else(|| {
            // Those that begin alike, such as latency_p99_ns for latency_p99; else all.
            let begin = name.split('_').next().unwrap_or_default();
            let known = QUANTITIES.map(|quantity| quantity.name);
            let alike: Vec<&str> =
                known.into_iter().filter(|known| !begin.is_empty() && known.starts_with(begin)).collect();
            let proposed = if alike.is_empty() { known.join(", ") } else { alike.join(", ") };
            format!("{shown:?}: unknown quantity {name:?}; choose one of {proposed}")
        })?;
        if !QUANTITY_STATISTICS.contains(&statistic) {
            return Err(format!(
                "{shown:?}: unknown statistic {statistic:?}; choose one of {}",
                QUANTITY_STATISTICS.join(", ")
            ));
        }
        let bound = limit::bound(quantity.unit, bound).map_err(|why| format!("{shown:?}: {why}"))?;
        if quantity.unit == Unit::Ratio && !(0.0..=1.0).contains(&bound) {
            return Err(format!(
                "{shown:?}: a loss ratio is from 0 % to 100 %; write for instance 1% or 0.01"
            ));
        }
        Ok(Self { text: text.into(), quantity: quantity.name, statistic: statistic.into(), relation, bound })
    }
}

impl fmt::Display for ResultLimit {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl ResultLimit {
    /// Refuses a limit on what the procedure of this name does not find, and which therefore could not hold.
    ///
    /// # Errors
    /// What it finds, in words.
    pub fn check(&self, procedure: &Procedure, name: &str) -> Result<(), String> {
        let found = quantities_of(procedure);
        if found.contains(&self.quantity) {
            return Ok(());
        }
        Err(format!(
            "no such quantity (--limit {}): {name} measures {}; limit one of these",
            self.text,
            found.join(", ")
        ))
    }

    /// The verdicts of `limits`, each with the value that is worst for it. What was not found does not hold; where nothing of
    /// what was found breaks the limit and not all was found, there is no such value.
    pub fn judge_all(limits: &[Self], document: &Benchmark) -> Vec<document::Limit> {
        limits.iter().map(|limit| limit.evaluate(&document.results, !document.partial)).collect()
    }

    fn evaluate(&self, results: &[BenchmarkResult], whole: bool) -> document::Limit {
        let here = results.iter().filter(|result| result.quantity == self.quantity);
        let values: Vec<Option<f64>> = here.map(|result| self.value_of(result)).collect();
        let known = values.iter().flatten().copied();
        let worst = match self.relation {
            Relation::Below | Relation::AtMost => known.reduce(f64::max),
            Relation::Above | Relation::AtLeast => known.reduce(f64::min),
        };
        let all = whole && !values.is_empty() && values.iter().all(Option::is_some);
        let within = worst.is_some_and(|value| self.relation.holds(value, self.bound));
        let value = worst.filter(|_| all || !within);
        document::Limit { limit: self.text.clone(), value, passed: all && within }
    }

    fn value_of(&self, result: &BenchmarkResult) -> Option<f64> {
        match self.statistic.as_str() {
            "min" => result.min,
            "max" => result.max,
            "median" => result.median,
            "stddev" => result.stddev,
            _ => result.mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_result_decides() {
        let result =
            |mean| BenchmarkResult { quantity: "loss_ratio".into(), mean, ..BenchmarkResult::default() };
        let judge = |text: &str, means: &[Option<f64>]| {
            let limit: ResultLimit = text.parse().unwrap();
            limit.evaluate(&means.iter().map(|mean| result(*mean)).collect::<Vec<_>>(), true)
        };
        let two = [Some(0.001), Some(0.02)];
        assert_eq!(
            (judge("loss_ratio<=2%", &two).passed, judge("loss_ratio<2%", &two).passed),
            (true, false)
        );
        assert_eq!(judge("loss_ratio<1%", &two).value, Some(0.02));
        assert_eq!(judge("loss_ratio>0%", &two).value, Some(0.001));
        assert!(!judge("loss_ratio<=2%", &[Some(0.0), None]).passed, "what is not known does not hold");
        assert!(!judge("loss_ratio<=2%", &[]).passed);
    }

    #[test]
    fn an_interrupted_benchmark_breaks_only_what_was_exceeded() {
        let limit: ResultLimit = "loss_ratio<=1%".parse().unwrap();
        let judge = |means: &[f64], partial: bool| {
            let result = |mean: &f64| BenchmarkResult {
                quantity: "loss_ratio".into(),
                mean: Some(*mean),
                ..BenchmarkResult::default()
            };
            let results: Vec<_> = means.iter().map(result).collect();
            let found = limit.evaluate(&results, !partial);
            (found.passed, found.value)
        };
        assert_eq!(judge(&[0.0, 0.005], false), (true, Some(0.005)));
        assert_eq!(judge(&[0.0, 0.005], true), (false, None), "the rest may exceed it");
        assert_eq!(judge(&[0.0, 0.02], true), (false, Some(0.02)), "it is exceeded whatever comes");
    }

    /// Trials and searches come to the quantities that can be limited.
    #[test]
    fn results_have_known_quantities() {
        let mut found: Vec<&str> = crate::document::every_quantity().collect();
        let mut known = QUANTITIES.map(|quantity| quantity.name);
        found.sort_unstable();
        known.sort_unstable();
        assert_eq!(found, known);
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_there_is() {
        for (text, part) in [
            ("loss_ratio", "has no comparison"),
            ("who<1%", "choose one of throughput_percent"),
            ("los<1%", "choose one of loss_ratio"),
            ("latency.p99<2ms", "choose one of mean"),
            ("latency.p99<2ms", "choose one of mean"),
            ("loss_ratio.p98<1%", "choose one of mean"),
            ("loss_ratio<5", "write 5% or 0.05"),
            ("loss_ratio<=200%", "from 0 % to 100 %"),
            ("latency_mean_ns<5", "unit"),
            ("throughput_pps>=many", "not a number"),
        ] {
            let why = text.parse::<ResultLimit>().unwrap_err();
            assert!(why.contains(part), "{text:?}: {why}");
        }
        assert!("throughput_percent>=90%".parse::<ResultLimit>().is_ok());
        assert!("latency_p99_ns.max<2ms".parse::<ResultLimit>().is_ok());
        assert_eq!("loss.max<=1%".parse::<ResultLimit>().unwrap().quantity, "loss_ratio");
    }
}
