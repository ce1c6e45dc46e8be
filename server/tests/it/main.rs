//! The product from outside: its program and its HTTP interfaces.

mod signature_check;
