//! Deliveries as staff see them. What records them is the inbox.

pub mod views;
