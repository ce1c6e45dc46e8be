//! Starts real clusters and takes them through what happens to them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use embedded::{Cluster, Error, Profile, Settings};

/// A directory of this test alone, removed when it ends.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("embedded-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Self(dir)
    }

    fn settings(&self) -> Settings {
        Settings {
            max_connections: 20,
            ..Settings::scratch(self.0.join("deep/postgres"))
        }
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn psql(cluster: &Cluster, url: &str, sql: &str) -> Output {
    Command::new(cluster.programs().path("psql"))
        .args([
            "--no-psqlrc",
            "-qAt",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            sql,
            url,
        ])
        .output()
        .unwrap()
}

fn ask(cluster: &Cluster, sql: &str) -> String {
    let out = psql(cluster, &cluster.url(), sql);
    assert!(
        out.status.success(),
        "{sql}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

fn server_pid(settings: &Settings) -> u32 {
    let text = fs::read_to_string(settings.dir.join("data/postmaster.pid")).unwrap();
    text.lines().next().unwrap().parse().unwrap()
}

fn is_alive(pid: u32) -> bool {
    // A dead child that nobody has waited for still has a directory, but no command line.
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

#[test]
fn a_new_cluster_is_private_and_keeps_its_data_and_address_over_restarts() {
    let dir = Dir::new("keeps");
    let mut cluster = Cluster::start(dir.settings()).unwrap();

    assert!(cluster.is_owner());
    let shape = "SELECT pg_encoding_to_char(encoding) || ' ' || datcollate || ' ' \
                 || current_setting('data_checksums') || ' ' || current_setting('timezone') \
                 FROM pg_database WHERE datname = current_database()";
    assert_eq!(ask(&cluster, shape), "UTF8 C.UTF-8 on UTC");
    assert_eq!(ask(&cluster, "SHOW listen_addresses"), "127.0.0.1");
    let mode = |path: &str| fs::metadata(cluster.dir().join(path)).unwrap().mode() & 0o777;
    assert_eq!(mode("password"), 0o600);
    assert_eq!(mode("data"), 0o700);

    ask(&cluster, "CREATE TABLE kept AS SELECT 41 + 1 AS answer");
    let address = cluster.url();
    cluster.restart().unwrap();
    assert_eq!(cluster.url(), address);
    cluster.stop().unwrap();
    cluster.stop().unwrap();
    drop(cluster);

    let cluster = Cluster::start(dir.settings()).unwrap();
    assert_eq!(cluster.url(), address);
    assert_eq!(ask(&cluster, "SELECT answer FROM kept"), "42");
}

#[test]
fn both_profiles_refuse_a_wrong_password_and_durable_means_fsync() {
    for (profile, fsync) in [(Profile::Durable, "on"), (Profile::Scratch, "off")] {
        let dir = Dir::new(fsync);
        let cluster = Cluster::start(Settings {
            profile,
            ..dir.settings()
        })
        .unwrap();

        assert_eq!(ask(&cluster, "SHOW fsync"), fsync);
        let password = fs::read_to_string(cluster.dir().join("password")).unwrap();
        let wrong = cluster.url().replace(password.trim(), "guess");
        let out = psql(&cluster, &wrong, "SELECT 1");
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(
            !out.status.success() && text.contains("password authentication failed"),
            "{text}"
        );
    }
}

#[test]
fn a_crash_loses_no_commit_and_resume_comes_back_on_the_same_port() {
    let dir = Dir::new("crash");
    let settings = Settings {
        profile: Profile::Durable,
        ..dir.settings()
    };
    let mut cluster = Cluster::start(settings).unwrap();
    ask(
        &cluster,
        "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1), (2)",
    );
    let address = cluster.url();

    cluster.crash().unwrap();
    assert!(!psql(&cluster, &address, "SELECT 1").status.success());
    cluster.resume().unwrap();
    cluster.resume().unwrap();

    assert_eq!(cluster.url(), address);
    assert_eq!(ask(&cluster, "SELECT count(*) FROM kept"), "2");
}

#[test]
fn dropping_the_owner_stops_the_server() {
    let dir = Dir::new("drop");
    let cluster = Cluster::start(dir.settings()).unwrap();
    let pid = server_pid(&dir.settings());
    assert!(is_alive(pid));
    drop(cluster);
    assert!(!is_alive(pid));
}

#[test]
fn the_second_to_come_joins_and_cannot_stop_what_is_not_its_own() {
    let dir = Dir::new("join");
    let owner = Cluster::start(dir.settings()).unwrap();
    ask(&owner, "CREATE TABLE seen (n int)");

    let mut guest = Cluster::start(dir.settings()).unwrap();
    assert!(!guest.is_owner());
    assert_eq!(guest.url(), owner.url());
    assert_eq!(ask(&guest, "SELECT count(*) FROM seen"), "0");
    assert!(matches!(guest.crash(), Err(Error::NotOwner)));
    guest.stop().unwrap();
    drop(guest);

    assert_eq!(ask(&owner, "SELECT 1"), "1");
}

/// The owner is another process here (this test binary, told so by a variable), because only
/// a process can be killed.
#[test]
fn after_the_owner_is_killed_the_next_start_takes_over() {
    const ROLE: &str = "EMBEDDED_TEST_OWNER_DIR";
    if let Some(dir) = std::env::var_os(ROLE) {
        let settings = Settings {
            max_connections: 20,
            ..Settings::scratch(dir)
        };
        let cluster = Cluster::start(settings).unwrap();
        ask(&cluster, "CREATE TABLE kept AS SELECT 7 AS n");
        fs::write(cluster.dir().join("settled"), "").unwrap();
        sleep(Duration::from_secs(60));
        return;
    }

    let dir = Dir::new("killed");
    let settings = dir.settings();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "after_the_owner_is_killed_the_next_start_takes_over",
        ])
        .env(ROLE, &settings.dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    await_file(&settings.dir.join("settled"));
    let orphan = server_pid(&settings);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(is_alive(orphan), "the server outlives its owner's SIGKILL");

    let cluster = Cluster::start(settings).unwrap();
    assert!(cluster.is_owner());
    assert!(!is_alive(orphan));
    assert_eq!(ask(&cluster, "SELECT n FROM kept"), "7");
}

#[test]
fn a_pid_file_that_names_an_unrelated_program_is_cleared_and_that_program_left_alone() {
    let dir = Dir::new("stale");
    let settings = dir.settings();
    drop(Cluster::start(settings.clone()).unwrap());
    let mut bystander = Command::new("sleep").arg("60").spawn().unwrap();
    let data = settings.dir.join("data");
    let stale = format!(
        "{}\n{}\n1\n1\n\n127.0.0.1\n\nready\n",
        bystander.id(),
        data.display()
    );
    fs::write(data.join("postmaster.pid"), stale).unwrap();

    let cluster = Cluster::start(settings).unwrap();

    assert_eq!(ask(&cluster, "SELECT 1"), "1");
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn half_made_data_and_a_lost_password_are_put_right() {
    let dir = Dir::new("half");
    let settings = dir.settings();
    fs::create_dir_all(settings.dir.join("data.new/base")).unwrap();
    fs::set_permissions(&settings.dir, fs::Permissions::from_mode(0o755)).unwrap();
    drop(Cluster::start(settings.clone()).unwrap());
    assert!(!settings.dir.join("data.new").exists());

    fs::remove_file(settings.dir.join("password")).unwrap();
    let cluster = Cluster::start(settings).unwrap();
    assert_eq!(ask(&cluster, "SELECT 1"), "1");
}

/// As root the server is another user, who must not need our closed directories opened.
#[test]
fn below_a_closed_directory_it_runs_without_opening_that_directory() {
    let dir = Dir::new("closed");
    fs::create_dir_all(&dir.0).unwrap();
    fs::set_permissions(&dir.0, fs::Permissions::from_mode(0o700)).unwrap();

    let cluster = Cluster::start(dir.settings()).unwrap();
    assert_eq!(ask(&cluster, "SELECT 1"), "1");
    assert_eq!(fs::metadata(&dir.0).unwrap().mode() & 0o777, 0o700);
    let data = fs::canonicalize(cluster.dir().join("data")).unwrap();
    drop(cluster);
    drop(Cluster::start(dir.settings()).unwrap());

    if let Some(elsewhere) = data
        .parent()
        .filter(|base| base.starts_with("/var/lib/quittance"))
    {
        fs::remove_dir_all(elsewhere).unwrap();
    }
}

#[test]
fn a_temporary_cluster_leaves_nothing() {
    let cluster = Cluster::temporary(Profile::Scratch).unwrap();
    let dir = cluster.dir().to_owned();
    assert_eq!(ask(&cluster, "SELECT 1"), "1");
    drop(cluster);
    assert!(!dir.exists());
}

fn await_file(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{} never came",
            path.display()
        );
        sleep(Duration::from_millis(20));
    }
}
