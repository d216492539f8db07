//! The closed loop: a measured path, its model, the emulation of that, and the measurement of the emulation.
//!
//! [`PathRun`] is a measured stream. [`close`] makes a scenario of it ([`path_model::fit`]), emulates that in a lab ([`LabPath`]),
//! measures the emulation with the plan of the stream, and compares both. The document and the page are in a [`LoopFolder`] then.
//!
//! The emulator, the responder and the second measurement are processes of their own on the hosts of the lab. They run this program, whose
//! command `romer loop` therefore has a part that measures again ([`PathRun::plan`]).
//!
//! | module | what |
//! | --- | --- |
//! | `closing` | the steps in their order |
//! | `folder` | the files of a loop |
//! | `lab_path` | the lab, with emulator and responder |
//! | `path_model` | a scenario of a measured stream |
//! | `plan` | the plan of a run, by which it is measured again |
//!
//! ```
//! use romer_loop::LoopFolder;
//!
//! let place = tempfile::tempdir()?;
//! let folder = LoopFolder::at(&place.path().join("loop"), false)?;
//! assert!(folder.path().starts_with(folder.folder()), "the run of the path is in the folder");
//! // The folder of something else is not used.
//! std::fs::write(place.path().join("notes.txt"), "")?;
//! assert!(LoopFolder::at(place.path(), true).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod closing;
mod error;
pub mod folder;
mod lab_path;
pub mod path_model;
mod plan;

pub use closing::{LoopObserver, LoopPhase, PathRun, Talk, close};
pub use error::{FolderFault, LoopError};
pub use folder::LoopFolder;
pub use lab_path::{FAR, LAB_STEM, LabPath};
