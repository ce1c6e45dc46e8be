//! Pages: one consistent look at the books, and lists by key: where a page starts, and whether there is
//! more on either side.

use sqlx::{Executor, Postgres, QueryBuilder, Transaction};

use crate::{Engine, error::StoreError};

impl Engine {
    /// One consistent, read-only look at the books, so that the figures of a page belong together.
    /// A statement that takes longer than five seconds is given up: a page must not hold the books up.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn snapshot(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let mut snapshot = self.pool().begin_with(begin).await?;
        snapshot
            .execute("SET LOCAL statement_timeout = '5s'")
            .await?;
        Ok(snapshot)
    }
}

/// Rows of a page.
pub const ROWS: usize = 50;

/// Where a page starts. Lists run newest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cursor<K> {
    /// At the newest row.
    #[default]
    Newest,
    /// Below this row.
    Older(K),
    /// Above this row.
    Newer(K),
}

impl<K: Copy> Cursor<K> {
    /// The same place under another type of key.
    pub fn map<L>(self, key: impl FnOnce(K) -> L) -> Cursor<L> {
        match self {
            Self::Newest => Cursor::Newest,
            Self::Older(at) => Cursor::Older(key(at)),
            Self::Newer(at) => Cursor::Newer(key(at)),
        }
    }

    /// Whether rows are read upwards, and the key they are read from; `top` is above every key.
    pub(crate) fn start(self, top: K) -> (bool, K) {
        match self {
            Self::Newest => (false, top),
            Self::Older(key) => (false, key),
            Self::Newer(key) => (true, key),
        }
    }
}

impl<K> Cursor<K>
where
    K: Copy + sqlx::Encode<'static, Postgres> + sqlx::Type<Postgres> + Send + 'static,
{
    /// Ends a query whose conditions vary: the cursor's condition, its direction, its length.
    pub(crate) fn end(&self, query: &mut QueryBuilder<Postgres>, column: &str) {
        let direction = match self {
            Self::Newest => " DESC",
            Self::Older(key) => {
                query.push(" AND ").push(column).push(" < ").push_bind(*key);
                " DESC"
            }
            Self::Newer(key) => {
                query.push(" AND ").push(column).push(" > ").push_bind(*key);
                " ASC"
            }
        };
        query.push(" ORDER BY ").push(column).push(direction);
        query.push(" LIMIT ").push_bind(Page::<K>::ASK);
    }
}

/// A page of a list, newest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Whether there are rows above.
    pub newer: bool,
    /// Whether there are rows below.
    pub older: bool,
}

impl<T> Page<T> {
    /// Rows to ask for: one more than are shown tells whether there are more.
    pub(crate) const ASK: i64 = ROWS as i64 + 1;

    /// A page from up to [`Page::ASK`] rows in the order [`Cursor::end`] read them.
    pub(crate) fn read<K>(mut rows: Vec<T>, cursor: &Cursor<K>) -> Self {
        if matches!(cursor, Cursor::Newer(_)) {
            rows.reverse();
        }
        Self::new(rows, cursor)
    }

    /// A page from up to [`Page::ASK`] rows in list order.
    pub(crate) fn new<K>(mut rows: Vec<T>, cursor: &Cursor<K>) -> Self {
        let more = rows.len() > ROWS;
        match cursor {
            Cursor::Newest | Cursor::Older(_) => {
                rows.truncate(ROWS);
                Self {
                    rows,
                    newer: !matches!(cursor, Cursor::Newest),
                    older: more,
                }
            }
            Cursor::Newer(_) => {
                if more {
                    rows.remove(0);
                }
                Self {
                    rows,
                    newer: more,
                    older: true,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extra_row_tells_of_more_and_is_not_shown() {
        let rows = |n: usize| (0..n).collect::<Vec<_>>();
        let page = Page::new(rows(51), &Cursor::<i64>::Newest);
        assert_eq!(
            (page.rows.len(), page.rows[0], page.newer, page.older),
            (50, 0, false, true)
        );
        let page = Page::new(rows(51), &Cursor::Newer(7));
        assert_eq!(
            (page.rows.len(), page.rows[0], page.newer, page.older),
            (50, 1, true, true)
        );
        let page = Page::new(rows(3), &Cursor::Older(7));
        assert_eq!((page.rows.len(), page.newer, page.older), (3, true, false));
    }
}
