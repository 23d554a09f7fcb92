//! A trajectory that was divided by atoms: parts of it in files of their own, read as one.

pub use heads::Heads;

mod heads;
