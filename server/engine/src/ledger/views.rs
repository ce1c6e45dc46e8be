//! What the console shows of the ledger.
