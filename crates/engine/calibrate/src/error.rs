//! What can go wrong with a calibration.

use romer_endpoint::EndpointError;
use romer_host::HostError;
use romer_record::Exit;
use romer_store::StoreError;
use thiserror::Error;

/// What went wrong. The text has the form `WHAT (WHERE): WHY; what to do`.
#[derive(Debug, Error)]
pub enum CalibrateError {
    /// The user ended it; nothing is kept.
    #[error("interrupted (calibrate): not every round was measured; start it again")]
    Interrupted,
    /// The laboratory cannot be made ready.
    #[error("cannot {what} (calibrate): {source}; see `romer doctor`")]
    Host {
        /// What was tried, as a verb.
        what: &'static str,
        /// Why not.
        source: HostError,
    },
    /// Common packets cannot be sent or received by the interface of the route.
    #[error("cannot {what} (calibrate): {source}; name their interface with --interface IFACE")]
    NoInterface {
        /// What was tried, as a verb.
        what: &'static str,
        /// Why not.
        source: HostError,
    },
    /// The system refuses a folder.
    #[error(
        "cannot make a folder for the packets (calibrate): {0}; free some space in the folder for temporary files"
    )]
    Folder(std::io::Error),
    /// The measurement itself failed.
    #[error(transparent)]
    Measure(#[from] EndpointError),
    /// Its run cannot be read again.
    #[error(transparent)]
    Run(#[from] StoreError),
    /// Packets were lost on a path that loses none.
    #[error("there is nothing to calibrate with ({0}): no packet has all its stamps; see `romer doctor`")]
    Nothing(&'static str),
}

impl CalibrateError {
    pub(crate) fn host(what: &'static str) -> impl FnOnce(HostError) -> Self {
        move |source| Self::Host { what, source }
    }

    /// The same of common packets, whose `interface` may be left to the route.
    pub(crate) fn common_packets(
        what: &'static str,
        interface: Option<&str>,
    ) -> impl FnOnce(HostError) -> Self {
        let is_named = interface.is_some();
        move |source| if is_named { Self::Host { what, source } } else { Self::NoInterface { what, source } }
    }

    /// The exit code of the program.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Interrupted => Exit::Interrupted,
            Self::Host { .. } | Self::NoInterface { .. } | Self::Folder(_) | Self::Nothing(_) => {
                Exit::Environment
            }
            Self::Measure(error) => error.exit(),
            Self::Run(error) => error.exit(),
        }
    }
}
