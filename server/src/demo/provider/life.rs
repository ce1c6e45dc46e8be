//! The life of one job, played from its plan.

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::{join_all, try_join};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

use super::{
    Stage,
    answers::Begun,
    backend::{Cancel, Submitted},
    mail::Letter,
    note,
};
use crate::demo::{
    cast::Sender,
    names, payload,
    payload::Setting,
    plan::{Attach, Event, Plan, Quantities, Story},
    wire::Note,
};

/// What one life knows.
struct Life<'a> {
    stage: &'a Stage,
    plan: Plan,
    job: String,
    reference: String,
    stretch: u32,
    /// When the work began, by the clock in bodies and by the one that wakes us.
    began: (DateTime<Utc>, Instant),
    heard: watch::Sender<bool>,
}

/// Plays job `index` to its end.
///
/// # Errors
/// The answer no right product gives.
pub(super) async fn live(stage: &Stage, index: u64, stretch: u32) -> Result<(), String> {
    let plan = Plan::draw(stage.part.seed, index, &stage.part.rates);
    let submitted = submit(stage, &plan).await?;
    let job = match submitted {
        Submitted::Job(job) => job,
        Submitted::Refused => {
            note(stage, Note::Job { index, job: None });
            return Ok(());
        }
    };
    note(
        stage,
        Note::Job {
            index,
            job: Some(job.clone()),
        },
    );
    let reference = names::reference(&stage.part.run, index);
    match plan.story {
        Story::Blocked | Story::Unaffordable => return Ok(()),
        Story::CancelledBeforeDispatch => {
            sleep(Duration::from_millis(
                (plan.cancel_after_ms * stretch).into(),
            ))
            .await;
            return match stage.backend.cancel(&plan, &job).await? {
                Cancel::Done => Ok(()),
                Cancel::Requested => Err(format!(
                    "{job} was never dispatched, yet its cancellation waits for a provider"
                )),
            };
        }
        _ => {}
    }
    if plan.attach == Attach::BeforeEvents {
        stage.backend.attach(&plan, &job, &reference).await?;
    }
    if plan.story == Story::CancelTooLate {
        // The work ends after this answer, so also after the instant the product has on record.
        stage.backend.cancel(&plan, &job).await?;
    }
    let began = (stage.clock.now(), Instant::now());
    let begun = Begun {
        index,
        job: job.clone(),
        at: began.0,
        stretch,
    };
    stage.works.begin(&reference, begun);
    let (heard, _) = watch::channel(false);
    let life = Life {
        stage,
        plan,
        job,
        reference,
        stretch,
        began,
        heard,
    };
    try_join(life.tell_all(), life.meanwhile()).await?;
    Ok(())
}

/// Submits, and sends the submission again where the plan says so.
async fn submit(stage: &Stage, plan: &Plan) -> Result<Submitted, String> {
    let submitted = stage.backend.submit(plan).await?;
    stage.tally.count(|tally| {
        tally.submitted += 1;
        tally.refused += u64::from(matches!(submitted, Submitted::Refused));
    });
    if let (Submitted::Job(job), true) = (&submitted, plan.resubmits) {
        let again = stage.backend.submit(plan).await?;
        if again != submitted {
            return Err(format!("{job} was submitted again and became {again:?}"));
        }
        stage.tally.count(|tally| tally.resubmitted += 1);
    }
    Ok(submitted)
}

impl Life<'_> {
    /// Every event on its own way, so that they overtake one another.
    async fn tell_all(&self) -> Result<(), String> {
        let told = join_all(
            self.plan
                .events
                .iter()
                .enumerate()
                .map(|(number, event)| self.tell(number, event)),
        )
        .await;
        told.into_iter().collect()
    }

    /// What the customer does while the provider works.
    async fn meanwhile(&self) -> Result<(), String> {
        if self.plan.attach == Attach::AfterFirstEvent {
            let mut heard = self.heard.subscribe();
            // The sender is ours, so the wait ends.
            heard
                .wait_for(|heard| *heard)
                .await
                .map_err(|error| error.to_string())?;
            self.stage
                .backend
                .attach(&self.plan, &self.job, &self.reference)
                .await?;
        }
        if self.plan.story == Story::CancelHonoured {
            sleep_until(self.moment(self.plan.cancel_after_ms)).await;
            self.stage.backend.cancel(&self.plan, &self.job).await?;
        }
        Ok(())
    }

    fn moment(&self, ms: u32) -> Instant {
        self.began.1 + Duration::from_millis(u64::from(ms) * u64::from(self.stretch))
    }

    async fn tell(&self, number: usize, event: &Event) -> Result<(), String> {
        sleep_until(self.moment(event.occurs_ms + event.delay_ms)).await;
        let mail = &self.stage.mail;
        let letter = self.letter(number, event, event.usage.as_ref(), 0)?;
        if let Some(how) = event.forgery {
            let cheaper = event.usage.as_ref().map(as_if_nothing);
            let body = self.letter(number, event, cheaper.as_ref(), 1)?.body;
            mail.forge(&letter, how, [body, b" ".to_vec()].concat())
                .await?;
        }
        for attempt in 0..event.lost_answers {
            mail.lose_answer(&letter, Duration::from_millis(u64::from(attempt) * 3))
                .await;
        }
        let mut copies = Vec::new();
        for copy in 0..usize::from(event.copies) {
            copies.push(self.letter(number, event, event.usage.as_ref(), copy + 1)?);
        }
        if event.at_once {
            let together = std::iter::once(&letter)
                .chain(&copies)
                .map(|letter| mail.deliver(letter));
            join_all(together)
                .await
                .into_iter()
                .collect::<Result<(), String>>()?;
        } else {
            mail.deliver(&letter).await?;
            self.heard.send_replace(true);
            for copy in &copies {
                mail.deliver(copy).await?;
            }
        }
        self.heard.send_replace(true);
        self.stage.tally.count(|tally| tally.events += 1);
        if let Some(other) = &event.conflict {
            mail.deliver(&self.letter(number, event, Some(other), 0)?)
                .await?;
            self.stage.tally.count(|tally| tally.contradicted += 1);
        }
        Ok(())
    }

    fn letter(
        &self,
        number: usize,
        event: &Event,
        usage: Option<&Quantities>,
        attempt: usize,
    ) -> Result<Letter, String> {
        let sender = if event.stray {
            Sender::AcmeTest
        } else {
            self.plan.sender
        };
        let named = (self.plan.names_job || event.stray).then_some(self.job.as_str());
        let target = match named {
            Some(job) if sender == Sender::Replicate => {
                format!("/webhooks/{}?job={job}", sender.slug())
            }
            _ => format!("/webhooks/{}", sender.slug()),
        };
        let url = format!("{}{target}", self.stage.part.base_url);
        let setting = Setting {
            reference: &self.reference,
            job: named,
            began: self.began.0,
            url: &url,
            stretch: self.stretch,
        };
        let body = payload::body(&self.plan, event, usage, &setting, attempt)
            .map_err(|error| error.to_string())?;
        Ok(Letter {
            sender,
            target,
            id: names::event(&self.stage.part.run, self.plan.index, number),
            body,
        })
    }
}

/// What a forger would like to pay for.
fn as_if_nothing(usage: &Quantities) -> Quantities {
    usage
        .iter()
        .map(|(meter, _)| (*meter, "0".to_owned()))
        .collect()
}
