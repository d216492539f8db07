//! Claims about plans: their text, and what follows from them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use romer_units::Duration;

use super::*;
use crate::diff::PlanDiff;
use crate::{Day, Token};

fn name(text: &str) -> Token {
    Token::new(text).unwrap()
}

const DAY: Day = Day(20_787);

/// The difference of two plans on a day.
fn diff(old: &Plan, new: &Plan, day: Day) -> Result<PlanDiff, ExpandError> {
    Ok(crate::diff::diff((old, &old.expand(day)?), (new, &new.expand(day)?)))
}

/// A plan with these sites, of so many agents each, and one mesh of all.
fn mesh(sites: &[usize]) -> Plan {
    let mut agents = BTreeMap::new();
    for (site, count) in sites.iter().enumerate() {
        for number in 0..*count {
            let agent =
                Agent { site: name(&format!("s{site}")), address: format!("h{site}-{number}"), limits: None };
            agents.insert(name(&format!("s{site}-{number:04}")), agent);
        }
    }
    let members = agents.keys().cloned().collect();
    Plan {
        schema: PLAN_SCHEMA,
        tenant: name("acme"),
        revision: 1,
        limits: Limits::default(),
        retention: Retention::default(),
        traffic: BTreeMap::from([(
            name("default"),
            Traffic {
                interval_ns: Duration::from_secs(1),
                size: 56,
                every_ns: Duration::from_secs(3_600),
                duration_ns: None,
                options: BTreeMap::new(),
            },
        )]),
        agents,
        groups: vec![Group {
            name: name("all"),
            traffic: name("default"),
            shape: Shape::Mesh { members, representatives: 4, pairs_between_sites: 2 },
        }],
    }
}

/// The pairs without their owners.
fn ends(expansion: &Expansion) -> BTreeSet<(Token, Token)> {
    let ends = |pair: &Pair| {
        let mut ends = [pair.owner.clone(), pair.responder.clone()];
        ends.sort();
        let [one, other] = ends;
        (one, other)
    };
    expansion.pairs.iter().map(ends).collect()
}

fn add(plan: &mut Plan, site: &str, agent: &str) {
    let new = Agent { site: name(site), address: agent.into(), limits: None };
    plan.agents.insert(name(agent), new);
    for group in &mut plan.groups {
        if let Shape::Mesh { members, .. } = &mut group.shape {
            members.insert(name(agent));
        }
    }
}

const EXAMPLE: &str = include_str!("../../../../../packaging/fleet.toml");

/// The example of the packages is a plan whose agents keep their limits.
#[test]
fn example_is_valid() {
    let plan = parse(EXAMPLE, "fleet.toml").unwrap();
    let expansion = plan.expand(DAY).unwrap();
    assert_eq!(plan.agents.len(), 5);
    assert_eq!(expansion.pairs.len(), 13);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    for agent in expansion.agents.values() {
        let text = serde_json::to_string(agent).unwrap();
        assert_eq!(serde_json::from_str::<AgentPlan>(&text).unwrap(), *agent);
    }
}

