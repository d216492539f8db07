//! Difference constraints: bounds of the differences of unknowns, and the exact bounds of each unknown that follow.
//!
//! An unknown is a clock's offset or rate. low <= x(b) - x(a) <= high is an edge from a to b of the length high, and one from b to a of
//! the length -low. The greatest x(i) - x(r) is the length of the shortest path from r to i. A cycle of negative length is a
//! contradiction.

use std::collections::BTreeMap;

/// Bounds of the difference of two unknowns: low <= x(b) - x(a) <= high, with a < b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constraint {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) low: i64,
    pub(super) high: i64,
}

/// A loop of unknowns whose bounds contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contradiction {
    /// The unknowns in the order of the loop.
    pub(super) nodes: Vec<usize>,
    /// By how much the bounds contradict each other around the loop; positive.
    pub(super) excess: i128,
    /// The unknowns of the constraint that was left out.
    pub(super) left_out: [usize; 2],
}

/// The bounds of an unknown relative to the first one of its component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) root: usize,
    pub(super) low: i128,
    pub(super) high: i128,
}

/// The constraints of pairs of unknowns, one a pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Constraints {
    /// By the two unknowns, the lower number first: the least and the greatest difference.
    pairs: BTreeMap<(usize, usize), (i64, i64)>,
}

impl Constraints {
    /// Adds the bounds of x(b) - x(a). All bounds of a pair apply.
    pub(super) fn add(&mut self, a: usize, b: usize, low: i64, high: i64) {
        let (key, low, high) = match a < b {
            true => ((a, b), low, high),
            false => ((b, a), high.saturating_neg(), low.saturating_neg()),
        };
        let bounds = self.pairs.entry(key).or_insert((low, high));
        *bounds = (bounds.0.max(low), bounds.1.min(high));
    }

    /// The constraints in the order of their unknowns.
    pub(super) fn iter(&self) -> impl Iterator<Item = Constraint> + '_ {
        self.pairs.iter().map(|((a, b), (low, high))| Constraint { a: *a, b: *b, low: *low, high: *high })
    }

    /// Leaves constraints out until the others have a solution. Gives the contradictions.
    pub(super) fn make_consistent(&mut self, nodes: usize) -> Vec<Contradiction> {
        let mut found = Vec::new();
        while let Some(cycle) = self.negative_cycle(nodes) {
            let Some(left_out) = self.suspect(&cycle, nodes) else { break };
            let excess = -self.length(&cycle);
            self.pairs.remove(&left_out);
            found.push(Contradiction { nodes: cycle, excess, left_out: [left_out.0, left_out.1] });
        }
        found
    }

    /// The exact bounds of every unknown, of constraints that have a solution.
    pub(super) fn ranges(&self, nodes: usize) -> Vec<Range> {
        let roots = self.roots(nodes);
        let at_root = |node: usize| if roots.get(node) == Some(&node) { Some(0) } else { None };
        let mut highs: Vec<Option<i128>> = (0..nodes).map(at_root).collect();
        let mut lows = highs.clone();
        let forward: Vec<_> = self.edges().collect();
        let backward: Vec<_> =
            forward.iter().map(|edge| Edge { from: edge.to, to: edge.from, ..*edge }).collect();
        // A shortest path has fewer edges than there are unknowns.
        for _ in 0..nodes {
            let changed = relax(&forward, &mut highs, None) | relax(&backward, &mut lows, None);
            if !changed {
                break;
            }
        }
        let range = |((root, low), high): ((usize, Option<i128>), Option<i128>)| Range {
            root,
            low: -low.unwrap_or(0),
            high: high.unwrap_or(0),
        };
        roots.into_iter().zip(lows).zip(highs).map(range).collect()
    }

    /// The first unknown of the component of each.
    fn roots(&self, nodes: usize) -> Vec<usize> {
        let mut roots: Vec<usize> = (0..nodes).collect();
        loop {
            let mut changed = false;
            for (a, b) in self.pairs.keys() {
                let (Some(one), Some(other)) = (roots.get(*a).copied(), roots.get(*b).copied()) else {
                    continue;
                };
                let least = one.min(other);
                for node in [*a, *b] {
                    if let Some(root) = roots.get_mut(node).filter(|root| **root != least) {
                        *root = least;
                        changed = true;
                    }
                }
            }
            if !changed {
                return roots;
            }
        }
    }

    fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.iter().flat_map(|Constraint { a, b, low, high }| {
            [
                Edge { from: a, to: b, length: i128::from(high) },
                Edge { from: b, to: a, length: -i128::from(low) },
            ]
        })
    }

    /// A cycle of negative length: Bellman and Ford, from all unknowns at once.
    fn negative_cycle(&self, nodes: usize) -> Option<Vec<usize>> {
        let edges: Vec<Edge> = self.edges().collect();
        let mut distances = vec![Some(0_i128); nodes];
        let mut parents: Vec<Option<usize>> = vec![None; nodes];
        for _ in 0..=nodes {
            if !relax(&edges, &mut distances, Some(&mut parents)) {
                return None;
            }
            // Parents form a tree, unless there is a negative cycle.
            if let Some(cycle) = cycle_of(&parents) {
                return Some(cycle);
            }
        }
        cycle_of(&parents)
    }

    /// The length of a cycle.
    fn length(&self, cycle: &[usize]) -> i128 {
        steps(cycle).filter_map(|(from, to)| self.step(from, to)).sum()
    }

    /// The length of the edge between two unknowns.
    fn step(&self, from: usize, to: usize) -> Option<i128> {
        if from < to {
            self.pairs.get(&(from, to)).map(|(_, high)| i128::from(*high))
        } else {
            self.pairs.get(&(to, from)).map(|(low, _)| -i128::from(*low))
        }
    }

    /// The pair of a cycle that most likely is wrong: it contradicts the most loops of three. Of equal ones, that with the widest bounds,
    /// which says the least.
    fn suspect(&self, cycle: &[usize], nodes: usize) -> Option<(usize, usize)> {
        let pairs = steps(cycle).map(|(from, to)| (from.min(to), from.max(to)));
        pairs
            .filter_map(|pair| {
                let (low, high) = self.pairs.get(&pair)?;
                let contradicted = (0..nodes).filter(|third| self.contradicts(pair, *third)).count();
                Some((contradicted, i128::from(*high) - i128::from(*low), core::cmp::Reverse(pair)))
            })
            .max()
            .map(|(_, _, core::cmp::Reverse(pair))| pair)
    }

    /// Whether the bounds of a pair and those by way of a third unknown have nothing in common.
    fn contradicts(&self, (a, b): (usize, usize), third: usize) -> bool {
        let by_way = |from: usize, to: usize| Some(self.step(from, third)? + self.step(third, to)?);
        let length = |from: usize, to: usize, back: Option<i128>| Some(self.step(from, to)? + back?);
        third != a
            && third != b
            && [length(a, b, by_way(b, a)), length(b, a, by_way(a, b))]
                .into_iter()
                .flatten()
                .any(|length| length < 0)
    }
}

