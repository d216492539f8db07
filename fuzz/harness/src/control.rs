//! Messages of the control channel as both ends send them.

use romer_session::control::{ClockIdentity, Hello, ONE_WAY, VERSION, Welcome};

fn clock() -> ClockIdentity {
    ClockIdentity { boot_id: "0f3c".into(), realtime_minus_boottime_ns: 12 }
}

pub(crate) fn hello() -> Hello {
    let features = vec![ONE_WAY.into(), "resume".into()];
    Hello { version: VERSION, software: "romer".into(), clock: clock(), features }
}

pub(crate) fn welcome() -> Welcome {
    Welcome { kernel_stamps: true, features: vec![ONE_WAY.into()], ..Welcome::new("romer", clock(), 862) }
}
