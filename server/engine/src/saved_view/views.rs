//! The saved views an operator sees above a list.

use domain::{
    id::OperatorId,
    saved_view::{List, SavedView},
};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StoreError;

/// A view as it is offered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offered {
    /// View.
    pub id: Uuid,
    /// List, name and filters.
    pub view: SavedView,
    /// Whether every operator sees it.
    pub shared: bool,
    /// Who saved it, if it was somebody else.
    pub by: Option<String>,
}

/// Views of a list that the operator has saved or others share, by name.
///
/// # Errors
/// [`StoreError`].
pub async fn offered(
    conn: &mut PgConnection,
    list: List,
    operator: OperatorId,
) -> Result<Vec<Offered>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT v.view_id, v.name, v.filters, v.shared, o.name AS owner, v.operator_id = $2 AS "own!"
           FROM saved_views v JOIN operators o USING (operator_id)
           WHERE v.list = $1 AND (v.operator_id = $2 OR v.shared)
           ORDER BY v.operator_id <> $2, lower(v.name), v.view_id LIMIT 100"#,
        list.as_str(),
        operator.0,
    )
    .fetch_all(conn)
    .await?;
    let offered = rows.into_iter().map(|row| {
        let view = SavedView::read(list, &row.name, &row.filters)
            .map_err(|error| StoreError::inconsistent("saved_views", "filters", error))?;
        Ok(Offered {
            id: row.view_id,
            view,
            shared: row.shared,
            by: (!row.own).then_some(row.owner),
        })
    });
    offered.collect()
}
