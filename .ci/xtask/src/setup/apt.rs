//! System packages, through apt-get.

use std::process::Command;

use anyhow::{Result, bail};

use super::say;
use crate::command::{find, is_root, show, works};

/// A Debian package and what we need it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
}

/// How packages can be installed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Root,
    Sudo,
    /// A person has to do it.
    Told,
    /// Not a Debian or Ubuntu machine.
    NoApt,
}

impl Way {
    fn find() -> Self {
        if find("apt-get").is_none() {
            Self::NoApt
        } else if is_root() {
            Self::Root
        } else if works("sudo", &["-n", "true"]) {
            Self::Sudo
        } else {
            Self::Told
        }
    }
}

/// Installs the packages, all in one call.
pub(crate) fn install(packages: &[Package]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let way = Way::find();
    if matches!(way, Way::Told | Way::NoApt) {
        bail!("{}", instruction(packages, way));
    }
    for Package { name, why } in packages {
        say(&format!("installing {name}: {why}"));
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name).collect();
    let install = || {
        let mut command = apt_get(way);
        command
            .args(["install", "--yes", "--no-install-recommends"])
            .args(&names);
        show(&mut command)
    };
    // A fresh machine has no package lists, and an old one's lists name what is gone.
    install().or_else(|_| {
        say("refreshing the package lists and trying again");
        show(apt_get(way).arg("update"))?;
        install()
    })
}

/// apt-get that never asks: nobody may be there to answer.
fn apt_get(way: Way) -> Command {
    let quiet = [
        "-q",
        "-o",
        "Dpkg::Options::=--force-confold",
        "-o",
        "DPkg::Lock::Timeout=300",
    ];
    let mut command = if way == Way::Sudo {
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        sudo
    } else {
        Command::new("apt-get")
    };
    command.env("DEBIAN_FRONTEND", "noninteractive").args(quiet);
    command
}

fn instruction(packages: &[Package], way: Way) -> String {
    let names: Vec<&str> = packages.iter().map(|package| package.name).collect();
    let names = names.join(" ");
    let reasons: String = packages
        .iter()
        .map(|Package { name, why }| format!("  {name}: {why}\n"))
        .collect();
    let action = if way == Way::NoApt {
        format!(
            "this machine has no apt-get: install what these Debian packages hold ({names}) \
             in your system's own way, then run the same command again"
        )
    } else {
        format!(
            "installing system packages needs root, and sudo would ask for a password. Run\n\n  \
             sudo apt-get update && sudo apt-get install --yes --no-install-recommends {names}\n\n\
             then run the same command again"
        )
    };
    format!("these are missing:\n{reasons}{action}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Package = Package {
        name: "nodejs",
        why: "wasm-opt runs on it",
    };

    #[test]
    fn without_root_the_exact_command_is_told_with_the_reason() {
        let text = instruction(&[NODE], Way::Told);
        assert!(text.contains("nodejs: wasm-opt runs on it"), "{text}");
        assert!(
            text.contains("sudo apt-get install --yes --no-install-recommends nodejs\n"),
            "{text}"
        );
    }

    #[test]
    fn without_apt_the_names_are_told() {
        let text = instruction(&[NODE], Way::NoApt);
        assert!(
            text.contains("(nodejs)") && !text.contains("sudo"),
            "{text}"
        );
    }
}
