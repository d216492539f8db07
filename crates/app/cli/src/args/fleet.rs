//! Arguments of `romer fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use romer_fleet::{Day, Token};

use super::shared::DocumentArgs;
use crate::values;

/// Arguments of `romer fleet`.
#[derive(Debug, Args)]
#[command(
    long_about = "Plan which hosts of a fleet measure each other.\n\n\
        A plan is a TOML file: sites, agents, groups, traffic and limits. From it follow the pairs of agents, and what each agent does.",
    after_help = "Examples:\n  romer fleet plan check fleet.toml\n  romer fleet plan show fleet.toml --agent fra-1\n  \
        romer fleet plan diff old.toml new.toml"
)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

/// Subcommands of `romer fleet`.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Check, show and compare plans
    #[command(subcommand)]
    Plan(PlanCommand),
}

/// Subcommands of `romer fleet plan`.
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Check a plan: its keys, its traffic, and the limits of all agents
    Check(PlanCheckArgs),
    /// List the agents of a plan with their loads, or the targets of one agent
    Show(PlanShowArgs),
    /// List what changes from one plan to another
    Diff(PlanDiffArgs),
}

/// The day, and where results go.
#[derive(Debug, Args)]
pub(crate) struct PlanOutputArgs {
    /// Day for which the pairs of large groups are chosen, such as 2026-11-30 [default: today, UTC]
    #[arg(long, value_name = "DATE", value_parser = values::parsed::<Day>)]
    pub(crate) day: Option<Day>,
    #[command(flatten)]
    pub(crate) document: DocumentArgs,
}

/// Arguments of `romer fleet plan check`.
#[derive(Debug, Args)]
pub(crate) struct PlanCheckArgs {
    /// File of the plan
    #[arg(value_name = "FILE")]
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) output: PlanOutputArgs,
}

/// Arguments of `romer fleet plan show`.
#[derive(Debug, Args)]
pub(crate) struct PlanShowArgs {
    /// File of the plan
    #[arg(value_name = "FILE")]
    pub(crate) plan: PathBuf,
    /// Show the targets of this agent; with --json, its plan as it is sent to it
    #[arg(long, value_name = "NAME", value_parser = values::parsed::<Token>)]
    pub(crate) agent: Option<Token>,
    #[command(flatten)]
    pub(crate) output: PlanOutputArgs,
}

/// Arguments of `romer fleet plan diff`.
#[derive(Debug, Args)]
pub(crate) struct PlanDiffArgs {
    /// File of the old plan
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// File of the new plan
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    #[command(flatten)]
    pub(crate) output: PlanOutputArgs,
}
