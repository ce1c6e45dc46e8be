//! Hydrates the islands.
