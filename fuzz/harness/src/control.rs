//! Messages of the control channel as both ends send them.

use romer_session::control::{ClientHello, ClockIdentity, ONE_WAY, ServerHello, VERSION};

fn clock() -> ClockIdentity {
    ClockIdentity { boot_id: "0f3c".into(), realtime_minus_boottime_ns: 12 }
}

pub(crate) fn hello() -> ClientHello {
    let features = vec![ONE_WAY.into(), "resume".into()];
    ClientHello { version: VERSION, software: "romer".into(), clock: clock(), features }
}

pub(crate) fn welcome() -> ServerHello {
    ServerHello {
        kernel_stamps: true,
        features: vec![ONE_WAY.into()],
        ..ServerHello::new("romer", clock(), 862)
    }
}
