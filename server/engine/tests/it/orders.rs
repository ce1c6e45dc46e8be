//! Any order of the same facts ends in the same books, in the database as in the domain.

use domain::id::{JobId, WalletId};
use engine::books;
use sqlx::PgPool;

use crate::bench::{Bench, Order, failed, started, succeeded};

/// All orders of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(n - 1);
    let places = |order: &Vec<usize>| {
        (0..n)
            .map(|at| [&order[..at], &[n - 1], &order[at..]].concat())
            .collect::<Vec<_>>()
    };
    shorter.iter().flat_map(places).collect()
}

async fn position(bench: &Bench, job: JobId, wallet: WalletId) -> (String, String) {
    let balances = sqlx::query_scalar(
        "SELECT string_agg(a.kind || ' ' || trim_scale(b.balance), ', ' ORDER BY a.kind)
         FROM accounts a JOIN balances b USING (tenant_id, account_id) WHERE a.wallet_id = $1",
    )
    .bind(wallet.0)
    .fetch_one(&bench.owner)
    .await
    .unwrap();
    let money = bench
        .job(job)
        .await
        .split_once(" held")
        .unwrap()
        .1
        .to_owned();
    (balances, money)
}

async fn check(pool: PgPool, one_batch: bool) {
    let bench = Bench::new(pool).await;
    let mut positions = Vec::new();
    for (n, order) in orders(4).into_iter().enumerate() {
        let wallet = WalletId(bench.engine.mint());
        bench.open_wallet(wallet, true).await;
        bench.grant_to(wallet, "30", None).await;
        let job = bench
            .order(
                10,
                Order {
                    wallet: Some(wallet),
                    ..Order::default()
                },
            )
            .await;
        let facts = [
            started(&format!("{n}a"), job, 1),
            failed(&format!("{n}b"), job, 2),
            succeeded(&format!("{n}c"), job, 3, 4),
            succeeded(&format!("{n}d"), job, 7, 3),
        ];
        for at in order {
            bench.hear(&facts[at]).await;
            if !one_batch {
                bench.settle().await;
            }
        }
        bench.settle().await;
        positions.push(position(&bench, job, wallet).await);
    }
    positions.dedup();
    assert_eq!(
        positions,
        [("available 23, held 0".into(), " 0 captured 7 owed 0".into())]
    );
    assert_eq!(books::verify(bench.engine.pool()).await.unwrap().breaks, []);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn every_order_of_four_facts_ends_in_the_same_position(pool: PgPool) {
    check(pool, false).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn and_so_it_does_when_they_come_in_one_batch(pool: PgPool) {
    check(pool, true).await;
}
