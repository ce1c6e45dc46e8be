//! Webhook signatures, through the public interface only.

mod edges;
mod keys;
mod laws;
mod shared_secret;
mod vectors;
