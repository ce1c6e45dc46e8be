//! Planning a batch: running balances and lot movements are worked out here, in posting order, and
//! written as sets.

use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    id::{AccountId, JobId, LotId, SettlementId, TenantId, WalletId},
    lot::{self, Lot},
    money::Currency,
    settlement::{AccountKind, Entry, Phase, SettlementKey, Subject},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use super::{Funds, Locked, PostError, Posting, store};
use crate::{Engine, error::StoreError};

/// Settlements planned on locked wallets and not written yet.
#[derive(Debug)]
pub struct Batch {
    locked: Locked,
    at: DateTime<Utc>,
    pub(super) settlements: Vec<PlannedSettlement>,
    pub(super) transfers: Vec<PlannedTransfer>,
    pub(super) draws: Vec<PlannedDraw>,
    touched: HashSet<(TenantId, WalletId)>,
}

#[derive(Debug)]
pub(super) struct PlannedSettlement {
    pub(super) id: SettlementId,
    pub(super) posting: Posting,
    pub(super) hash: Hash,
    pub(super) livemode: bool,
}

#[derive(Debug)]
pub(super) struct PlannedTransfer {
    pub(super) settlement: SettlementId,
    pub(super) tenant: TenantId,
    pub(super) currency: Currency,
    pub(super) entry: Entry,
    pub(super) debit: Side,
    pub(super) credit: Side,
}

#[derive(Debug)]
pub(super) struct PlannedDraw {
    pub(super) tenant: TenantId,
    pub(super) settlement: SettlementId,
    pub(super) lot: LotId,
    pub(super) job: Option<JobId>,
    /// Negative takes from the lot, positive gives back.
    pub(super) change: Decimal,
}

/// One side of a transfer: a wallet account with its balance after it, or a platform account.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Wallet {
        account: AccountId,
        balance: Decimal,
    },
    Platform(PlatformKey),
}

/// What names a platform account.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct PlatformKey {
    pub(super) tenant: TenantId,
    pub(super) kind: AccountKind,
    pub(super) currency: Currency,
    pub(super) livemode: bool,
}

impl Batch {
    /// An empty batch; everything in it is posted at one instant.
    pub fn new(locked: Locked, at: DateTime<Utc>) -> Self {
        let (settlements, transfers, draws, touched) = Default::default();
        Self {
            locked,
            at,
            settlements,
            transfers,
            draws,
            touched,
        }
    }

    /// The wallet as it stands after everything planned so far.
    pub fn funds(&self, tenant: TenantId, wallet: WalletId) -> Option<&Funds> {
        self.locked.get(tenant, wallet)
    }

    /// Whether nothing is planned.
    pub fn is_empty(&self) -> bool {
        self.settlements.is_empty()
    }

    /// How many settlements are planned.
    pub fn len(&self) -> usize {
        self.settlements.len()
    }

    /// Plans one settlement.
    ///
    /// # Errors
    /// [`PostError`]; the batch is then unusable.
    pub fn add(&mut self, engine: &Engine, posting: &Posting) -> Result<SettlementId, PostError> {
        let key = posting.key;
        let id = SettlementId(engine.mint());
        let hash = posting.effect.content_hash(&key)?;
        self.move_lots(id, posting)?;
        let wallet = (key.tenant, posting.wallet);
        let funds = self
            .locked
            .wallets
            .get_mut(&wallet)
            .ok_or(PostError::NotLocked(posting.wallet))?;
        for entry in &posting.effect.entries {
            // Refuses a second currency before it can reach a balance.
            entry
                .amount
                .min(domain::money::Amount::zero(funds.currency))?;
            let (debit, credit) = entry.entry_type.accounts();
            let mut side = |kind, change| match funds.account(kind) {
                Some(account) => Side::Wallet {
                    balance: account.change(change),
                    account: account.id,
                },
                None => Side::Platform(PlatformKey {
                    tenant: key.tenant,
                    kind,
                    currency: funds.currency,
                    livemode: funds.livemode,
                }),
            };
            let debit = side(debit, -entry.amount.value());
            let credit = side(credit, entry.amount.value());
            let currency = funds.currency;
            self.transfers.push(PlannedTransfer {
                settlement: id,
                tenant: key.tenant,
                currency,
                entry: *entry,
                debit,
                credit,
            });
            self.touched.insert(wallet);
        }
        let livemode = funds.livemode;
        self.settlements.push(PlannedSettlement {
            id,
            posting: posting.clone(),
            hash,
            livemode,
        });
        Ok(id)
    }

    /// Keeps lots equal to the available account: what leaves it is drawn from lots, what returns to it
    /// goes back to the lots the job drew from.
    fn move_lots(&mut self, id: SettlementId, posting: &Posting) -> Result<(), PostError> {
        let key = posting.key;
        let change = available_change(&posting.effect.entries);
        if change.is_zero() {
            return Ok(());
        }
        let wallet = posting.wallet;
        let Locked { wallets, drawn } = &mut self.locked;
        let funds = wallets
            .get_mut(&(key.tenant, wallet))
            .ok_or(PostError::NotLocked(wallet))?;
        let (moves, job) = match (key.subject, key.phase) {
            (Subject::Job(job), _) => {
                let drawn = drawn.entry((key.tenant, job)).or_default();
                let moves = if change < Decimal::ZERO {
                    draw(funds, drawn, -change, self.at)
                        .map_err(|short| PostError::Short(wallet, short))?
                } else {
                    give_back(funds, drawn, change).ok_or(PostError::ReturnsTooMuch(key))?
                };
                (moves, Some(job))
            }
            // The lot row itself carries what was granted.
            (Subject::Lot(_), Phase::Grant) => return Ok(()),
            (Subject::Lot(lot), _) => (vec![(lot, change)], None),
        };
        let draws = moves.into_iter().map(|(lot, change)| PlannedDraw {
            tenant: key.tenant,
            settlement: id,
            lot,
            job,
            change,
        });
        self.draws.extend(draws);
        Ok(())
    }

