//! Running the server programs on one data directory.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::account::Account;
use crate::home::Home;
use crate::{Error, Profile, Programs};

/// The role that owns everything, and its database.
pub(crate) const ROLE: &str = "quittance";

/// Crash recovery after much unflushed work takes minutes on a slow disk.
const READY_LIMIT: Duration = Duration::from_secs(300);
const STOP_LIMIT_S: &str = "120";
const POLL: Duration = Duration::from_millis(20);
/// How long the last backends of a killed server may take to notice and leave.
const STRAGGLERS: Duration = Duration::from_secs(15);

/// The programs, the user they run as, and the data they work on.
#[derive(Debug)]
pub(crate) struct Postmaster {
    pub(crate) programs: Programs,
    pub(crate) account: Account,
    pub(crate) data: PathBuf,
}

/// How a stop treats connected clients.
#[derive(Clone, Copy)]
pub(crate) enum Stop {
    /// Disconnects them, then writes a clean checkpoint.
    Fast,
    /// Ends at once; the next start recovers from the log.
    Immediate,
}

impl Postmaster {
    /// Makes the files of a cluster: UTF-8, byte order collation, page checksums.
    pub(crate) fn init(&self, profile: Profile) -> Result<(), Error> {
        let mut initdb = self.account.command(&self.programs.path("initdb"));
        initdb
            .args(["--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums"])
            // Replaced below before anybody can connect.
            .args(["--auth=trust", "--username", ROLE, "--pgdata"])
            .arg(&self.data);
        let auth = match profile {
            Profile::Durable => "scram-sha-256",
            Profile::Scratch => {
                initdb.arg("--no-sync");
                // The client's side of SCRAM takes tens of milliseconds a connection when it
                // is not optimised; the password never leaves this machine.
                "password"
            }
        };
        run(initdb, "initdb")?;

        let rules = self.data.join("pg_hba.conf");
        let text = format!("host all all 127.0.0.1/32 {auth}\n");
        fs::write(&rules, text).map_err(Error::io("writing", rules))?;
        self.alone(&format!("CREATE DATABASE {ROLE};"))
    }

    /// Sets the role's password (which is hex, so it needs no quoting).
    pub(crate) fn set_password(&self, password: &str) -> Result<(), Error> {
        self.alone(&format!("ALTER ROLE {ROLE} PASSWORD '{password}';"))
    }

