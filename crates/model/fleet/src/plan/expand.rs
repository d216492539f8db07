//! From the plan to the pairs, and to the plan of each agent.

use std::collections::{BTreeMap, BTreeSet};

use romer_units::Duration;

use super::levels::{Ends, Levels, ends};
use super::types::{
    Agent, AgentPlan, ExpandError, Group, HEADER_BYTES, PLAN_SCHEMA, Pair, Plan, Shape, Target, Traffic,
};
use crate::hash::hash;
use crate::time::Day;
use crate::token::Token;

/// Nanoseconds of the 1,000 seconds in which loads are counted.
const NANOS_PER_KILOSECOND: u64 = 1_000_000_000_000;

/// The pairs of a plan on a day, and what each agent does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The day.
    pub day: Day,
    /// All pairs, in order.
    pub pairs: Vec<Pair>,
    /// The plan of each agent.
    pub agents: BTreeMap<Token, AgentPlan>,
    /// What each agent sends.
    pub loads: BTreeMap<Token, Load>,
}

/// What an agent sends: its probes, and its replies to the probes of other agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Its pairs, as owner or as responder.
    pub pairs: usize,
    /// Pairs that it owns.
    pub owned: usize,
    /// Probes and replies in 1,000 seconds, rounded up for each pair.
    pub probes_per_kilosecond: u64,
    /// Bytes in 1,000 seconds, with headers, rounded up for each pair.
    pub bytes_per_kilosecond: u64,
}

impl Load {
    /// Probes and replies a second, rounded up.
    pub const fn probes_per_second(&self) -> u64 {
        self.probes_per_kilosecond.div_ceil(1_000)
    }

    /// Bytes a second, rounded up.
    pub const fn bytes_per_second(&self) -> u64 {
        self.bytes_per_kilosecond.div_ceil(1_000)
    }

    /// Adds a pair, of whose probes and replies an agent sends one kind.
    fn add(&mut self, traffic: &Traffic, is_owner: bool) {
        let interval = u128::from(traffic.interval_ns.as_nanos().max(1).unsigned_abs());
        let bytes = u128::from(u64::from(traffic.size).saturating_add(HEADER_BYTES));
        let total = |each: u128| {
            let nanos = u128::from(NANOS_PER_KILOSECOND).saturating_mul(each);
            u64::try_from(nanos.div_ceil(interval)).unwrap_or(u64::MAX)
        };
        self.pairs += 1;
        self.owned += usize::from(is_owner);
        self.probes_per_kilosecond = self.probes_per_kilosecond.saturating_add(total(1));
        self.bytes_per_kilosecond = self.bytes_per_kilosecond.saturating_add(total(bytes));
    }
}

impl Plan {
    /// The pairs of the plan on a day, and what each agent does.
    ///
    /// The same plan and day give the same result on every host.
    ///
    /// # Errors
    /// [`ExpandError`] for unknown names, pairs of an agent with itself, and an agent above its limits.
    pub fn expand(&self, day: Day) -> Result<Expansion, ExpandError> {
        expand(self, day)
    }
}

fn expand(plan: &Plan, day: Day) -> Result<Expansion, ExpandError> {
    let mut all: BTreeSet<(Ends, &Token)> = BTreeSet::new();
    for group in &plan.groups {
        if !plan.traffic.contains_key(&group.traffic) {
            return Err(ExpandError::UnknownTraffic {
                group: group.name.clone(),
                traffic: group.traffic.clone(),
            });
        }
        all.extend(pairs(plan, group, day)?.into_iter().map(|ends| (ends, &group.traffic)));
    }
    let levels_day = plan.has_levels().then_some(day);
    let mut agents: BTreeMap<Token, AgentPlan> =
        plan.agents.iter().map(|(name, agent)| (name.clone(), idle(plan, name, agent, levels_day))).collect();
    let mut loads: BTreeMap<Token, Load> =
        plan.agents.keys().map(|name| (name.clone(), Load::default())).collect();
    let mut pairs = Vec::with_capacity(all.len());
    for (ends, traffic_name) in all {
        let Some(traffic) = plan.traffic.get(traffic_name) else { continue };
        let phase_ns = phase(&ends, traffic_name, traffic.interval_ns);
        let pair = owned(ends, traffic_name);
        let Some(responder) = plan.agents.get(&pair.responder) else { continue };
        if let Some(owner) = agents.get_mut(&pair.owner) {
            owner.targets.push(Target {
                agent: pair.responder.clone(),
                site: responder.site.clone(),
                address: responder.address.clone(),
                traffic: traffic_name.clone(),
                phase_ns,
            });
            owner.traffic.entry(traffic_name.clone()).or_insert_with(|| traffic.clone());
        }
        if let Some(responder) = agents.get_mut(&pair.responder) {
            responder.initiators.insert(pair.owner.clone());
        }
        for (agent, is_owner) in [(&pair.owner, true), (&pair.responder, false)] {
            if let Some(load) = loads.get_mut(agent) {
                load.add(traffic, is_owner);
            }
        }
        pairs.push(pair);
    }
    for (name, agent) in &plan.agents {
        check_limits(plan, name, agent, loads.get(name).copied().unwrap_or_default())?;
    }
    agents.values_mut().for_each(|agent| agent.targets.sort());
    pairs.sort();
    Ok(Expansion { day, pairs, agents, loads })
}

