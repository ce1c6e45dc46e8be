//! Quittance.
fn main() {}
