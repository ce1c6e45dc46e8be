//! Drills: real processes are killed, cut off and kept waiting, and the books must not show it.
//!
//! Each drill has a database of its own, one process that receives and one that settles, submits jobs
//! and delivers their completions over HTTP, does its damage, and then lets the product go on. At the
//! end every job has been charged once and the books add up.

mod ground;
mod reconcile;
mod sender;

use std::time::Duration;

use sqlx::PgPool;

use crate::fault_proxy::FaultProxy;
use ground::Ground;

/// How many jobs a drill settles.
const JOBS: usize = 24;

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_worker_killed_before_its_commit_loses_nothing(pool: PgPool) {
    let ground = Ground::of(&pool).await;
    let front = ground.serve("receiver,api", &[]).await;
    let jobs = front.submit(&ground, 0..JOBS).await;
    front.complete(&jobs).await;

    let mut doomed = ground
        .serve("worker", &[("QUITTANCE_CRASH_AT", "before_commit")])
        .await;
    doomed.until_it_says("standing still until killed").await;
    doomed.kill().await;
    assert_eq!(
        front.charged(&ground, &jobs).await,
        0,
        "nothing was committed"
    );

    let _worker = ground.serve("worker", &[]).await;
    front.until_charged(&ground, &jobs).await;
    ground.assert_books(&jobs).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_worker_killed_after_its_commit_doubles_nothing(pool: PgPool) {
    let ground = Ground::of(&pool).await;
    let front = ground.serve("receiver,api", &[]).await;
    let jobs = front.submit(&ground, 0..JOBS).await;
    front.complete(&jobs).await;

    let mut doomed = ground
        .serve("worker", &[("QUITTANCE_CRASH_AT", "after_commit")])
        .await;
    doomed.until_it_says("standing still until killed").await;
    doomed.kill().await;
    assert!(
        front.charged(&ground, &jobs).await > 0,
        "a batch was committed"
    );

    let _worker = ground.serve("worker", &[]).await;
    front.until_charged(&ground, &jobs).await;
    // The provider repeats itself: nothing more may come of it.
    front.complete(&jobs).await;
    ground.until_quiet().await;
    ground.assert_books(&jobs).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_connection_cut_while_commit_is_in_flight_settles_once(pool: PgPool) {
    let ground = Ground::of(&pool).await;
    let proxy = FaultProxy::start(ground.database_address()).await;
    let front = ground.serve("receiver,api", &[]).await;
    let _worker = ground.serve_through("worker", proxy.address()).await;
    let mut jobs = Vec::new();
    for round in 0..6 {
        let first = round * JOBS;
        let submitted = front.submit(&ground, first..first + JOBS).await;
        if round % 2 == 0 {
            proxy.cut_after_commit(1);
        } else {
            proxy.cut_before_commit(1);
        }
        front.complete(&submitted).await;
        front.until_charged(&ground, &submitted).await;
        jobs.extend(submitted);
    }
    assert_eq!(proxy.lost(), 6, "every round lost the answer to a commit");
    ground.until_quiet().await;
    ground.assert_books(&jobs).await;
}

#[tokio::test]
async fn a_database_that_restarts_under_load_loses_no_acknowledged_event() {
    let (ground, cluster) = Ground::with_cluster().await;
    let front = ground.serve("receiver,api,worker", &[]).await;
    let jobs = front.submit(&ground, 0..JOBS * 4).await;

    let load = front.complete_with_patience(&jobs);
    let damage = async move {
        tokio::time::sleep(Duration::from_millis(150)).await;
        let cluster = blocking(cluster, |cluster| cluster.restart()).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let crash =
            |cluster: &mut embedded::Cluster| cluster.crash().and_then(|()| cluster.resume());
        blocking(cluster, crash).await
    };
    let ((), cluster) = tokio::join!(load, damage);

    front.until_charged(&ground, &jobs).await;
    ground.until_quiet().await;
    ground.assert_books(&jobs).await;
    drop((front, ground));
    drop(cluster);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_hung_endpoint_elsewhere_never_slows_an_answer(pool: PgPool) {
    let ground = Ground::of(&pool).await;
    let hung = ground::hung_endpoint().await;
    ground
        .add_source_with_jwks_at("hung", &format!("http://{hung}/jwks.json"))
        .await;
    let front = ground.serve("receiver,api,worker,scheduler", &[]).await;
    let jobs = front.submit(&ground, 0..JOBS).await;

    let refused = front.slowest_refusal("hung", 20).await;
    let accepted = front.slowest_acceptance(&jobs).await;
    let limit = Duration::from_millis(1500);
    assert!(
        refused < limit,
        "a request for the source whose keys hang took {refused:?}"
    );
    assert!(
        accepted < limit,
        "a request for another source took {accepted:?}"
    );
    front.until_charged(&ground, &jobs).await;
}

/// Runs something that blocks on the cluster off the runtime's threads.
async fn blocking(
    mut cluster: embedded::Cluster,
    act: impl FnOnce(&mut embedded::Cluster) -> Result<(), embedded::Error> + Send + 'static,
) -> embedded::Cluster {
    tokio::task::spawn_blocking(move || {
        act(&mut cluster).unwrap();
        cluster
    })
    .await
    .unwrap()
}
