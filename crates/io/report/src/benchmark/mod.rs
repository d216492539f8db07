//! The page of a benchmark: results, verdicts and charts.
//!
//! Figures are drawn here rather than by `chart`, which knows the few meanings of a measurement: a benchmark has a
//! line for each frame size or case.

mod bound;
mod discarded;
mod draw;
mod event;
mod figures;
mod header;
mod invalid;
mod judgement;
mod page;
mod results;
mod self_test;
mod stream_setup;
mod streams;
mod words;

use crate::escape;
use crate::sentence::Text;
pub use discarded::{discarded, events};
pub use draw::Drawn;
pub use figures::figures;
pub use judgement::{expected_text, observed_text, subject_text};
pub use page::page;
pub use results::is_burst_unbounded;
use romer_record::benchmark::Benchmark;
pub use self_test::{affected_results, tester_claims};
pub use streams::{StreamRow, markings, not_dropped, streams};
pub use words::{
    amount, difference_words, label, limit_words, mean_words, outlier_words, overall_words, verdict_words,
    warnings,
};

/// The results as comma-separated values, a line for each: to paste into a table.
pub fn csv(document: &Benchmark) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns = "case,frame_size,load_percent,quantity,count,mean,stddev,interval_low,interval_high,median,min,max,theoretical,bounded_by";
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let mut rows = document.results.iter().map(|result| {
        let [low, high] = result.interval.map_or([None, None], |ends| ends.map(Some));
        let numbers = [
            result.mean,
            result.stddev,
            low,
            high,
            result.median,
            result.min,
            result.max,
            result.theoretical,
        ];
        let mut row = vec![
            escape::terminal(&result.case),
            result.frame_size.map_or_else(String::new, |size| size.to_string()),
            number(result.load_percent),
            escape::terminal(&result.quantity),
            result.count.to_string(),
        ];
        row.extend(numbers.map(number));
        row.push(result.bounded_by.as_ref().map(Text::text).unwrap_or_default());
        row
    });
    let header = writer.write_record(columns.split(','));
    let written = header.and_then(|()| rows.try_for_each(|row| writer.write_record(row)));
    // Memory takes all that is written to it.
    let text = written.ok().and_then(|()| writer.into_inner().ok());
    text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
