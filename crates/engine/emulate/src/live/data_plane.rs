//! How frames come in and go out: by packet sockets or by XDP sockets.

use romer_port::{Arena, PacketPort, Port, PortName, XdpMode, XdpPort};

use super::error::{LiveError, failed};

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataPlane {
    /// XDP sockets where both ports take them and show every frame as its wire would, else packet sockets.
    #[default]
    Auto,
    /// Packet sockets.
    Packet,
    /// XDP sockets, in the drivers or behind them.
    Xdp,
}

/// Opens both ports in the same way.
pub(super) fn open(
    plane: DataPlane,
    names: &[PortName; 2],
    arena: &mut Arena,
) -> Result<[Box<dyn Port>; 2], LiveError> {
    match plane {
        DataPlane::Packet => packet(names, arena),
        DataPlane::Xdp => xdp(names, arena),
        DataPlane::Auto => {
            let sees_all = names.iter().all(|name| XdpPort::sees_tags(name).unwrap_or(false));
            let ports = if sees_all { xdp(names, arena).ok() } else { None };
            ports.map_or_else(|| packet(names, arena), Ok)
        }
    }
}

fn packet([a, b]: &[PortName; 2], arena: &Arena) -> Result<[Box<dyn Port>; 2], LiveError> {
    let open = |name: &PortName| PacketPort::open(name, arena).map_err(|source| failed(name, source));
    Ok([Box::new(open(a)?), Box::new(open(b)?)])
}

/// In the drivers of both, or else behind both.
fn xdp(names: &[PortName; 2], arena: &mut Arena) -> Result<[Box<dyn Port>; 2], LiveError> {
    xdp_in(XdpMode::Native, names, arena).or_else(|_| xdp_in(XdpMode::Generic, names, arena))
}

fn xdp_in(mode: XdpMode, [a, b]: &[PortName; 2], arena: &mut Arena) -> Result<[Box<dyn Port>; 2], LiveError> {
    let first = XdpPort::open(a, arena, mode).map_err(|source| failed(a, source))?;
    match XdpPort::open(b, arena, mode) {
        Ok(second) => Ok([Box::new(first), Box::new(second)]),
        Err(source) => {
            first.close(arena);
            Err(failed(b, source))
        }
    }
}
