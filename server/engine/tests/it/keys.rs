//! Keys that hold over tenants and repeats.

use chrono::TimeDelta;
use domain::id::{LotId, WalletId};
use engine::{
    job::{dispatch::RecordError, submit::Request},
    wallet::{Grant, GrantError},
};
use sqlx::PgPool;

use crate::bench::{Bench, Order, succeeded, succeeded_by_reference, until_blocked, usd};

fn with_reference(reference: &'static str) -> Order {
    Order {
        reference: Some(reference),
        ..Order::default()
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_reference_means_one_job_whichever_tenants(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let neighbour = bench.neighbour().await;
    bench.grant("10", None).await;
    neighbour.grant("10", None).await;
    let job = bench.order(4, with_reference("task-1")).await;
    let other = neighbour.submit(4).await;

    let taken = neighbour
        .engine
        .attach_job_reference((neighbour.tenant, true), other, "acme", "task-1")
        .await;
    assert!(
        matches!(taken, Err(RecordError::ReferenceTaken)),
        "{taken:?}"
    );

    bench
        .hear(&succeeded_by_reference("e1", "task-1", 3, 1))
        .await;
    bench.settle().await;
    assert_eq!(
        bench.job(job).await,
        "completed captured held 0 captured 3 owed 0"
    );
    assert_eq!(
        bench.job(other).await,
        "pending reserved held 4 captured 0 owed 0"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_event_cannot_give_a_job_the_reference_of_another_tenants(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let neighbour = bench.neighbour().await;
    bench.grant("10", None).await;
    neighbour.grant("10", None).await;
    bench.order(4, with_reference("task-1")).await;
    let other = neighbour.submit(4).await;
    let mut body = succeeded("e1", other, 3, 1);
    body["data"]["provider_reference"] = "task-1".into();
    let event = bench.hear(&body).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "rejected: reference_mismatch");
    assert_eq!(
        bench.job(other).await,
        "pending reserved held 4 captured 0 owed 0"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_rehearsal_and_the_real_thing_may_use_the_same_ids(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let rehearsal = WalletId(bench.engine.mint());
    bench.open_wallet(rehearsal, false).await;
    bench.grant("10", None).await;
    bench.grant_to(rehearsal, "10", None).await;
    let request = |wallet, livemode| Request {
        tenant: bench.tenant,
        livemode,
        wallet,
        user: "user".into(),
        client_request_id: "order-1".into(),
        model: crate::bench::price().model,
        estimate: None,
        source: None,
        output_required: false,
    };
    for (wallet, livemode) in [(rehearsal, false), (bench.wallet, true)] {
        let submission = bench.engine.submit_job(&request(wallet, livemode)).await;
        assert!(submission.unwrap().created, "live: {livemode}");
    }
    let again = bench.engine.submit_job(&request(rehearsal, false)).await;
    let again = again.unwrap();
    assert!(!again.created);
    assert!(!again.job.livemode);
}

fn payment(bench: &Bench, key: &str, amount: &str) -> Grant {
    Grant {
        tenant: bench.tenant,
        wallet: bench.wallet,
        key: key.to_owned(),
        amount: usd(amount),
        expires_at: None,
        note: "paid".to_owned(),
        action: None,
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_grant_repeated_under_its_key_credits_once(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let first = bench
        .engine
        .grant(&payment(&bench, "payment-1", "10"))
        .await;
    let first: LotId = first.unwrap();
    let reworded = Grant {
        note: "the same payment".to_owned(),
        ..payment(&bench, "payment-1", "10")
    };
    assert_eq!(bench.engine.grant(&reworded).await.unwrap(), first);
    assert_eq!(bench.balances().await, "available 10\nfunding -10\n");

    let soon = Some(bench.now() + TimeDelta::days(1));
    let other_wallet = bench.neighbour().await.wallet;
    for other in [
        payment(&bench, "payment-1", "11"),
        Grant {
            expires_at: soon,
            ..payment(&bench, "payment-1", "10")
        },
    ] {
        let refused = bench.engine.grant(&other).await;
        assert!(
            matches!(&refused, Err(GrantError::KeyReused { lot, .. }) if *lot == first),
            "{refused:?}"
        );
    }
    let elsewhere = Grant {
        wallet: other_wallet,
        ..payment(&bench, "payment-1", "10")
    };
    let refused = bench.engine.grant(&elsewhere).await;
    assert!(
        matches!(refused, Err(GrantError::UnknownWallet(_))),
        "{refused:?}"
    );
    assert_eq!(bench.balances().await, "available 10\nfunding -10\n");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn two_grants_of_one_key_at_once_credit_once(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let credit = payment(&bench, "payment-1", "10");
    let mut first = bench.begin().await;
    let made = engine::wallet::grant(&mut first, &bench.engine, &credit)
        .await
        .unwrap();
    let second = tokio::spawn({
        let (engine, credit) = (bench.engine.clone(), credit.clone());
        async move { engine.grant(&credit).await }
    });
    until_blocked(&bench.owner).await;
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap().unwrap(), made.lot);
    assert_eq!(bench.balances().await, "available 10\nfunding -10\n");
}
