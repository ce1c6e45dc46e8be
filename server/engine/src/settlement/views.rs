//! What the console shows of settlements.
