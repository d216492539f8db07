//! What the server holds, and what it does for its pages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use romer_host::host_info::{self, Capability};
use romer_host::link::Network;
use romer_host::netns;
use romer_port::PortName;
use romer_record::doctor::Doctor;
use romer_record::emulation::{Emulation as EmulationDocument, PortDirection};
use romer_store::Runs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::{Guard, SESSION};
use crate::benchmark_job::{Benchmarks, Plans};
use crate::emulation::{Emulation, EmulationStatus};
use crate::events::SharedHub;
use crate::linked_emulation::LinkedEmulation;
use crate::loop_job::Loops;
use crate::measurement_job::{self, Job, MeasurementRequest, Measurements};
use crate::problem::{FieldError, Problem};
use crate::request_guard::Names;
use crate::runs::stored_runs;
use crate::scenario::{self, ScenarioRequest};

/// All that requests share.
pub(crate) struct App {
    pub(crate) guard: Guard,
    pub(crate) names: Names,
    pub(crate) hub: SharedHub,
    pub(crate) runs: Runs,
    pub(crate) measurements: Measurements,
    pub(crate) benchmarks: Benchmarks,
    pub(crate) loops: Loops,
    pub(crate) plans: Plans,
    pub(crate) openapi: String,
    /// The server belongs to an emulation of the command line and ends with it.
    pub(crate) ends_with_emulation: bool,
    pub(crate) port: u16,
    pub(crate) emulation: Mutex<Option<Arc<Emulation>>>,
    pub(crate) doctor: Mutex<()>,
}

/// Version, host and rights of this server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ServerInfo {
    /// Name and version of the program.
    software: String,
    /// Host name of the machine.
    host: String,
    /// Whether the server belongs to `romer emulate` and ends with its emulation.
    ends_with_emulation: bool,
    /// Whether an emulation is running.
    emulating: bool,
    /// Whether an emulation exists; it may have ended.
    has_emulation: bool,
    /// Folder in which runs are stored.
    runs: String,
    /// Whether the process has the rights for an emulation or a benchmark (CAP_NET_RAW and CAP_NET_ADMIN).
    may_emulate: bool,
    /// Whether benchmark plans may run the commands of their cases (`--allow-commands`).
    may_run_commands: bool,
}

/// A network interface that can be a port.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Interface {
    /// Name, `[NETNS/]IFACE`.
    name: String,
    /// Whether the interface is enabled.
    up: bool,
    /// MTU, bytes.
    mtu: u32,
    /// Kind of virtual link; `null` for other interfaces.
    kind: Option<String>,
}

/// Request for an emulation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = crate::request_defaults::may_be_left_out)]
pub(crate) struct EmulationRequest {
    /// Port a, `[NETNS/]IFACE`.
    a: String,
    /// Port b, `[NETNS/]IFACE`.
    b: String,
    /// Scenario; default: no impairment.
    #[serde(default)]
    scenario: Option<ScenarioRequest>,
    /// Accept a port that carries the default route of this host.
    #[serde(default)]
    allow_default_route: bool,
}

impl App {
    fn slot(&self) -> MutexGuard<'_, Option<Arc<Emulation>>> {
        self.emulation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The emulation, also one that has ended.
    pub(crate) fn emulation(&self) -> Result<Arc<Emulation>, Problem> {
        self.slot().clone().ok_or_else(|| {
            Problem::not_found(
                "there is no emulation; start one (POST /api/emulation), or run romer emulate --api",
            )
        })
    }

    /// Files that the scenario in force names.
    pub(crate) fn held_files(&self) -> BTreeMap<String, String> {
        self.slot().as_ref().map(|emulation| emulation.files()).unwrap_or_default()
    }

