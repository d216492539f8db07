//! `romer fleet plan`: checks, shows and compares plans.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use romer_fleet::diff::{PlanDiff, diff};
use romer_fleet::plan::{Expansion, MAX_PLAN_OCTETS, Pair, Plan, PlanSummary, parse};
use romer_fleet::{AgentPlan, Day, Token};
use romer_record::Exit;
use romer_report::escape;
use romer_store::untrusted;
use romer_units::counted;

use super::traffic;
use crate::args::{PlanCheckArgs, PlanCommand, PlanDiffArgs, PlanOutputArgs, PlanShowArgs};
use crate::failure::Failure;
use crate::output;
use crate::runs::aligned;

/// Pairs that a difference lists at most; `--json` has all.
const MAX_LISTED_PAIRS: usize = 20;

/// Does what a subcommand of `romer fleet plan` does, and gives the exit code.
pub(super) fn run(command: &PlanCommand) -> Result<Exit, Failure> {
    match command {
        PlanCommand::Check(arguments) => check(arguments),
        PlanCommand::Show(arguments) => show(arguments),
        PlanCommand::Diff(arguments) => compare(arguments),
    }
}

/// A plan that can be carried out, and what follows from it on a day.
pub(super) struct CheckedPlan {
    pub(super) plan: Plan,
    pub(super) expansion: Expansion,
}

impl CheckedPlan {
    /// Reads the plan, and checks its traffic and its limits.
    pub(super) fn read(path: &Path, day: Day) -> Result<Self, Failure> {
        let shown = escape::path(path);
        output::read_from([path]);
        let octets = untrusted::read_named(path, MAX_PLAN_OCTETS).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => Failure::with_exit(
                Exit::BadData,
                format!("the plan is too long ({shown}): {error}; use several tenants"),
            ),
            _ => Failure::environment(format!(
                "the plan cannot be read ({shown}): {error}; check its path and rights"
            )),
        })?;
        let text = romer_scenario::decode(&octets).map_err(|why| {
            Failure::with_exit(Exit::BadData, format!("the plan cannot be used ({shown}): it {why}"))
        })?;
        let plan = parse(text, &shown).map_err(|error| {
            let (line, column) = (error.line, error.column);
            Failure::with_exit(Exit::BadData, error).at(line, column)
        })?;
        traffic::check(&plan, &shown)?;
        let expansion = plan
            .expand(day)
            .map_err(|error| Failure::with_exit(Exit::BadData, format!("{shown}: {error}")))?;
        Ok(Self { plan, expansion })
    }
}

/// The day that was requested, or today.
pub(super) fn day_of(arguments: &PlanOutputArgs) -> Day {
    arguments.day.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Day::of_unix_nanos(i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
    })
}

fn check(arguments: &PlanCheckArgs) -> Result<Exit, Failure> {
    arguments.output.document.check()?;
    let checked = CheckedPlan::read(&arguments.plan, day_of(&arguments.output))?;
    let summary = PlanSummary::new(&checked.plan, &checked.expansion);
    arguments.output.document.write(&size(&summary), &summary)?;
    Ok(Exit::Success)
}

fn show(arguments: &PlanShowArgs) -> Result<Exit, Failure> {
    arguments.output.document.check()?;
    let checked = CheckedPlan::read(&arguments.plan, day_of(&arguments.output))?;
    if let Some(name) = &arguments.agent {
        let agent = agent_of(&checked, name, &arguments.plan)?;
        arguments.output.document.write(&targets(agent), agent)?;
        return Ok(Exit::Success);
    }
    let summary = PlanSummary::new(&checked.plan, &checked.expansion);
    let text = size(&summary) + &agents(&summary);
    arguments.output.document.write(&text, &summary)?;
    Ok(Exit::Success)
}

fn agent_of<'p>(checked: &'p CheckedPlan, name: &Token, path: &Path) -> Result<&'p AgentPlan, Failure> {
    checked.expansion.agents.get(name).ok_or_else(|| {
        let known = checked.expansion.agents.keys().map(Token::as_str);
        let advice = romer_scenario::nearest(name.as_str(), known).map_or_else(
            || "see `romer fleet plan show FILE`".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        Failure::usage(format!(
            "no such agent (--agent {name}): the plan {} does not have it; {advice}",
            escape::path(path)
        ))
    })
}

fn compare(arguments: &PlanDiffArgs) -> Result<Exit, Failure> {
    arguments.output.document.check()?;
    let day = day_of(&arguments.output);
    let (old, new) = (CheckedPlan::read(&arguments.old, day)?, CheckedPlan::read(&arguments.new, day)?);
    let change = diff((&old.plan, &old.expansion), (&new.plan, &new.expansion));
    arguments.output.document.write(&changes(&change), &change)?;
    Ok(Exit::Success)
}

/// The size of a plan, and the agent with the highest load.
fn size(summary: &PlanSummary) -> String {
    let mut text = format!(
        "revision {}: {} at {}, {}\n",
        summary.revision,
        counted(summary.agents.len() as u64, "agent"),
        counted(summary.sites as u64, "site"),
        counted(summary.pairs as u64, "pair"),
    );
    if summary.has_levels {
        text.push_str(&format!("pairs of {} (UTC): large groups have other pairs every day\n", summary.day));
    }
    if let Some(busiest) = summary.agents.iter().max_by_key(|agent| agent.bytes_per_second) {
        text.push_str(&format!(
            "highest load: {} sends {} probes and replies/s, {} B/s\n",
            busiest.agent, busiest.probes_per_second, busiest.bytes_per_second
        ));
    }
    text
}