/// An edge of the graph of constraints.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: usize,
    to: usize,
    length: i128,
}

/// Shortens distances along each edge once. Gives whether any became shorter.
fn relax(
    edges: &[Edge],
    distances: &mut [Option<i128>],
    mut parents: Option<&mut Vec<Option<usize>>>,
) -> bool {
    let mut changed = false;
    for edge in edges {
        let Some(distance) = distances.get(edge.from).copied().flatten().map(|start| start + edge.length)
        else {
            continue;
        };
        if let Some(old) = distances.get_mut(edge.to).filter(|old| old.is_none_or(|old| distance < old)) {
            *old = Some(distance);
            if let Some(parent) = parents.as_mut().and_then(|parents| parents.get_mut(edge.to)) {
                *parent = Some(edge.from);
            }
            changed = true;
        }
    }
    changed
}

/// A cycle of the parents, in the direction of the edges; it begins with its lowest number.
fn cycle_of(parents: &[Option<usize>]) -> Option<Vec<usize>> {
    let parent = |node: usize| parents.get(node).copied().flatten();
    // The number of the walk on which each node was seen first.
    let mut walks = vec![None; parents.len()];
    for start in 0..parents.len() {
        let mut next = Some(start);
        while let Some(node) = next {
            let walk = walks.get_mut(node)?;
            match *walk {
                Some(seen) if seen == start => {
                    let mut cycle = vec![node];
                    let mut before = parent(node);
                    while let Some(other) = before.filter(|other| *other != node) {
                        cycle.push(other);
                        before = parent(other);
                    }
                    cycle.reverse();
                    let first = (0..cycle.len()).min_by_key(|place| cycle.get(*place)).unwrap_or(0);
                    cycle.rotate_left(first);
                    return Some(cycle);
                }
                Some(_) => break,
                None => *walk = Some(start),
            }
            next = parent(node);
        }
    }
    None
}

/// The steps of a cycle, with the one that closes it.
fn steps(cycle: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    cycle.iter().copied().zip(cycle.iter().copied().cycle().skip(1))
}
