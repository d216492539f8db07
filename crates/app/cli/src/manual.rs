//! `romer manual`: the pages of the manual, the completions of shells, the reference of all options and the schema of a
//! benchmark's plan, from the same source as `--help`; and the schema of a scenario.

mod page;

use romer_record::Exit;
use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use crate::args::{Cli, ManualArgs};
use crate::bench::plan_schema::schema;
use crate::failure::Failure;
use crate::output;

/// Shells that have completions.
const SHELLS: [(Shell, &str); 3] =
    [(Shell::Bash, "romer.bash"), (Shell::Zsh, "_romer"), (Shell::Fish, "romer.fish")];

/// The schema of scenarios, for editors.
const SCENARIO_SCHEMA: (&str, &str) =
    ("romer-scenario.schema.json", include_str!("../../../../docs/scenario.schema.json"));
/// The schema of plans, for editors.
const PLAN_SCHEMA: &str = "romer-plan.schema.json";
/// The reference of all options.
const OPTIONS_PAGE: &str = "romer-options.md";

/// Writes everything into a folder, and gives the exit code.
pub(crate) fn run(arguments: &ManualArgs) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    let refused = |error: std::io::Error| {
        Failure::environment(format!(
            "cannot write the manual ({}): {error}; name a folder that can be written",
            romer_report::escape::terminal(&folder.to_string_lossy())
        ))
    };
    fs::create_dir_all(folder).map_err(refused)?;
    let mut command = Cli::command();
    command.build();
    pages(&command, &command, "romer", folder).map_err(refused)?;
    for (shell, file) in SHELLS {
        let mut script = Vec::new();
        generate(shell, &mut Cli::command(), "romer", &mut script);
        output::put_file(&folder.join(file), &script).map_err(refused)?;
    }
    output::put_file(&folder.join(OPTIONS_PAGE), crate::options_page::page().as_bytes()).map_err(refused)?;
    let mut plan = serde_json::to_string_pretty(&schema()).unwrap_or_default();
    plan.push('\n');
    output::put_file(&folder.join(PLAN_SCHEMA), plan.as_bytes()).map_err(refused)?;
    output::put_file(&folder.join(SCENARIO_SCHEMA.0), SCENARIO_SCHEMA.1.as_bytes()).map_err(refused)?;
    Ok(Exit::Success)
}

/// The page of `command` and those of the commands within it: `romer.1`, `romer-lab.1`, `romer-lab-up.1`.
fn pages(root: &Command, command: &Command, name: &str, folder: &Path) -> std::io::Result<()> {
    let page = page::page(root, command, name)?;
    output::put_file(&folder.join(format!("{name}.1")), &page)?;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        pages(root, inner, &format!("{name}-{}", inner.get_name()), folder)?;
    }
    Ok(())
}
