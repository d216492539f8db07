use crate::args::DoctorArgs;
use crate::failure::Failure;
pub(crate) fn run(_a: &DoctorArgs) -> Result<u8, Failure> {
    Err(Failure::own("x"))
}