/// The agents with their loads.
fn agents(summary: &PlanSummary) -> String {
    let mut lines =
        vec![["agent", "site", "pairs", "owned", "probes/s", "limit", "B/s", "limit"].map(str::to_owned)];
    lines.extend(summary.agents.iter().map(|one| {
        [
            one.agent.to_string(),
            one.site.to_string(),
            one.pairs.to_string(),
            one.owned.to_string(),
            one.probes_per_second.to_string(),
            one.limits.probes_per_second.to_string(),
            one.bytes_per_second.to_string(),
            one.limits.bytes_per_second.to_string(),
        ]
    }));
    aligned(&lines)
}

/// The targets of an agent.
fn targets(agent: &AgentPlan) -> String {
    let mut text = format!(
        "{} at {}: {}, replies to {}\n",
        agent.agent,
        agent.site,
        counted(agent.targets.len() as u64, "target"),
        counted(agent.initiators.len() as u64, "agent"),
    );
    if agent.targets.is_empty() {
        return text;
    }
    let mut lines = vec![["target", "site", "traffic", "phase", "address"].map(str::to_owned)];
    lines.extend(agent.targets.iter().map(|one| {
        [
            one.agent.to_string(),
            one.site.to_string(),
            one.traffic.to_string(),
            one.phase_ns.rounded(),
            escape::terminal(&one.address),
        ]
    }));
    text.push_str(&aligned(&lines));
    text
}

/// What changes, in lines that begin with +, - or ~.
fn changes(change: &PlanDiff) -> String {
    let mut text = format!("revision {} to {}\n", change.from_revision, change.to_revision);
    for (sign, what, names) in [
        ('+', "agent", &change.agents_added),
        ('-', "agent", &change.agents_removed),
        ('~', "agent", &change.agents_changed),
        ('+', "traffic", &change.traffic_added),
        ('-', "traffic", &change.traffic_removed),
        ('~', "traffic", &change.traffic_changed),
    ] {
        text.extend(names.iter().map(|name| format!("{sign} {what} {name}\n")));
    }
    for (changed, what) in [(change.limits_changed, "limits"), (change.retention_changed, "retention")] {
        if changed {
            text.push_str(&format!("~ {what}\n"));
        }
    }
    for (sign, pairs) in [('+', &change.pairs_added), ('-', &change.pairs_removed)] {
        let line =
            |pair: &Pair| format!("{sign} pair {} to {}, {}\n", pair.owner, pair.responder, pair.traffic);
        text.extend(pairs.iter().take(MAX_LISTED_PAIRS).map(line));
        if let Some(more) = pairs.len().checked_sub(MAX_LISTED_PAIRS).filter(|more| *more > 0) {
            text.push_str(&format!("{sign} {more} more pairs (--json lists all)\n"));
        }
    }
    if change.is_empty() {
        text.push_str("no other change\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../../../../../packaging/fleet.toml");

    fn checked(text: &str) -> CheckedPlan {
        let plan = parse(text, "fleet.toml").unwrap();
        let expansion = plan.expand(Day(20_787)).unwrap();
        CheckedPlan { plan, expansion }
    }

    /// The text has the size of the plan, the loads of all agents, and the targets of one.
    #[test]
    fn plans_are_shown() {
        let checked = checked(EXAMPLE);
        let summary = PlanSummary::new(&checked.plan, &checked.expansion);
        let text = size(&summary);
        assert!(
            text.starts_with(
                "revision 1: 5 agents at 3 sites, 13 pairs\nhighest load: fra-1 sends 154 probes"
            ),
            "{text}"
        );
        let text = agents(&summary);
        assert_eq!(text.lines().count(), 6, "{text}");
        let owned: usize = checked
            .expansion
            .agents
            .values()
            .map(|agent| targets(agent).lines().count().saturating_sub(2))
            .sum();
        assert_eq!(owned, 13);
        let error = agent_of(&checked, &"fra-9".parse().unwrap(), Path::new("fleet.toml")).unwrap_err();
        assert!(error.text().contains("did you mean fra-"), "{}", error.text());
    }

    /// Changes are listed by their sign; equal plans have none.
    #[test]
    fn changes_are_listed() {
        let old = checked(EXAMPLE);
        let new = checked(
            &EXAMPLE
                .replace("revision = 1", "revision = 2")
                .replace("fra-2 = \"192.0.2.2\"\n", "")
                .replace("size = 56", "size = 64"),
        );
        let between = |old: &CheckedPlan, new: &CheckedPlan| {
            changes(&diff((&old.plan, &old.expansion), (&new.plan, &new.expansion)))
        };
        let text = between(&old, &new);
        assert!(text.starts_with("revision 1 to 2\n- agent fra-2\n~ traffic basic\n- pair "), "{text}");
        assert_eq!(text.matches("- pair ").count(), 4, "{text}");
        assert_eq!(between(&old, &old), "revision 1 to 1\nno other change\n");
    }
}
