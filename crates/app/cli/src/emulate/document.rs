//! The document of an emulation.

use std::collections::BTreeMap;
use std::time::SystemTime;

use romer_emulate::live::{Direction, LiveBridge, LiveOptions, Snapshot};
use romer_impair::config::Model;
use romer_impair::{Cause, Config, Decision, Generator};
use romer_record::emulation::{EMULATION, EmulatedDirection, EmulatedPort, Emulation};
use romer_units::{Duration, Rate};

/// What is known of a run before it ends.
pub(super) struct Record {
    started: String,
    seed: [u32; 6],
    generator: Generator,
    scenario: String,
    data_plane: String,
    ports: BTreeMap<String, EmulatedPort>,
}

impl Record {
    pub(super) fn new(options: &LiveOptions, bridge: &LiveBridge, started: SystemTime) -> Self {
        let ports = ["a", "b"].into_iter().zip(&options.ports).zip(bridge.taken());
        Self {
            started: rfc3339(started),
            seed: options.config.seed.map_or([1; 6], |seed| seed.0),
            generator: options.config.generator,
            scenario: scenario(&options.config),
            data_plane: bridge.data_plane().into(),
            ports: ports
                .map(|((letter, name), taken)| {
                    let port = EmulatedPort {
                        interface: name.to_string(),
                        taken_from_bridge: taken.bridge.clone(),
                        offloads_switched_off: taken.offloads,
                    };
                    (letter.to_owned(), port)
                })
                .collect(),
        }
    }

    /// The document of a run that has ended so.
    pub(super) fn finish(self, snapshot: &Snapshot) -> Emulation {
        let [a_to_b, b_to_a] = snapshot.directions.each_ref().map(direction);
        Emulation {
            schema: EMULATION.into(),
            started: self.started,
            ended: rfc3339(SystemTime::now()),
            ended_by: snapshot.gone.as_ref().map(|port| format!("port {port} is gone")),
            seed: self.seed,
            generator: match self.generator {
                Generator::Counter => "counter".into(),
                Generator::Mrg => "mrg".into(),
                Generator::Mrg32k3a => "mrg32k3a".into(),
            },
            data_plane: self.data_plane,
            scenario: self.scenario,
            ports: self.ports,
            a_to_b,
            b_to_a,
            warnings: Vec::new(),
        }
    }
}

fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_micros(time).to_string()
}

fn direction(direction: &Direction) -> EmulatedDirection {
    let ledger = &direction.ledger;
    EmulatedDirection {
        received: ledger.received,
        transmitted: ledger.transmitted,
        queued: ledger.queued,
        duplicates_created: ledger.duplicates_created,
        lost: Cause::ALL.iter().map(|cause| (cause.name().to_owned(), ledger.lost_for(*cause))).collect(),
        corrupted: ledger.corrupted,
        reordered: ledger.reordered,
        waited_ratio: (ledger.delayed > 0).then(|| real(ledger.waited) / real(ledger.delayed)),
        requested_delay_ns: direction.requested_delay.clone(),
        actual_delay_ns: direction.actual_delay.clone(),
        delay_error_ns: direction.delay_error.clone(),
        inter_arrival_ns: direction.inter_arrival.clone(),
        inter_departure_ns: direction.inter_departure.clone(),
        queue_depth: direction.queue_depth.clone(),
        correlation_time_ns: None,
        effective_values: None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
const fn real(count: u64) -> f64 {
    count as f64
}

/// What the command line asked for, as a scenario file says it.
fn scenario(config: &Config) -> String {
    let seed = config.seed.map_or([1; 6], |seed| seed.0).map(|word| word.to_string()).join(", ");
    let mut text = format!("seed = [{seed}]\n");
    for (port, name) in ["a_to_b", "b_to_a"].into_iter().enumerate() {
        let Some(path) = config.base.paths[port].first().and_then(Option::as_ref) else { continue };
        if let Model::Plain(Decision::Bernoulli { probability }) = &path.loss
            && *probability > 0.0
        {
            text.push_str(&format!("[{name}.loss]\nmodel = \"bernoulli\"\nprobability = {probability:?}\n"));
        }
        if let Model::Plain(delay) = &path.delay
            && delay.fixed > 0
        {
            text.push_str(&format!("[{name}.delay]\nfixed = \"{}\"\n", Duration::from_nanos(delay.fixed)));
        }
        if let Some(rate) = &path.rate {
            let limit = match rate.limit {
                Rate::Bits(bits) => format!("{bits}bit"),
                Rate::Packets(packets) => format!("{packets}pps"),
            };
            text.push_str(&format!("[{name}.rate]\nlimit = \"{limit}\"\n"));
        }
    }
    text
}
