//! Writes the report of a made-up run into a folder, to be looked at: `cargo run --example sample_report -- FOLDER`.
#![expect(clippy::print_stdout, reason = "it is a program")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::path::PathBuf;

use romer_report::{html, svg, text};

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("name the folder to write into")?.into();
    std::fs::create_dir_all(&folder)?;
    for (name, path) in [("good", common::good()), ("bad", common::bad()), ("hostile", common::hostile())] {
        let made = common::make(&path);
        std::fs::write(folder.join(format!("{name}.html")), html::report(&[made.stream()])?)?;
        for chart in svg::charts(&made.stream())? {
            std::fs::write(folder.join(format!("{name}-{}.svg", chart.name)), chart.svg)?;
        }
        let style = text::TextStyle { color: true, ..text::TextStyle::default() };
        println!("{}", text::summary(&[made.measurement], Some(&folder), &style, false));
    }
    Ok(())
}