/// Each fault is reported with its place, and nothing panics.
#[test]
fn faults_have_places() {
    const HEAD: &str = "tenant = \"acme\"\nrevision = 1\n";
    const TRAFFIC: &str = "[traffic.a]\ninterval = \"1s\"\nsize = 56\n";
    const SITES: &str = "[site.fra.agents]\nfra-1 = \"h1\"\nfra-2 = \"h2\"\n";
    const GROUP: &str = "[group.all]\nkind = \"mesh\"\nmembers = [\"*\"]\n";
    let whole = [HEAD, TRAFFIC, SITES, GROUP].concat();
    assert_eq!(parse(&whole, "p").unwrap().expand(DAY).unwrap().pairs.len(), 1);
    let group = |group: &str| [HEAD, TRAFFIC, SITES, group].concat();
    for (text, said) in [
        (String::new(), "the plan (p:1:1): has no tenant"),
        ("tenant = ".into(), "the plan (p:1:"),
        ("tenant = \"a.b\"\n".into(), "tenant (p:1:10): \"a.b\" is not a name; write"),
        ([HEAD, SITES, GROUP].concat(), "has no traffic"),
        ([HEAD, TRAFFIC, GROUP].concat(), "has no site"),
        ([HEAD, TRAFFIC, SITES].concat(), "has no group"),
        (format!("schema = 2\n{whole}"), "schema (p:1:10): is not read: schema 2 is too new"),
        (format!("schema = 0\n{whole}"), "schema 0 is too old"),
        (format!("colour = 1\n{whole}"), "colour (p:1:1): unknown key \"colour\""),
        (
            whole.replace("interval", "intervall"),
            "intervall (p:4:1): unknown key \"intervall\"; did you mean interval?",
        ),
        (
            whole.replace("\"1s\"", "\"1ns\""),
            "traffic.a.interval (p:4:12): is the string \"1ns\"; write a length of time",
        ),
        (whole.replace("size = 56", "size = 0"), "traffic.a.size (p:5:8): is the whole number 0"),
        (
            whole.replace("size = 56", "size = 56\nduration = \"2h\""),
            "traffic.a.duration (p:6:12): is longer than every",
        ),
        (whole.replace("size = 56", "size = 56\nDscp = \"ef\""), "traffic.a.Dscp (p:6:8): is no option"),
        (
            whole.replace("size = 56", "size = 56\ndscp = {}"),
            "traffic.a.dscp (p:6:8): is no value of an option",
        ),
        (whole.replace("size = 56", "size = 56\nno-route = true\nno_route = true"), "is given twice"),
        (whole.replace("\"h2\"", "\"h 2\""), "site.fra.agents.fra-2 (p:8:9): is \"h 2\"; write HOST"),
        (whole.replace("\"h2\"", "\"-h\""), "write HOST"),
        (whole.replace("\"h2\"", "{ adress = \"h2\" }"), "did you mean address?"),
        (whole.replace("fra-2", "\"fra 2\""), "\"fra 2\" is not a name"),
        (
            [HEAD, TRAFFIC, SITES, "[site.lon.agents]\nfra-1 = \"h3\"\n", GROUP].concat(),
            "is also an agent of the site fra",
        ),
        ([HEAD, "site = {}\n", TRAFFIC, GROUP].concat(), "site (p:3:8): has no agents"),
        ([HEAD, "traffic = {}\n", SITES, GROUP].concat(), "traffic (p:3:11): is empty"),
        (
            group("[group.all]\nkind = \"ring\"\n"),
            "group.all.kind (p:10:8): is \"ring\"; known are mesh, star, pairs",
        ),
        (group("[group.all]\nkind = \"mesh\"\nmembers = []\n"), "group.all.members (p:11:11): is empty"),
        (
            group("[group.all]\nkind = \"mesh\"\nmembers = [\"fra-3\"]\n"),
            "the plan has no such agent; did you mean fra-1?",
        ),
        (
            group("[group.all]\nkind = \"mesh\"\nmembers = [\"site:lon\"]\n"),
            "is \"lon\", and the plan has no such site; add it",
        ),
        (
            group("[group.all]\nkind = \"mesh\"\nmembers = [\"*\"]\ntraffic = \"b\"\n"),
            "the plan has no such traffic",
        ),
        (group("[group.all]\nkind = \"star\"\nmembers = [\"*\"]\n"), "has no centres"),
        (group("[group.all]\nkind = \"pairs\"\npairs = [[\"fra-1\"]]\n"), "is no pair"),
        (
            group("[group.all]\nkind = \"pairs\"\npairs = [[\"fra-1\", \"fra-1\"]]\n"),
            "is a pair of fra-1 with itself",
        ),
        (group("[group.all]\nkind = \"pairs\"\npairs = []\n"), "is empty"),
        (
            group("[group.all]\nkind = \"mesh\"\nmembers = [\"*\"]\nrepresentatives = 0\n"),
            "write a whole number from 1 to 1000",
        ),
        (format!("{whole}[retention]\nrows = \"1s\"\n"), "retention.rows (p:13:8)"),
        (format!("{whole}[retention]\nspool_size = 5\n"), "retention.spool_size"),
        (format!("{whole}[limits]\nprobes_per_second = 0\n"), "limits.probes_per_second (p:13:21)"),
    ] {
        let error = parse(&text, "p").err().unwrap_or_else(|| panic!("{text} was accepted")).to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

/// Names of traffic, sites and all agents are resolved, own limits replace those of the plan, and options are kept as written.
#[test]
fn texts_are_resolved() {
    let text = "tenant = \"acme\"\nrevision = 3\n[limits]\nprobes_per_second = 50\nbytes_per_second = \"1MB\"\n\
        [traffic.voice]\ninterval = \"20ms\"\nsize = 172\nevery = \"5m\"\nduration = \"1m\"\ndscp = \"ef\"\nno_route = true\nlimit = [\"loss<=1%\"]\n\
        [traffic.slow]\ninterval = \"1s\"\nsize = 56\n\
        [site.a.agents]\na1 = \"h1\"\na2 = { address = \"h2:900\", probes_per_second = 200 }\n\
        [site.b.agents]\nb1 = { address = \"h3\", probes_per_second = 200 }\n\
        [group.star]\nkind = \"star\"\ntraffic = \"voice\"\ncentres = [\"a2\"]\nmembers = [\"site:b\", \"a2\"]\n\
        [group.mesh]\nkind = \"mesh\"\ntraffic = \"slow\"\nmembers = [\"*\"]\n";
    let plan = parse(text, "p").unwrap();
    let voice = &plan.traffic["voice"];
    assert_eq!((voice.run_length(), voice.every_ns), (Duration::from_secs(60), Duration::from_secs(300)));
    assert_eq!(voice.options["no-route"], OptionValue::Flag(true));
    assert_eq!(voice.options["limit"], OptionValue::Values(vec!["loss<=1%".into()]));
    assert_eq!(plan.agents["a1"].limits, None);
    let own = Limits { probes_per_second: 200, bytes_per_second: 1_000_000 };
    assert_eq!(plan.agents["a2"].limits, Some(own));
    let expansion = plan.expand(DAY).unwrap();
    assert_eq!(expansion.pairs.len(), 4, "one of voice, three of slow");
    let load = expansion.loads["b1"];
    assert_eq!((load.pairs, load.probes_per_second()), (3, 52));
    // 50 x (172 + 48) + 2 x (56 + 48) bytes.
    assert_eq!(load.bytes_per_second(), 11_208);
}

/// Every two agents of a mesh are one pair, the owner has it as target and the responder as initiator, and owners are balanced: the number
/// of pairs that an agent owns differs from one half by less than seven standard deviations.
#[test]
fn meshes_are_complete_and_balanced() {
    let plan = mesh(&[60, 60]);
    let expansion = plan.expand(DAY).unwrap();
    assert_eq!((expansion.pairs.len(), ends(&expansion).len()), (7_140, 7_140));
    for pair in &expansion.pairs {
        let targets = &expansion.agents[&pair.owner].targets;
        assert_eq!(targets.iter().filter(|target| target.agent == pair.responder).count(), 1);
        assert!(expansion.agents[&pair.responder].initiators.contains(&pair.owner));
    }
    for (agent, load) in &expansion.loads {
        assert_eq!(load.pairs, 119);
        // 2 x 7 x sqrt(119) / 2.
        assert!((2 * load.owned).abs_diff(load.pairs) < 76, "{agent}: {load:?}");
    }
}

/// Phases cover the interval evenly: each tenth has its share of the pairs.
#[test]
fn phases_are_spread() {
    let expansion = mesh(&[100]).expand(DAY).unwrap();
    let mut tenths = [0_u32; 10];
    for target in expansion.agents.values().flat_map(|agent| &agent.targets) {
        let tenth = usize::try_from(target.phase_ns.as_nanos() / 100_000_000).unwrap();
        tenths[tenth] += 1;
    }
    // 495 are expected, with a standard deviation of 21.
    assert!(tenths.iter().all(|count| (390..600).contains(count)), "{tenths:?}");
}

/// In levels, representatives of each site form a mesh, each other agent has one pair in its site, and two sites have their pairs.
#[test]
fn levels_have_their_pairs() {
    let plan = mesh(&[150, 80, 1]);
    assert!(plan.has_levels());
    let expansion = plan.expand(DAY).unwrap();
    // 6 + 146, 6 + 76 and none within sites; 2 + 1 + 1 between them.
    assert_eq!(expansion.pairs.len(), 152 + 82 + 4);
    assert!(expansion.loads.values().all(|load| load.pairs > 0));
    assert_eq!(expansion.agents.values().next().unwrap().day, Some(DAY));
    assert_eq!(mesh(&[3]).expand(DAY).unwrap().agents.values().next().unwrap().day, None);
    let tomorrow = plan.expand(Day(DAY.0 + 1)).unwrap();
    assert!(ends(&expansion).intersection(&ends(&tomorrow)).count() < 60, "pairs are chosen anew");
}

/// An agent that joins a mesh adds its own pairs and changes no owner and no phase of the others.
#[test]
fn joining_a_mesh_changes_no_other_pair() {
    let old = mesh(&[20, 20]);
    let mut new = old.clone();
    add(&mut new, "s0", "s0-new");
    let change = diff(&old, &new, DAY).unwrap();
    assert_eq!((change.pairs_added.len(), change.pairs_removed.len()), (40, 0));
    assert_eq!(change.agents_added, [name("s0-new")]);
    let targets = |plan: &Plan, agent: &str| plan.expand(DAY).unwrap().agents[agent].targets.clone();
    let after = targets(&new, "s1-0003");
    assert!(targets(&old, "s1-0003").iter().all(|target| after.contains(target)));
}

/// An agent that joins a site of a large group takes over at most its own decisions.
#[test]
fn joining_levels_changes_few_pairs() {
    let old = mesh(&[100, 100, 100]);
    let mut removed = 0;
    for number in 0..40 {
        let mut new = old.clone();
        add(&mut new, "s1", &format!("s1-new{number}"));
        let change = diff(&old, &new, DAY).unwrap();
        let touches =
            |pair: &Pair| pair.owner.as_str().starts_with("s1") || pair.responder.as_str().starts_with("s1");
        assert!(change.pairs_added.iter().chain(&change.pairs_removed).all(touches), "{change:?}");
        removed += change.pairs_removed.len();
    }
    // Of 318 pairs. As a representative (1 in 25) it replaces about 28, and 1 in 100 choices between sites changes up to two.
    assert!(removed < 250, "{removed}");
}

/// An agent above a limit is named with its load.
#[test]
fn limits_are_kept() {
    let mut plan = mesh(&[12]);
    plan.limits = Limits { probes_per_second: 10, bytes_per_second: 1_000_000 };
    let error = plan.expand(DAY).unwrap_err();
    let first = name("s0-0000");
    assert_eq!(error, ExpandError::TooManyProbes { agent: first.clone(), planned: 11, pairs: 11, limit: 10 });
    plan.limits = Limits { probes_per_second: 11, bytes_per_second: 1_143 };
    let error = plan.expand(DAY).unwrap_err();
    assert_eq!(error, ExpandError::TooManyBytes { agent: first, planned: 1_144, pairs: 11, limit: 1_143 });
    plan.limits.bytes_per_second = 1_144;
    assert!(plan.expand(DAY).is_ok());
}

/// Names that a plan does not have, which a plan in JSON can contain, are refused.
#[test]
fn unknown_names_are_refused() {
    let mut plan = mesh(&[3]);
    plan.groups[0].traffic = name("other");
    let group = name("all");
    let unknown = ExpandError::UnknownTraffic { group: group.clone(), traffic: name("other") };
    assert_eq!(plan.expand(DAY), Err(unknown));
    let mut plan = mesh(&[3]);
    plan.groups[0].shape = Shape::Pairs { pairs: vec![[name("s0-0000"), name("x")]] };
    assert_eq!(plan.expand(DAY), Err(ExpandError::UnknownAgent { group: group.clone(), agent: name("x") }));
    plan.groups[0].shape = Shape::Pairs { pairs: vec![[name("s0-0000"), name("s0-0000")]] };
    assert_eq!(plan.expand(DAY), Err(ExpandError::SelfPair { group, agent: name("s0-0000") }));
}

/// The difference names what changed, and is empty for equal plans.
#[test]
fn differences_are_named() {
    let old = mesh(&[3, 3]);
    let mut new = Plan { revision: 2, ..old.clone() };
    assert!(diff(&old, &new, DAY).unwrap().is_empty());
    new.agents.get_mut("s0-0001").unwrap().address = "moved".into();
    new.traffic.get_mut("default").unwrap().size = 100;
    new.limits.probes_per_second = 7;
    let change = diff(&old, &new, DAY).unwrap();
    assert_eq!((change.from_revision, change.to_revision), (1, 2));
    assert_eq!(
        (change.agents_changed.clone(), change.traffic_changed.clone()),
        (vec![name("s0-0001")], vec![name("default")])
    );
    assert!(change.limits_changed && !change.retention_changed && change.pairs_added.is_empty());
    assert!(!change.is_empty());
}

proptest! {
    /// Any groups give each pair of a traffic once, no pair of an agent with itself, phases within the interval, the same result each
    /// time, and loads that are those of the pairs.
    #[test]
    fn pairs_are_unique(
        sites in prop::collection::vec(1_usize..60, 1..6),
        star in any::<bool>(),
        day in -10_i64..40_000,
    ) {
        let mut plan = mesh(&sites);
        if star {
            let centres = plan.agents.keys().take(2).cloned().collect();
            let members = plan.agents.keys().cloned().collect();
            let shape = Shape::Star { centres, members };
            plan.groups.push(Group { name: name("star"), traffic: name("default"), shape });
        }
        let expansion = plan.expand(Day(day)).unwrap();
        let unique = ends(&expansion);
        prop_assert_eq!(unique.len(), expansion.pairs.len());
        prop_assert!(unique.iter().all(|(one, other)| one != other));
        let targets = expansion.agents.values().flat_map(|agent| &agent.targets);
        prop_assert_eq!(targets.clone().count(), expansion.pairs.len());
        for target in targets {
            prop_assert!((0..1_000_000_000).contains(&target.phase_ns.as_nanos()));
        }
        let pairs: usize = expansion.loads.values().map(|load| load.pairs).sum();
        prop_assert_eq!(pairs, 2 * expansion.pairs.len());
        for (agent, load) in &expansion.loads {
            prop_assert!(load.probes_per_second() <= expansion.agents[agent].limits.probes_per_second);
        }
        prop_assert_eq!(plan.expand(Day(day)).unwrap(), expansion);
    }

    /// No text makes the reader panic.
    #[test]
    fn any_text_has_an_answer(text in "[a-z\\[\\]=\". \n{},0-9]{0,200}", at in 0_usize..900, part in ".{0,8}") {
        let _ = parse(&text, "p");
        let mut mutated = EXAMPLE.to_owned();
        let at = mutated.char_indices().map(|(place, _)| place).filter(|place| *place <= at).max().unwrap_or(0);
        mutated.insert_str(at, &part);
        let _ = parse(&mutated, "p").map(|plan| plan.expand(DAY));
    }
}
