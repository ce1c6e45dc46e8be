//! Everything that touches PostgreSQL.