    pub(crate) fn session_cookie(&self) -> String {
        let session = self.guard.open_session();
        let age = SESSION.as_secs();
        let name = self.cookie_name();
        let secure = if self.names.tls { "; Secure" } else { "" };
        format!("{name}={session}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
    }

    /// Cookies know no ports: servers beside each other on one host would take each other's.
    pub(crate) fn cookie_name(&self) -> String {
        let prefix = if self.names.tls { "__Host-" } else { "" };
        format!("{prefix}romer_session_{}", self.port)
    }

    pub(crate) fn about(&self) -> ServerInfo {
        let slot = self.slot();
        ServerInfo {
            software: romer_record::SOFTWARE.into(),
            host: host_info::host_name().unwrap_or_default(),
            ends_with_emulation: self.ends_with_emulation,
            emulating: slot.as_ref().is_some_and(|emulation| emulation.is_running()),
            has_emulation: slot.is_some(),
            runs: self.runs.root().display().to_string(),
            may_emulate: host_info::capabilities()
                .is_ok_and(|rights| rights.has(Capability::NetRaw) && rights.has(Capability::NetAdmin)),
            may_run_commands: self.plans.commands,
        }
    }

    /// One examination at a time: two would disturb each other.
    pub(crate) fn doctor(&self) -> Doctor {
        let _alone = self.doctor.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = Some(self.runs.root().to_path_buf());
        let options = romer_doctor::DoctorOptions { runs, ..romer_doctor::DoctorOptions::default() };
        romer_report::doctor::document(romer_doctor::examine(&options))
    }

    pub(crate) fn interfaces(&self) -> Vec<Interface> {
        let mut found = Vec::new();
        let mut of = |namespace: Option<&str>| {
            let Ok(links) = Network::open(namespace).and_then(|network| network.links()) else { return };
            let links = links.into_iter().filter(|link| link.mac.is_some() && link.name != "lo");
            found.extend(links.map(|link| Interface {
                name: namespace.map_or_else(|| link.name.clone(), |space| format!("{space}/{}", link.name)),
                up: link.up,
                mtu: link.mtu,
                kind: link.kind,
            }));
        };
        of(None);
        netns::list().unwrap_or_default().iter().for_each(|namespace| of(Some(namespace)));
        found
    }

    pub(crate) fn start_emulation(&self, start: EmulationRequest) -> Result<EmulationStatus, Problem> {
        let mut slot = self.slot();
        if let Some(held) = slot.as_ref().filter(|held| held.is_running()) {
            let [a, b] = held.ports();
            let detail = format!("an emulation holds {a} and {b} already; stop it first");
            return Err(Problem::conflict("running", detail));
        }
        if self.ends_with_emulation {
            let detail =
                "this server belongs to an emulation that has ended, and ends with it; start another";
            return Err(Problem::conflict("ended", detail));
        }
        let ports = [port("a", &start.a)?, port("b", &start.b)?];
        let given = start.scenario.unwrap_or_default();
        let given = if given.toml.is_none() && given.scenario.is_none() {
            ScenarioRequest { toml: Some(String::new()), ..given }
        } else {
            given
        };
        let read = scenario::read(given, &BTreeMap::new())?;
        let [a, b] = &ports;
        let named = [("a", a.to_string()), ("b", b.to_string())];
        let started = Emulation::start(ports.clone(), read, start.allow_default_route);
        let emulation = Arc::new(started.map_err(|problem| about_port(problem, &named))?);
        self.hub.forget();
        let standing = emulation.standing();
        *slot = Some(emulation);
        drop(slot);
        self.hub.send("emulation", &standing);
        Ok(standing)
    }

    /// Ends the emulation; with `keep` it is a run from then on, unless the command line keeps it.
    pub(crate) fn stop_emulation(&self, keep: bool) -> Result<EmulationDocument, Problem> {
        let emulation = self.emulation()?;
        let snapshot = emulation.stop()?;
        let document = emulation.document(&snapshot);
        if !self.ends_with_emulation {
            emulation.keep(|| match (keep, document.a_to_b.received + document.b_to_a.received) {
                (false, _) => Err("it was not to be kept".into()),
                (true, 0) => Err("no packet passed through it".into()),
                (true, _) => stored_runs::keep_emulation(&self.runs, &document),
            });
        }
        self.hub.send("emulation", &emulation.standing());
        Ok(document)
    }

    /// Lets everything pass through the emulation untouched, or impairs it again, and tells every page.
    pub(crate) fn switch(&self, off: bool) -> Result<EmulationStatus, Problem> {
        let emulation = self.emulation()?;
        let standing = if off { emulation.pass()? } else { emulation.impair()? };
        self.hub.send("emulation", &standing);
        Ok(standing)
    }

    /// Starts to measure; what the packets pass through here is kept with the run where that is asked for.
    pub(crate) fn measure(&self, asked: MeasurementRequest) -> Result<Job, Problem> {
        let running = self.emulation().ok().filter(|emulation| emulation.is_running());
        let there = match asked.emulated {
            Some(there) => there,
            // Unless it is said that its packets go elsewhere, what runs here is kept with it.
            None => running.is_some().then(PortDirection::default),
        };
        let through = match there {
            None => None,
            Some(there) => {
                let none = || {
                    let detail = "no packets pass through an emulation of this server now; start one, or measure without it";
                    let about = FieldError {
                        field: "emulated".into(),
                        detail: detail.into(),
                        line: None,
                        column: None,
                    };
                    Problem::conflict("no-emulation", detail).about(about)
                };
                Some(LinkedEmulation::begin(running.ok_or_else(none)?, there))
            }
        };
        let asked = MeasurementRequest { emulated: there.map(Some), ..asked };
        measurement_job::start(&self.measurements, &self.runs, asked, through)
    }

    /// What happens each second.
    pub(crate) fn tick(&self) {
        let emulation = self.slot().clone();
        if !self.ends_with_emulation && emulation.as_ref().is_some_and(|held| held.has_ended_by_itself()) {
            // An interface went away: what was done until then is kept. There is nobody to tell of a refusal.
            let _ = self.stop_emulation(true);
        }
        if let Some(tick) = emulation.and_then(|held| held.tick()) {
            self.hub.tick(&tick);
        }
    }
}

/// A refusal that speaks of one of the ports, or of both, with the field that is meant.
fn about_port(problem: Problem, named: &[(&str, String); 2]) -> Problem {
    if problem.has_fields() {
        return problem;
    }
    let detail = problem.detail().to_owned();
    let words = |text: &str| {
        detail.split(|c: char| c.is_whitespace() || "(),;:'\"".contains(c)).any(|word| word == text)
    };
    let meant = named.iter().filter(|(_, name)| words(name));
    meant.fold(problem, |problem, (field, _)| {
        let about = FieldError { field: (*field).into(), detail: detail.clone(), line: None, column: None };
        problem.about(about)
    })
}

fn port(field: &str, text: &str) -> Result<PortName, Problem> {
    text.parse().map_err(|error: romer_port::PortError| {
        let detail = format!("{error}; write an interface, or NETNS/IF for one of another network namespace");
        let about = FieldError { field: field.into(), detail: detail.clone(), line: None, column: None };
        Problem::unprocessable("ports", detail).about(about)
    })
}

#[cfg(test)]
mod tests {
    use romer_emulate::live::LiveError;
    use romer_port::PortError;

    use super::*;

    /// A port used by another romer is a conflict (409); a missing one is not.
    #[test]
    fn used_ports_are_conflicts() {
        let refused = |source: PortError| {
            let name: PortName = "eth7".parse().unwrap();
            crate::emulation::refused(&LiveError::Port { name, source: Box::new(source) })
        };
        let taken = refused(PortError::InUse("eth7".into()));
        assert_eq!(taken.status(), 409);
        assert!(taken.detail().contains("in use by another romer"), "{}", taken.detail());
        assert_eq!(refused(PortError::NotEthernet("eth7".into())).status(), 422);
    }
}
