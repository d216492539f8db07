//! The hash on which every choice depends.
