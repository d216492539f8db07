//! The tables of one direction: from words to what the engine takes.

use std::sync::Arc;

use romer_impair::chain::{Chain, DwellUnit, MOST_STATES, SHORTEST_STATE};
use romer_impair::config::{
    Corrupt, DEFAULT_QUEUE, Delay, Discipline, Displacement, Duplicate, LONGEST_DELAY, MOST_DISPLACED, Model,
    Order, RateLimit, Reorder, Variable,
};
use romer_impair::regimes::SHORTEST_REGIME_STEP;
use romer_impair::{Decision, DelayDistribution, MOST_BITS, Path, Regimes};
use romer_units::Layer;

use crate::files::Files;
use crate::reader::{Item, ScenarioError, TableReader};

type Read<T> = Result<T, ScenarioError>;

/// Reads the stages that a direction's table has into `path`; a stage that is there is replaced as a whole.
pub(crate) fn direction(
    reader: &mut TableReader<'_>,
    path: &mut Path,
    files: &mut Files<'_, '_>,
) -> Read<()> {
    if let Some(item) = reader.get("loss") {
        let mut table = item.table()?;
        path.loss = modelled(&mut table, |table| decision(table, Of::Loss), probability)?;
        table.finish()?;
    }
    if let Some(item) = reader.get("duplicate") {
        let mut table = item.table()?;
        path.duplicate = modelled(
            &mut table,
            |table| {
                let decision = decision(table, Of::Copies)?;
                duplicate(table, decision)
            },
            |table| {
                let decision = probability(table)?;
                duplicate(table, decision)
            },
        )?;
        table.finish()?;
    }
    if let Some(item) = reader.get("reorder") {
        let mut table = item.table()?;
        path.reorder = modelled(
            &mut table,
            |table| {
                let decision = decision(table, Of::Copies)?;
                reorder(table, decision)
            },
            |table| {
                let decision = probability(table)?;
                reorder(table, decision)
            },
        )?;
        if let Some(flush) = table.get("flush") {
            path.flush = flush.time(1_000, LONGEST_DELAY)?;
        }
        table.finish()?;
    }
    if let Some(item) = reader.get("delay") {
        let mut table = item.table()?;
        let mut loading = |table: &mut TableReader<'_>| delay(table, files);
        path.delay = delays(&mut table, &mut loading)?;
        path.order = match table.get("order") {
            Some(order) => order.word(&ORDERS)?,
            None => Order::Exact,
        };
        table.finish()?;
    }
    if let Some(item) = reader.get("corrupt") {
        let mut table = item.table()?;
        path.corrupt = corrupt(&mut table)?;
        table.finish()?;
    }
    if let Some(item) = reader.get("rate") {
        let mut table = item.table()?;
        path.rate = rate(&mut table)?;
        table.finish()?;
    }
    path.check().map_err(|why| reader.error(why))
}

/// Reads the regimes of a direction: each has the stages of `base` unless it names its own. `None` ends earlier ones.
pub(crate) fn regimes(
    table: &mut TableReader<'_>,
    base: &Path,
    files: &mut Files<'_, '_>,
) -> Read<Option<Regimes<Path>>> {
    if let Some(model) = table.get("model") {
        return model.word(&[("none", ())]).map(|()| None);
    }
    let step = table.need("step")?.time(SHORTEST_REGIME_STEP, LONGEST_DELAY)?;
    let items = table.need("state")?;
    let mut states = Vec::new();
    for item in items.list()? {
        let mut inner = item.table()?;
        let mut path = Path { regimes: None, ..base.clone() };
        direction(&mut inner, &mut path, files)?;
        inner.finish()?;
        let chains = [
            ("loss", matches!(path.loss, Model::Markov { .. })),
            ("duplicate", matches!(path.duplicate, Model::Markov { .. })),
            ("reorder", matches!(path.reorder, Model::Markov { .. })),
            ("delay", matches!(path.delay, Model::Markov { .. })),
        ];
        if let Some((stage, _)) = chains.iter().find(|(_, is)| *is) {
            return Err(item.error(format!("has a chain of its own in {stage}; the regimes are the chain")));
        }
        states.push(Arc::new(path));
    }
    let transition = table.need("transition")?;
    let rows = rows(&transition)?;
    Regimes::new(step, &rows, states).map(Some).map_err(|why| transition.error(why))
}

pub(crate) const ORDERS: [(&str, Order); 3] =
    [("exact", Order::Exact), ("fifo", Order::Fifo), ("independent", Order::Independent)];

