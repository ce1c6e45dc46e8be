//! Files that are long.

use domain::statement::Outcome;
use engine::{page::Cursor as Place, statement::views};
use sqlx::PgPool;

use super::{HEAD, bench, counts, import, run};

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_long_file_is_read_in_batches_and_a_line_that_is_there_twice_is_found(pool: PgPool) {
    let bench = bench(pool).await;
    let mut file = HEAD.to_owned();
    for number in 0..20_500 {
        file += &format!("r-{number:05},images,1,\n");
    }
    let statement = import(&bench, &file).await;
    let missing = [(Outcome::MissingWithUs, 20_500)];
    assert_eq!(counts(&bench, &statement).await, missing);
    let tally = run(&bench).await;
    assert_eq!(tally.found, engine::books::MOST_BREAKS);
    assert_eq!(run(&bench).await.opened, 0, "the same ones are found again");
    let twice = import(&bench, &format!("{file}r-00000,images,3,\n")).await;
    assert_eq!((twice.accepted, twice.errors), (false, 1));
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let errors = views::errors(&mut conn, twice.id).await.unwrap();
    assert_eq!(errors[0].line, 20_502);

    let page = views::groups(&mut conn, statement.id, None, Place::Newest);
    let page = page.await.unwrap();
    let last = page.rows.last().unwrap().position;
    assert_eq!((page.newer, page.older, last), (false, true, 50));
    let next = views::groups(&mut conn, statement.id, None, Place::Older(last));
    let next = next.await.unwrap();
    assert_eq!((next.rows[0].position, next.newer), (51, true));
    let back = views::groups(&mut conn, statement.id, None, Place::Newer(51));
    assert_eq!(back.await.unwrap().rows, page.rows);
}
