//! Seals: what stands for all history up to a moment.

mod page;

pub use page::SealsPage;

use crate::list::Key;

/// Where a seal is shown: the list, beginning with it.
pub(crate) fn href(number: i64) -> String {
    format!("/seals?page=o{}", number.saturating_add(1).encode())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_list_begins_with_the_seal() {
        assert_eq!(super::href(15), "/seals?page=o10");
    }
}