/// The plan of an agent without pairs.
fn idle(plan: &Plan, name: &Token, agent: &Agent, day: Option<Day>) -> AgentPlan {
    AgentPlan {
        schema: PLAN_SCHEMA,
        tenant: plan.tenant.clone(),
        revision: plan.revision,
        day,
        agent: name.clone(),
        site: agent.site.clone(),
        limits: plan.limits_of(agent),
        retention: plan.retention,
        targets: Vec::new(),
        initiators: BTreeSet::new(),
        traffic: BTreeMap::new(),
    }
}

/// The pairs of a group.
fn pairs(plan: &Plan, group: &Group, day: Day) -> Result<BTreeSet<Ends>, ExpandError> {
    let known = |agent: &Token| match plan.agents.get(agent) {
        Some(found) => Ok(found),
        None => Err(ExpandError::UnknownAgent { group: group.name.clone(), agent: agent.clone() }),
    };
    let mut pairs = BTreeSet::new();
    match &group.shape {
        Shape::Mesh { members, representatives, pairs_between_sites } => {
            let mut sites: BTreeMap<&Token, BTreeSet<&Token>> = BTreeMap::new();
            for member in members {
                sites.entry(&known(member)?.site).or_default().insert(member);
            }
            if group.shape.has_levels() {
                let levels = Levels {
                    group: &group.name,
                    day,
                    sites,
                    representatives: *representatives,
                    pairs_between_sites: *pairs_between_sites,
                };
                return Ok(levels.pairs());
            }
            for (number, one) in members.iter().enumerate() {
                pairs.extend(members.iter().skip(number + 1).map(|other| ends(one, other)));
            }
        }
        Shape::Star { centres, members } => {
            centres.iter().chain(members).try_for_each(|agent| known(agent).map(|_| ()))?;
            for centre in centres {
                let others = members.iter().filter(|member| !centres.contains(*member));
                pairs.extend(others.map(|member| ends(centre, member)));
            }
        }
        Shape::Pairs { pairs: listed } => {
            for [one, other] in listed {
                known(one)?;
                known(other)?;
                if one == other {
                    return Err(ExpandError::SelfPair { group: group.name.clone(), agent: one.clone() });
                }
                pairs.insert(ends(one, other));
            }
        }
    }
    Ok(pairs)
}

/// The pair with its owner, which a hash decides: it depends on this pair only, so that other agents can join and leave.
fn owned((first, second): Ends, traffic: &Token) -> Pair {
    let first_owns = hash(&["owner", first.as_str(), second.as_str(), traffic.as_str()]) & 1 == 0;
    let (owner, responder) = if first_owns { (first, second) } else { (second, first) };
    Pair { owner, responder, traffic: traffic.clone() }
}

/// The time of the first probe after a multiple of the interval.
fn phase((first, second): &Ends, traffic: &Token, interval: Duration) -> Duration {
    let interval = interval.as_nanos().max(1).unsigned_abs();
    let phase = hash(&["phase", first.as_str(), second.as_str(), traffic.as_str()]) % interval;
    Duration::from_nanos(i64::try_from(phase).unwrap_or(0))
}

fn check_limits(plan: &Plan, name: &Token, agent: &Agent, load: Load) -> Result<(), ExpandError> {
    let limits = plan.limits_of(agent);
    let (agent, pairs) = (name.clone(), load.pairs);
    let (probes, bytes) = (load.probes_per_second(), load.bytes_per_second());
    if probes > limits.probes_per_second {
        let limit = limits.probes_per_second;
        return Err(ExpandError::TooManyProbes { agent, planned: probes, pairs, limit });
    }
    if bytes > limits.bytes_per_second {
        let limit = limits.bytes_per_second;
        return Err(ExpandError::TooManyBytes { agent, planned: bytes, pairs, limit });
    }
    Ok(())
}