/// A plain model, or one for each state of a Markov chain.
fn modelled<P>(
    table: &mut TableReader<'_>,
    plain: impl FnOnce(&mut TableReader<'_>) -> Read<P>,
    mut in_state: impl FnMut(&mut TableReader<'_>) -> Read<P>,
) -> Read<Model<P>> {
    if is_markov(table)? { chain(table, &mut in_state) } else { plain(table).map(Model::Plain) }
}

fn is_markov(table: &mut TableReader<'_>) -> Read<bool> {
    match table.get("model") {
        Some(model) => Ok(model.string("a model's name")? == "markov"),
        None => Ok(false),
    }
}

fn delays(
    table: &mut TableReader<'_>,
    one: &mut dyn FnMut(&mut TableReader<'_>) -> Read<Delay>,
) -> Read<Model<Delay>> {
    if is_markov(table)? {
        return chain(table, one);
    }
    if let Some(model) = table.get("model") {
        return Err(model.error("is an unknown model; use markov, or fixed and variable without model"));
    }
    one(table).map(Model::Plain)
}

fn chain<P>(
    table: &mut TableReader<'_>,
    one: &mut (impl FnMut(&mut TableReader<'_>) -> Read<P> + ?Sized),
) -> Read<Model<P>> {
    let step = table.need("step")?.word(&[("packets", DwellUnit::Packets), ("time", DwellUnit::Time)])?;
    let items = table.need("state")?;
    let list = items.list()?;
    if list.is_empty() || list.len() > MOST_STATES {
        return Err(items.error(format!("has {} states; write 1 to {MOST_STATES} of them", list.len())));
    }
    let (mut durations, mut states) = (Vec::new(), Vec::new());
    for item in &list {
        let mut state = item.table()?;
        let duration = state.need("duration")?;
        durations.push(match step {
            DwellUnit::Packets => i64::try_from(duration.whole(1, 1 << 40)?).unwrap_or(i64::MAX),
            DwellUnit::Time => duration.time(SHORTEST_STATE, LONGEST_DELAY * 24)?,
        });
        states.push(one(&mut state)?);
        state.finish()?;
    }
    let initial = match table.get("initial") {
        Some(item) => usize::try_from(item.whole(1, list.len() as u64)?).unwrap_or(1) - 1,
        None => 0,
    };
    let transition = table.need("transition")?;
    let rows = rows(&transition)?;
    let chain = Chain::new(step, &rows, &durations, initial).map_err(|why| transition.error(why))?;
    Ok(Model::Markov { chain: Arc::new(chain), states: states.into() })
}

fn rows(transition: &Item<'_>) -> Read<Vec<Vec<f64>>> {
    let row = |row: &Item<'_>| row.list()?.iter().map(Item::probability).collect::<Read<Vec<f64>>>();
    transition.list()?.iter().map(row).collect()
}

fn probability(table: &mut TableReader<'_>) -> Read<Decision> {
    Ok(Decision::Bernoulli { probability: table.need("probability")?.probability()? })
}

#[derive(Clone, Copy)]
enum StageKind {
    Nothing,
    Bernoulli,
    Correlated,
    GilbertElliott,
    FourState,
    Markov,
}

/// The stages that differ in which models they have.
#[derive(Clone, Copy)]
enum Of {
    Loss,
    /// Duplication and reordering.
    Copies,
    Bits,
}

/// Which packets. Gilbert-Elliott and four states are models of loss only; corruption has no chain.
fn decision(table: &mut TableReader<'_>, stage: Of) -> Read<Decision> {
    let all = [
        ("bernoulli", StageKind::Bernoulli),
        ("correlated", StageKind::Correlated),
        ("none", StageKind::Nothing),
        ("markov", StageKind::Markov),
        ("gilbert-elliott", StageKind::GilbertElliott),
        ("four-state", StageKind::FourState),
    ];
    let models = match stage {
        Of::Loss => &all[..],
        Of::Copies => &all[..4],
        Of::Bits => &all[..3],
    };
    let kind = match table.get("model") {
        Some(model) => model.word(models)?,
        None => StageKind::Bernoulli,
    };
    match kind {
        StageKind::GilbertElliott => table.has(&["p", "r"]),
        StageKind::FourState => table.has(&["p13", "p31", "p32", "p23", "p14"]),
        _ => {}
    }
    let mut take = |key| table.need(key)?.probability();
    let decision = match kind {
        StageKind::Nothing => Decision::Never,
        StageKind::Bernoulli | StageKind::Markov => Decision::Bernoulli { probability: take("probability")? },
        StageKind::Correlated => Decision::Correlated {
            probability: take("probability")?,
            correlation: table.need("correlation")?.number(-1.0, 1.0, "a number from -1 to 1")?,
        },
        StageKind::GilbertElliott => Decision::GilbertElliott {
            p: take("p")?,
            r: take("r")?,
            good: table.get("loss_good").map_or(Ok(0.0), |item| item.probability())?,
            bad: table.get("loss_bad").map_or(Ok(1.0), |item| item.probability())?,
        },
        StageKind::FourState => Decision::FourState {
            p13: take("p13")?,
            p31: take("p31")?,
            p32: take("p32")?,
            p23: take("p23")?,
            p14: take("p14")?,
        },
    };
    decision.check().map_err(|why| table.error(why))?;
    Ok(decision)
}

fn duplicate(table: &mut TableReader<'_>, decision: Decision) -> Read<Duplicate> {
    let delay = table.get("delay").map_or(Ok(0), |item| item.time(0, LONGEST_DELAY))?;
    Ok(Duplicate { decision, delay })
}

fn reorder(table: &mut TableReader<'_>, decision: Decision) -> Read<Reorder> {
    let Some(item) = table.get("displacement") else {
        return Ok(Reorder { decision, displacement: Displacement::default() });
    };
    let mut inner = item.table()?;
    let displacement = match inner.need("model")?.word(&[("uniform", 0), ("normal", 1), ("time", 2)])? {
        0 => {
            let most = u64::from(MOST_DISPLACED);
            let whole = |item: Item<'_>| item.whole(0, most).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            let (low, high) = (whole(inner.need("low")?)?, whole(inner.need("high")?)?);
            if low > high {
                return Err(inner.error(format!("low {low} is above high {high}; exchange them")));
            }
            Displacement::Uniform { low, high }
        }
        1 => {
            let packets = "a number of packets from 0 to 65535";
            Displacement::Normal {
                mean: inner.need("mean")?.number(0.0, 65_535.0, packets)?,
                stddev: inner.need("stddev")?.number(0.0, 65_535.0, packets)?,
            }
        }
        _ => {
            let [low, high] =
                [inner.need("low")?, inner.need("high")?].map(|item| item.time(0, LONGEST_DELAY));
            let (low, high) = (low?, high?);
            if low > high {
                return Err(inner.error("low is above high; exchange them"));
            }
            Displacement::Time { low, high }
        }
    };
    inner.finish()?;
    Ok(Reorder { decision, displacement })
}

fn delay(table: &mut TableReader<'_>, files: &mut Files<'_, '_>) -> Read<Delay> {
    let fixed = table.get("fixed").map_or(Ok(0), |item| item.time(0, LONGEST_DELAY))?;
    let variable = match table.get("variable") {
        None => None,
        Some(item) => {
            let mut inner = item.table()?;
            let variable = variable(&mut inner, files)?;
            inner.finish()?;
            variable
        }
    };
    Ok(Delay { fixed, variable })
}

#[derive(Clone, Copy)]
enum Shape {
    Nothing,
    Uniform,
    Normal,
    Exponential,
    Pareto,
    Gamma,
    Empirical,
    Correlated,
}

fn variable(table: &mut TableReader<'_>, files: &mut Files<'_, '_>) -> Read<Option<Variable>> {
    let model = table.need("model")?;
    let shape = model.word(&[
        ("uniform", Shape::Uniform),
        ("normal", Shape::Normal),
        ("exponential", Shape::Exponential),
        ("pareto", Shape::Pareto),
        ("gamma", Shape::Gamma),
        ("empirical", Shape::Empirical),
        ("correlated", Shape::Correlated),
        ("none", Shape::Nothing),
    ])?;
    match shape {
        Shape::Nothing => return Ok(None),
        Shape::Correlated => {
            let distribution = table.need("distribution")?;
            let mut inner = distribution.table()?;
            let law = variable(&mut inner, files)?;
            inner.finish()?;
            let law = law.ok_or_else(|| {
                distribution.error("is none, which cannot be correlated; name a distribution")
            })?;
            if law.is_correlated() {
                return Err(distribution
                    .error("is correlated already; name a distribution, and one coefficient or time"));
            }
            let law = law.law().clone();
            let coefficient = table.get("coefficient");
            if let Some(time) = table.get("time") {
                if coefficient.is_some() {
                    return Err(time.error(
                        "says how long delays are alike, and coefficient how much; take one of them out",
                    ));
                }
                let length = time.time(1_000, LONGEST_DELAY)?;
                files.count_process().map_err(|why| time.error(why))?;
                return Ok(Some(Variable::in_time(law, length)));
            }
            let coefficient = coefficient.ok_or_else(|| {
                table.error("has no correlation; write time = \"50ms\" (delays as a process in time), or coefficient (by packets)")
            })?;
            let value = coefficient.number(-1.0, 1.0, "a number from -1 to 1")?;
            return Ok(Some(Variable::new(law, Some(value))));
        }
        _ => {}
    }
    law(table, shape, files).map(|law| Some(Variable::new(law, None)))
}

fn law(table: &mut TableReader<'_>, shape: Shape, files: &mut Files<'_, '_>) -> Read<DelayDistribution> {
    let positive = "a number above 0, up to 1000000";
    let mut time = |key: &'static str, least: i64| -> Read<f64> {
        #[expect(clippy::cast_precision_loss, reason = "an hour in nanoseconds is below 2^53")]
        table.need(key)?.time(least, LONGEST_DELAY).map(|nanos| nanos as f64)
    };
    Ok(match shape {
        Shape::Uniform => {
            let (low, high) = (time("low", 0)?, time("high", 0)?);
            if low > high {
                return Err(table.error("low is above high; exchange them"));
            }
            DelayDistribution::Uniform { low, high }
        }
        Shape::Normal => {
            let (mean, stddev) = (time("mean", 0)?, time("stddev", 0)?);
            if stddev > 0.0 {
                DelayDistribution::Normal { mean, stddev }
            } else {
                DelayDistribution::Uniform { low: mean, high: mean }
            }
        }
        Shape::Exponential => DelayDistribution::Exponential { mean: time("mean", 1)? },
        Shape::Pareto => {
            let scale = time("scale", 1)?;
            DelayDistribution::Pareto { scale, shape: table.need("shape")?.number(1e-3, 1e6, positive)? }
        }
        Shape::Gamma => {
            let scale = time("scale", 1)?;
            DelayDistribution::Gamma { scale, shape: table.need("shape")?.number(1e-3, 1e6, positive)? }
        }
        Shape::Empirical | Shape::Correlated | Shape::Nothing => {
            let file = table.need("file")?;
            let delays =
                files.delays(file.string("a file's name")?).map_err(|why| file.error(why.to_string()))?;
            DelayDistribution::Empirical(delays)
        }
    })
}

fn corrupt(table: &mut TableReader<'_>) -> Read<Corrupt> {
    let decision = decision(table, Of::Bits)?;
    let bits = table.get("bits").map_or(Ok(1), |item| item.whole(1, u64::from(MOST_BITS)))?;
    let repair_checksum = table.get("repair_checksum").map_or(Ok(false), |item| item.flag())?;
    Ok(Corrupt { decision, bits: u8::try_from(bits).unwrap_or(MOST_BITS), repair_checksum })
}

fn rate(table: &mut TableReader<'_>) -> Read<Option<RateLimit>> {
    let limit = table.need("limit")?;
    if limit.is_text() && limit.string("a rate")? == "none" {
        return Ok(None);
    }
    let limit = limit.rate()?;
    let layer = table.get("layer").ok_or_else(|| {
        table.error("has no layer; write layer = \"l1\" (with preamble and gap), \"l2\" (frames) or \"l3\" (IP packets)")
    })?;
    let layer = layer.word(&[("l1", Layer::L1), ("l2", Layer::L2), ("l3", Layer::L3)])?;
    let (mut queue, mut discipline) = (DEFAULT_QUEUE, Discipline::TailDrop);
    if let Some(item) = table.get("queue") {
        let mut inner = item.table()?;
        if let Some(bytes) = inner.get("bytes") {
            queue = bytes.octets(64, 1 << 32)?;
        }
        discipline = queueing(&mut inner, queue)?;
        inner.finish()?;
    }
    Ok(Some(RateLimit { limit, layer, queue, discipline }))
}

fn queueing(table: &mut TableReader<'_>, queue: u64) -> Read<Discipline> {
    let name = table.get("discipline");
    let name = name.map_or(Ok(0), |item| item.word(&[("tail-drop", 0), ("red", 1), ("codel", 2)]))?;
    Ok(match name {
        0 => Discipline::TailDrop,
        1 => {
            let low = table.get("low").map_or(Ok(queue / 8), |item| item.octets(1, queue))?;
            let high = table.get("high").map_or(Ok(queue * 3 / 8), |item| item.octets(1, queue))?;
            if low >= high {
                return Err(table.error(format!("low {low}B is not below high {high}B; make it smaller")));
            }
            let probability = table.get("probability").map_or(Ok(0.1), |item| item.probability())?;
            let weight = table.get("weight").map_or(Ok(0.002), |item| item.probability())?;
            Discipline::Red { low, high, probability, weight }
        }
        _ => {
            let target = table.get("target").map_or(Ok(5_000_000), |item| item.time(1_000, LONGEST_DELAY))?;
            let interval =
                table.get("interval").map_or(Ok(100_000_000), |item| item.time(1_000, LONGEST_DELAY))?;
            if target >= interval {
                return Err(table.error("target is not below interval; make it smaller"));
            }
            Discipline::CoDel { target, interval }
        }
    })
}
