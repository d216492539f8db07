//! The choice of pairs in large groups.
