//! The rules of Quittance.
