//! The trial balance: every kind of account, and the sum that must be zero.

use domain::{
    id::TenantId,
    money::{Amount, Currency},
    settlement::AccountKind,
};
use sqlx::PgConnection;

use super::{currency, money};
use crate::error::StoreError;

/// The books of one tenant, currency and mode: every kind of account, and the sum, which is zero
/// when debits equal credits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrialBalance {
    /// Currency.
    pub currency: Currency,
    /// Sum of the balances of each kind of account.
    pub kinds: Vec<(AccountKind, Amount)>,
    /// Sum over all of them.
    pub total: Amount,
}

/// The trial balances of a mode, one a currency; of one tenant or of all together.
///
/// # Errors
/// [`StoreError`].
pub async fn trial_balance(
    conn: &mut PgConnection,
    tenant: Option<TenantId>,
    livemode: bool,
) -> Result<Vec<TrialBalance>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT a.currency, a.kind, sum(b.balance) AS "balance!"
           FROM accounts a JOIN balances b USING (tenant_id, account_id)
           WHERE a.livemode = $1 AND ($2::uuid IS NULL OR a.tenant_id = $2)
           GROUP BY a.currency, a.kind ORDER BY a.currency, a.kind"#,
        livemode,
        tenant.map(|tenant| tenant.0),
    )
    .fetch_all(conn)
    .await?;
    let mut books: Vec<TrialBalance> = Vec::new();
    for row in rows {
        let currency = currency(&row.currency)?;
        if books.last().is_none_or(|last| last.currency != currency) {
            books.push(TrialBalance {
                currency,
                kinds: Vec::new(),
                total: Amount::zero(currency),
            });
        }
        let balance = money(row.balance, currency)?;
        if let Some(book) = books.last_mut() {
            let total = book.total.plus(balance);
            book.total =
                total.map_err(|error| StoreError::inconsistent("balances", "balance", error))?;
            let kind = row.kind.parse();
            let kind = kind.map_err(|error| StoreError::inconsistent("accounts", "kind", error))?;
            book.kinds.push((kind, balance));
        }
    }
    // In the order the books are read: what tenants hold, what was earned, where it came from.
    for book in &mut books {
        book.kinds.sort_by_key(|(kind, _)| *kind);
    }
    Ok(books)
}