    /// Runs one statement without a server and thus without a way for others to connect.
    fn alone(&self, statement: &str) -> Result<(), Error> {
        let program = self.programs.path("postgres");
        let mut child = self
            .account
            .command(&program)
            .args(["--single", "-c", "password_encryption=scram-sha-256", "-D"])
            .arg(&self.data)
            .arg("postgres")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::io("running", &program))?;
        let sent = child
            .stdin
            .take()
            .map(|mut stdin| writeln!(stdin, "{statement}"));
        let out = child
            .wait_with_output()
            .map_err(Error::io("running", &program))?;
        // Single-user mode ends with success even when the statement failed.
        let failed = !out.status.success()
            || !matches!(sent, Some(Ok(())))
            || String::from_utf8_lossy(&out.stderr).contains("ERROR:");
        if failed {
            Err(program_error("postgres --single", &out))
        } else {
            Ok(())
        }
    }

    /// Starts the server and waits until it takes connections; gives the port it is on.
    pub(crate) fn start(
        &self,
        home: &Home,
        wanted: Option<u16>,
        options: &[String],
    ) -> Result<(Child, u16), Error> {
        let mut port = match wanted {
            Some(port) if is_free(port) => port,
            _ => free_port()?,
        };
        let begun = Instant::now();
        loop {
            let (log, from) = home.log()?;
            let mut child = self.spawn(port, options, log)?;
            let Err(reason) = self.await_ready(&mut child)? else {
                home.remember_port(port)?;
                return Ok((child, port));
            };
            let log = home.log_since(from);
            let taken = log.contains("could not create any TCP/IP sockets");
            let occupied = log.contains("pre-existing shared memory block")
                || log.contains("lock file \"postmaster.pid\" already exists");
            if (taken || occupied) && begun.elapsed() < STRAGGLERS {
                if taken {
                    port = free_port()?;
                }
                sleep(POLL * 10);
                continue;
            }
            return Err(Error::NotReady { reason, log });
        }
    }

    fn spawn(&self, port: u16, options: &[String], log: fs::File) -> Result<Child, Error> {
        let program = self.programs.path("postgres");
        let errors = log
            .try_clone()
            .map_err(Error::io("opening the log of", &program))?;
        let mut command = self.account.command(&program);
        command
            .arg("-D")
            .arg(&self.data)
            .args(["-p", &port.to_string()]);
        for option in options {
            command.args(["-c", option]);
        }
        command
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(Error::io("running", program))
    }

    /// The inner error says why it is not ready; the outer one that we could not find out.
    fn await_ready(&self, child: &mut Child) -> Result<Result<(), String>, Error> {
        let begun = Instant::now();
        loop {
            if let Some(status) = child
                .try_wait()
                .map_err(Error::io("awaiting", &self.data))?
            {
                return Ok(Err(format!("it ended with {status}")));
            }
            if self
                .pid_file()
                .is_some_and(|file| file.ready && file.pid == child.id())
            {
                return Ok(Ok(()));
            }
            if begun.elapsed() > READY_LIMIT {
                child.kill().map_err(Error::io("ending", &self.data))?;
                child.wait().map_err(Error::io("awaiting", &self.data))?;
                return Ok(Err(format!("not ready after {} s", READY_LIMIT.as_secs())));
            }
            sleep(POLL);
        }
    }

    /// Stops the server of this data directory and waits until it is gone.
    pub(crate) fn stop(&self, how: Stop) -> Result<(), Error> {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        let mut pg_ctl = self.account.command(&self.programs.path("pg_ctl"));
        pg_ctl
            .args(["stop", "-w", "-t", STOP_LIMIT_S, "-m", mode, "-D"])
            .arg(&self.data);
        run(pg_ctl, "pg_ctl stop")
    }

    /// Ends the server that an owner killed by SIGKILL left running, and clears a pid file
    /// whose number now belongs to some other program.
    pub(crate) fn clear_orphan(&self) -> Result<(), Error> {
        let Some(file) = self.pid_file() else {
            return Ok(());
        };
        let Some(arguments) = arguments_of(file.pid) else {
            // Nobody has that number: the server itself checks and replaces such a file.
            return Ok(());
        };
        if arguments
            .iter()
            .any(|argument| Path::new(argument) == self.data)
        {
            return match self.stop(Stop::Fast) {
                // It may have ended by itself between the look and the stop.
                Err(_) if arguments_of(file.pid).is_none() => Ok(()),
                stopped => stopped,
            };
        }
        let path = self.data.join("postmaster.pid");
        fs::remove_file(&path).map_err(Error::io("removing", path))
    }

    /// Whether a server on this data directory takes connections.
    pub(crate) fn is_ready(data: &Path) -> bool {
        pid_file(data).is_some_and(|file| file.ready)
    }

    fn pid_file(&self) -> Option<PidFile> {
        pid_file(&self.data)
    }
}

struct PidFile {
    pid: u32,
    ready: bool,
}

/// `postmaster.pid`: the first line is the pid, the eighth the status.
fn pid_file(data: &Path) -> Option<PidFile> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let mut lines = text.lines();
    let pid = lines.next()?.trim().parse().ok()?;
    let ready = lines.nth(6).is_some_and(|status| status.trim() == "ready");
    Some(PidFile { pid, ready })
}

fn arguments_of(pid: u32) -> Option<Vec<String>> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.split('\0').map(str::to_owned).collect())
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// A port nobody uses now. Somebody may take it before the server does, which the start notices.
fn free_port() -> Result<u16, Error> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(Error::io("finding a free port on", "127.0.0.1"))
}

fn run(mut command: Command, name: &str) -> Result<(), Error> {
    let out = command.output().map_err(Error::io("running", name))?;
    if out.status.success() {
        Ok(())
    } else {
        Err(program_error(name, &out))
    }
}

fn program_error(name: &str, out: &Output) -> Error {
    let all = [out.stdout.as_slice(), out.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&all);
    let output = text.trim().lines().rev().take(12).collect::<Vec<_>>();
    let output = output.into_iter().rev().collect::<Vec<_>>().join("\n");
    Error::Program {
        program: name.to_owned(),
        output,
    }
}
