//! The simulated provider and its customers' backends: a process of its own that knows nothing of the
//! product but its address, API keys and webhook secrets, and reaches it over HTTP only.
//!
//! It is bounded in jobs at once and in patience, and ends when its standard input does, so it cannot
//! outlive the demo.

mod answers;
mod backend;
mod life;
mod mail;

pub(super) use mail::scheme;

use std::{
    io::{self, BufRead as _, Write as _},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use engine::clock::Clock;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::JoinSet,
    time::{interval, sleep},
};

use super::wire::{Note, Part, Tally};
use answers::Works;
use backend::Backend;
use mail::Mail;

/// Jobs alive at once. Most of the time each of them waits.
const ALIVE: usize = 96;
/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(250);
/// A job of the trickle every so often, living so many times longer than in the burst.
const TRICKLE: (Duration, u32) = (Duration::from_millis(1500), 20);

/// What all lives share.
pub(super) struct Stage {
    part: Part,
    backend: Backend,
    mail: Mail,
    clock: Clock,
    tally: Arc<Ledger>,
    notes: mpsc::UnboundedSender<Note>,
    works: Works,
}

/// The running counts.
#[derive(Default)]
pub(super) struct Ledger(Mutex<Tally>);

impl Ledger {
    fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn read(&self) -> Tally {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Plays the part that comes by standard input.
///
/// # Errors
/// When the part cannot be read, the client not be made, or the demo is gone.
pub(crate) async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let part: Part = serde_json::from_str(&line)?;
    let gone = input_closed();
    crate::outbound::choose_cryptography();
    let (notes, told) = mpsc::unbounded_channel();
    let tally = Arc::new(Ledger::default());
    let clock = Clock::system();
    let stage = Arc::new(Stage {
        backend: Backend::new(&part, Arc::clone(&tally))?,
        mail: Mail::new(&part, clock.clone(), Arc::clone(&tally))?,
        clock,
        tally,
        notes,
        works: Works::default(),
        part,
    });
    let (listener, address) = answers::listen().await?;
    note(&stage, Note::Listening { address });
    tokio::select! {
        played = play(Arc::clone(&stage)) => played?,
        served = answers::serve(listener, Arc::clone(&stage)) => served?,
        _ = gone => {}
        written = write(told, &stage.tally) => written?,
    }
    Ok(())
}

/// Resolves when the demo is gone. A thread of its own reads, because reading a pipe blocks.
fn input_closed() -> oneshot::Receiver<()> {
    let (closed, gone) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        while matches!(io::stdin().lock().read_line(&mut line), Ok(count) if count > 0) {
            line.clear();
        }
        drop(closed);
    });
    gone
}

/// Writes the notes, and progress between them. Lines are short, so writing hardly blocks.
async fn write(mut notes: mpsc::UnboundedReceiver<Note>, tally: &Ledger) -> io::Result<()> {
    let mut tick = interval(TELL_EVERY);
    loop {
        let note = tokio::select! {
            Some(note) = notes.recv() => note,
            _ = tick.tick() => Note::Progress { tally: tally.read() },
        };
        let mut line = serde_json::to_vec(&note)?;
        line.push(b'\n');
        let mut output = io::stdout().lock();
        output.write_all(&line)?;
        output.flush()?;
    }
}

/// The burst, and the trickle after it. Does not return: the demo closes our input when it has heard
/// that all is played.
async fn play(stage: Arc<Stage>) -> Result<(), tokio::task::JoinError> {
    let room = Arc::new(Semaphore::new(ALIVE));
    let mut lives = JoinSet::new();
    let mut pace = stage
        .part
        .rate
        .map(|rate| interval(Duration::from_secs(1) / rate));
    for index in 0..stage.part.jobs {
        if let Some(pace) = &mut pace {
            pace.tick().await;
        }
        begin(&stage, &room, &mut lives, index, 1).await;
        while let Some(ended) = lives.try_join_next() {
            ended?;
        }
    }
    while let Some(ended) = lives.join_next().await {
        ended?;
    }
    note(
        &stage,
        Note::Done {
            tally: stage.tally.read(),
        },
    );
    let (every, stretch) = TRICKLE;
    for index in stage.part.jobs.. {
        sleep(every).await;
        if stage.part.trickle {
            begin(&stage, &room, &mut lives, index, stretch).await;
        }
        while let Some(ended) = lives.try_join_next() {
            ended?;
        }
    }
    Ok(())
}

async fn begin(
    stage: &Arc<Stage>,
    room: &Arc<Semaphore>,
    lives: &mut JoinSet<()>,
    index: u64,
    stretch: u32,
) {
    // The semaphore is never closed, so a permit always comes.
    let permit = Arc::clone(room).acquire_owned().await.ok();
    let stage = Arc::clone(stage);
    lives.spawn(async move {
        if let Err(text) = life::live(&stage, index, stretch).await {
            note(&stage, Note::Trouble { index, text });
        }
        stage.tally.count(|tally| tally.played += 1);
        drop(permit);
    });
}

/// Tells the demo; when it is gone, so are we in a moment.
fn note(stage: &Stage, note: Note) {
    stage.notes.send(note).unwrap_or_default();
}