    /// Writes everything planned: settlements, transfers, lots, wallet balances, platform balances last.
    ///
    /// # Errors
    /// [`PostError`]; the transaction must be rolled back.
    pub async fn write(self, conn: &mut PgConnection) -> Result<(), PostError> {
        if self.settlements.is_empty() {
            return Ok(());
        }
        let lost = store::insert_settlements(conn, &self.settlements, self.at).await?;
        if !lost.is_empty() {
            return Err(PostError::AlreadySettled(lost));
        }
        if self.transfers.is_empty() {
            return Ok(());
        }
        let wanted = self
            .transfers
            .iter()
            .flat_map(|transfer| [transfer.debit, transfer.credit]);
        let wanted = wanted.filter_map(|side| match side {
            Side::Platform(key) => Some(key),
            Side::Wallet { .. } => None,
        });
        let platform = store::platform_accounts(conn, &wanted.collect()).await?;
        store::insert_transfers(conn, &self.transfers, &platform, self.at).await?;
        store::insert_draws(conn, &self.draws).await?;
        store::move_lots(conn, &lot_changes(&self.draws)).await?;
        let touched = self
            .touched
            .iter()
            .filter_map(|wallet| Some((wallet.0, self.locked.wallets.get(wallet)?)));
        store::update_wallet_balances(conn, touched, self.at).await?;
        store::add_to_platform_balances(
            conn,
            &platform_changes(&self.transfers, &platform)?,
            self.at,
        )
        .await
    }
}

/// Net change of the available account by one settlement.
fn available_change(entries: &[Entry]) -> Decimal {
    let signed = |entry: &Entry| match entry.entry_type.accounts() {
        (AccountKind::Available, _) => -entry.amount.value(),
        (_, AccountKind::Available) => entry.amount.value(),
        _ => Decimal::ZERO,
    };
    entries.iter().map(signed).sum()
}

fn draw(
    funds: &mut Funds,
    drawn: &mut Vec<Lot>,
    amount: Decimal,
    at: DateTime<Utc>,
) -> Result<Vec<(LotId, Decimal)>, lot::Short> {
    let draws = lot::draw(&mut funds.lots, amount, at)?;
    for &(id, part) in &draws {
        match drawn.iter_mut().find(|lot| lot.id == id) {
            Some(lot) => lot.remaining += part,
            None => {
                let expires_at = funds
                    .lots
                    .iter()
                    .find(|lot| lot.id == id)
                    .and_then(|lot| lot.expires_at);
                drawn.push(Lot {
                    id,
                    remaining: part,
                    expires_at,
                });
            }
        }
    }
    Ok(draws.into_iter().map(|(lot, part)| (lot, -part)).collect())
}

/// `None` when the job drew less than is to return.
fn give_back(
    funds: &mut Funds,
    drawn: &mut [Lot],
    amount: Decimal,
) -> Option<Vec<(LotId, Decimal)>> {
    drawn.sort_by_key(Lot::burn_order);
    let burnt: Vec<_> = drawn.iter().map(|lot| (lot.id, lot.remaining)).collect();
    let returns = lot::give_back(&burnt, amount);
    for &(id, part) in &returns {
        if let Some(lot) = drawn.iter_mut().find(|lot| lot.id == id) {
            lot.remaining -= part;
            funds.refill(id, part, lot.expires_at);
        }
    }
    let returned: Decimal = returns.iter().map(|(_, part)| *part).sum();
    (returned == amount).then_some(returns)
}

/// One change a lot, in lot order.
fn lot_changes(draws: &[PlannedDraw]) -> BTreeMap<(TenantId, LotId), Decimal> {
    let mut changes = BTreeMap::<_, Decimal>::new();
    for draw in draws {
        *changes.entry((draw.tenant, draw.lot)).or_default() += draw.change;
    }
    changes.retain(|_, change| !change.is_zero());
    changes
}

/// Sum and number of the transfers of each platform account, in account order.
type PlatformChanges = BTreeMap<(AccountId, TenantId), (Decimal, i64)>;

/// One change a platform account.
fn platform_changes(
    transfers: &[PlannedTransfer],
    accounts: &store::PlatformAccounts,
) -> Result<PlatformChanges, StoreError> {
    let mut changes = PlatformChanges::new();
    for transfer in transfers {
        let amount = transfer.entry.amount.value();
        for (side, change) in [(transfer.debit, -amount), (transfer.credit, amount)] {
            if let Side::Platform(key) = side {
                let (sum, count) = changes.entry((accounts.id(&key)?, key.tenant)).or_default();
                *sum += change;
                *count += 1;
            }
        }
    }
    Ok(changes)
}

/// The key of a settlement that lost, found by what the database did return.
pub(super) fn lost(
    planned: &[PlannedSettlement],
    written: &HashSet<uuid::Uuid>,
) -> Vec<SettlementKey> {
    planned
        .iter()
        .filter(|settlement| !written.contains(&settlement.id.0))
        .map(|settlement| settlement.posting.key)
        .collect()
}
