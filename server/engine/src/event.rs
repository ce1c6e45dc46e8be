//! Events as staff see them. What stores them is the inbox, what decides them the settlement.

pub mod views;
