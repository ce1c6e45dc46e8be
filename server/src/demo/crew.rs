//! The simulated provider as seen from the demo: a child process that is given its part and reports.

use std::{io, net::SocketAddr, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::wire::{Note, Part};

/// How long the provider may take to end once its input has.
const FAREWELL: Duration = Duration::from_secs(5);

/// The running provider; it ends with this handle, and by itself when the demo is killed.
pub(super) struct Crew {
    child: Child,
    input: ChildStdin,
    notes: Lines<BufReader<ChildStdout>>,
}

impl Crew {
    /// Starts this same program as the provider.
    ///
    /// # Errors
    /// When the program cannot be started or does not take its part.
    pub(super) async fn start(part: &Part) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("demo-provider")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            // Ctrl-C is for the demo, which then ends the provider in order.
            .process_group(0)
            .spawn()?;
        let piped = || io::Error::other("the provider has no pipes");
        let (mut input, output) = (
            child.stdin.take().ok_or_else(piped)?,
            child.stdout.take().ok_or_else(piped)?,
        );
        let mut line = serde_json::to_vec(part)?;
        line.push(b'\n');
        input.write_all(&line).await?;
        input.flush().await?;
        Ok(Self {
            child,
            input,
            notes: BufReader::new(output).lines(),
        })
    }

    /// Its process id.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Where it can be asked about jobs: the first thing it reports but for progress.
    ///
    /// # Errors
    /// When it ends before it says so.
    pub(super) async fn address(&mut self) -> io::Result<SocketAddr> {
        loop {
            match self.next().await? {
                Some(Note::Listening { address }) => return Ok(address),
                Some(Note::Progress { .. }) => {}
                Some(_) | None => {
                    return Err(io::Error::other(
                        "the provider does not say where it can be asked",
                    ));
                }
            }
        }
    }

    /// The next thing it reports; `None` once it has ended.
    ///
    /// # Errors
    /// When it writes something else than notes.
    pub(super) async fn next(&mut self) -> io::Result<Option<Note>> {
        let Some(line) = self.notes.next_line().await? else {
            return Ok(None);
        };
        Ok(Some(serde_json::from_str(&line)?))
    }

    /// Ends it.
    ///
    /// # Errors
    /// When the operating system cannot say how it ended.
    pub(super) async fn stop(mut self) -> io::Result<()> {
        drop(self.input);
        if timeout(FAREWELL, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }
}
