//! TODO-room timebase
