//! The choice of pairs in large groups.
//!
//! - Within a site, `representatives` agents form a full mesh. Each other agent of the site has a pair with one of them.
//! - Between two sites there are `pairs_between_sites` pairs, or as many as the smaller site has agents.
//!
//! Every choice is a rendezvous hash of the group, the day and the names. An agent that joins or leaves a site changes few pairs of that
//! site and none between other sites. On the next day all choices are made again, so that over time all agents are chosen.

use std::collections::{BTreeMap, BTreeSet};

use crate::hash::{rendezvous, weight};
use crate::time::Day;
use crate::token::Token;

/// Two agents in the order of their names.
pub(super) type Ends = (Token, Token);

/// Two agents in the order of their names.
pub(super) fn ends(one: &Token, other: &Token) -> Ends {
    if one <= other { (one.clone(), other.clone()) } else { (other.clone(), one.clone()) }
}

/// A group that is divided into levels.
pub(super) struct Levels<'p> {
    /// Its name.
    pub(super) group: &'p Token,
    /// The day.
    pub(super) day: Day,
    /// Its agents by site.
    pub(super) sites: BTreeMap<&'p Token, BTreeSet<&'p Token>>,
    /// Agents of a site in a full mesh.
    pub(super) representatives: usize,
    /// Pairs between two sites.
    pub(super) pairs_between_sites: usize,
}

impl<'p> Levels<'p> {
    /// Its pairs.
    pub(super) fn pairs(&self) -> BTreeSet<Ends> {
        let day = self.day.0.to_string();
        let mut pairs = BTreeSet::new();
        for (site, agents) in &self.sites {
            self.within(&day, site, agents, &mut pairs);
        }
        let sites: Vec<_> = self.sites.iter().collect();
        for (number, (one, agents)) in sites.iter().enumerate() {
            for (other, others) in sites.iter().skip(number + 1) {
                self.between(&day, (one, agents), (other, others), &mut pairs);
            }
        }
        pairs
    }

    fn within(&self, day: &str, site: &Token, agents: &BTreeSet<&'p Token>, pairs: &mut BTreeSet<Ends>) {
        let context = ["representative", self.group.as_str(), day, site.as_str()];
        let mut ranked: Vec<&Token> = agents.iter().copied().collect();
        ranked.sort_by_key(|agent| core::cmp::Reverse(weight(&context, agent.as_str())));
        let (chosen, others) = ranked.split_at(self.representatives.min(ranked.len()));
        for (number, one) in chosen.iter().enumerate() {
            pairs.extend(chosen.iter().skip(number + 1).map(|other| ends(one, other)));
        }
        for agent in others {
            let context = ["attachment", self.group.as_str(), day, agent.as_str()];
            if let Some(representative) = rendezvous(&context, chosen.iter().copied()) {
                pairs.insert(ends(agent, representative));
            }
        }
    }

    /// Each of the pairs is a decision of its own, so that an agent that joins does not shift the pairs after its own.
    fn between(
        &self,
        day: &str,
        (one, agents): (&Token, &BTreeSet<&'p Token>),
        (other, others): (&Token, &BTreeSet<&'p Token>),
        pairs: &mut BTreeSet<Ends>,
    ) {
        let (mut agents, mut others) = (agents.clone(), others.clone());
        for number in 0..self.pairs_between_sites {
            let number = number.to_string();
            let choose = |site: &Token, from: &mut BTreeSet<&'p Token>| {
                let context = [
                    "between",
                    self.group.as_str(),
                    day,
                    one.as_str(),
                    other.as_str(),
                    number.as_str(),
                    site.as_str(),
                ];
                let chosen = rendezvous(&context, from.iter().copied())?;
                from.remove(chosen);
                Some(chosen)
            };
            let (Some(a), Some(b)) = (choose(one, &mut agents), choose(other, &mut others)) else { return };
            pairs.insert(ends(a, b));
        }
    }
}
