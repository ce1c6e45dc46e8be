//! What the console reads: pages by key, the proof of a job, the ledger with its running balance.

use chrono::TimeDelta;
use domain::settlement::{AccountKind, Phase};
use engine::{
    job::views::uncertain, ledger::views as ledger, overview, page::Cursor,
    settlement::views as settlements,
};
use sqlx::PgPool;

use crate::bench::{Bench, failed, started, succeeded, usd};

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_proof_of_a_job_tells_everything_that_moved(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let job = bench.submit(4).await;
    bench.hear(&started("e1", job, 1)).await;
    bench.hear(&succeeded("e2", job, 3, 2)).await;
    bench.settle().await;

    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let proof = settlements::job_proof(&mut conn, job)
        .await
        .unwrap()
        .unwrap();
    let steps: Vec<_> = proof
        .steps
        .iter()
        .map(|step| (step.number, step.to.as_str(), step.cause.as_str()))
        .collect();
    assert_eq!(
        steps,
        [
            (1, "pending", "submit"),
            (2, "running", "event"),
            (3, "completed", "event")
        ]
    );
    assert_eq!(proof.job.captured.to_string(), "3.00 USD");
    let events: Vec<_> = proof
        .events
        .iter()
        .map(|event| (event.kind.as_str(), event.state.as_str()))
        .collect();
    assert_eq!(
        events,
        [("job.started", "applied"), ("job.succeeded", "applied")]
    );
    let mut moves = String::new();
    for settlement in &proof.settlements {
        for transfer in &settlement.transfers {
            let side = |side: &settlements::SideView| {
                let balance = side
                    .balance
                    .map(|(before, after)| format!(" {}→{}", before.value(), after.value()));
                format!("{}{}", side.kind, balance.unwrap_or_default())
            };
            let (debit, credit) = (side(&transfer.debit), side(&transfer.credit));
            let (key, entry, amount) = (settlement.line.key, transfer.entry_type, transfer.amount);
            moves.push_str(&format!(
                "{}/{} {entry} {amount}: {debit} | {credit}\n",
                key.phase, key.version
            ));
        }
    }
    insta::assert_snapshot!(moves, @r"
    reserve/1 hold 4.00 USD: available 10→6 | held 0→4
    capture/1 capture 3.00 USD: held 4→1 | revenue
    capture/1 remainder 1.00 USD: held 1→0 | available 6→7
    ");
    let capture = &proof.settlements[1];
    assert_eq!(capture.snapshot["rating"]["lines"][0]["quantity"], "3");
    assert_eq!(
        settlements::find(&mut conn, capture.line.id)
            .await
            .unwrap()
            .as_ref(),
        Some(capture)
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn pages_run_by_key_in_both_directions(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("1000", None).await;
    for n in 0..60 {
        let job = bench.submit(1).await;
        bench.hear(&failed(&format!("e{n}"), job, 1)).await;
    }
    bench.settle().await;

    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let filter = settlements::Filter {
        phase: Some(Phase::Release),
        ..Default::default()
    };
    let first = settlements::list(&mut conn, filter, Cursor::Newest)
        .await
        .unwrap();
    assert_eq!(
        (first.rows.len(), first.newer, first.older),
        (50, false, true)
    );
    let rest = settlements::list(&mut conn, filter, Cursor::Older(first.rows[49].id))
        .await
        .unwrap();
    assert_eq!((rest.rows.len(), rest.newer, rest.older), (10, true, false));
    let back = settlements::list(&mut conn, filter, Cursor::Newer(rest.rows[0].id))
        .await
        .unwrap();
    assert_eq!(back.rows, first.rows);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_ledger_of_a_wallet_is_a_chain_over_its_pages(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("1000", None).await;
    for n in 0..60 {
        let job = bench.submit(1).await;
        bench.hear(&failed(&format!("e{n}"), job, 1)).await;
    }
    bench.settle().await;

    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let wallet = (bench.tenant, bench.wallet);
    let first = ledger::wallet_ledger(&mut conn, wallet, AccountKind::Available, Cursor::Newest)
        .await
        .unwrap();
    assert_eq!(first.rows[0].balance.to_string(), "1000.00 USD");
    let older = Cursor::Older(first.rows[49].posting_id);
    let second = ledger::wallet_ledger(&mut conn, wallet, AccountKind::Available, older)
        .await
        .unwrap();
    let newer = Cursor::Newer(second.rows[0].posting_id);
    let back = ledger::wallet_ledger(&mut conn, wallet, AccountKind::Available, newer)
        .await
        .unwrap();
    assert_eq!(back.rows, first.rows);
    // 60 holds, 60 releases, one grant: each balance is the one below it plus its own change.
    let last = ledger::wallet_ledger(
        &mut conn,
        wallet,
        AccountKind::Available,
        Cursor::Older(second.rows[49].posting_id),
    );
    let last = last.await.unwrap();
    assert_eq!((last.rows.len(), last.older), (21, false));
    let all: Vec<_> = [first.rows, second.rows, last.rows].concat();
    for pair in all.windows(2) {
        assert_eq!(
            pair[0].balance,
            pair[1].balance.plus(pair[0].change).unwrap()
        );
    }

    let wallets = ledger::wallets(&mut conn, None, None, Cursor::Newest)
        .await
        .unwrap();
    assert_eq!(
        (wallets.rows.len(), wallets.rows[0].available.to_string()),
        (1, "1000.00 USD".into())
    );
    assert_eq!(
        ledger::lots(&mut conn, wallet).await.unwrap()[0]
            .remaining
            .to_string(),
        "1000.00 USD"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_first_page_counts_what_waits_and_what_moved(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("100", None).await;
    let (done, _open) = (bench.submit(4).await, bench.submit(5).await);
    bench.hear(&succeeded("e1", done, 3, 2)).await;
    let read = overview::read(&bench.engine, true).await.unwrap();
    assert_eq!((read.in_flight.count, read.due.count), (2, 1));
    bench.settle_after(chrono::TimeDelta::minutes(1)).await;
    let read = overview::read(&bench.engine, true).await.unwrap();
    assert_eq!((read.in_flight.count, read.due.count), (1, 0));
    let test = overview::read(&bench.engine, false).await.unwrap();
    assert_eq!(test.in_flight.count, 0);
    assert_eq!(read.pace.len(), 60);
    assert_eq!(read.pace[59].settled, 1);
    assert_eq!(read.days.len(), 14);
    let today: Vec<_> = read.days[13]
        .sums
        .iter()
        .map(|sum| format!("{} {} {}", sum.phase, sum.count, sum.amount))
        .collect();
    assert_eq!(
        today,
        [
            "capture 1 3.00 USD",
            "grant 1 100.00 USD",
            "reserve 2 9.00 USD"
        ]
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_desk_of_uncertain_jobs_holds_what_is_overdue_oldest_first(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("100", None).await;
    let oldest = bench.submit(5).await;
    bench.hear(&started("e1", oldest, 0)).await;
    bench.settle_after(TimeDelta::minutes(30)).await;
    let overdue = bench.submit(3).await;
    let done = bench.submit(2).await;
    bench.hear(&succeeded("e2", done, 2, 1)).await;
    bench.settle_after(TimeDelta::minutes(61)).await;
    bench.submit(1).await;

    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let before = bench.now() - uncertain::OVERDUE;
    let desk = uncertain::list(&mut conn, true, before).await.unwrap();
    let jobs: Vec<_> = desk.iter().map(|row| row.job).collect();
    assert_eq!(jobs, [oldest, overdue]);
    let heard = desk[0].last_heard.as_ref().unwrap();
    assert_eq!(heard.kind, "job.started");
    assert!(desk[1].last_heard.is_none());
    let stake = uncertain::at_stake(&mut conn, true, before).await.unwrap();
    assert_eq!((stake[0].jobs, stake[0].held), (2, usd("8")));
    let test = uncertain::list(&mut conn, false, before).await.unwrap();
    assert!(test.is_empty());
}
