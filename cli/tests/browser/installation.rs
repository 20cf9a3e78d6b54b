//! `.ci/browser`: says what it installs and why, and asks nothing of a machine that has it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

/// A machine that has these commands alone, each a line of shell.
fn on_a_machine_with(commands: &[(&str, &str)], ci: &str) -> (Output, bool) {
    let folder = tempfile::tempdir().unwrap();
    let called = folder.path().join("apt-was-called");
    for (name, line) in commands {
        let path = folder.path().join(name);
        let line = line.replace("CALLED", called.to_str().unwrap());
        fs::write(&path, format!("#!/bin/bash\n{line}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/browser");
    let mut command = Command::new("/bin/bash");
    command.arg(script).env("PATH", folder.path()).env("CI", ci);
    (command.output().unwrap(), called.exists())
}

const APT: (&str, &str) = ("apt-get", "echo x >> CALLED; exit 100");
const ROOT: (&str, &str) = ("id", "echo 0");
const ANYBODY: (&str, &str) = ("id", "echo 1000");

#[test]
fn a_machine_that_has_a_browser_is_left_alone() {
    let has = [("chromium", "exit 0"), ("chromedriver", "exit 0"), APT, ROOT];
    let (output, apt_called) = on_a_machine_with(&has, "true");
    assert!(output.status.success() && !apt_called, "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn what_is_installed_is_said_and_what_cannot_be_is_too() {
    let cases: [(&[_], _, _); 4] = [
        (&[], "there is no apt", false),
        (&[APT, ANYBODY], "only root may install them: sudo apt install chromium", false),
        (&[APT, ROOT], "installing chromium chromium-driver", true),
        (&[APT, ROOT, ("chromium", "exit 0")], "apt could not install chromium", true),
    ];
    for (commands, word, apt) in cases {
        for (ci, passes) in [("", true), ("true", false)] {
            let (output, apt_called) = on_a_machine_with(commands, ci);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(text.contains(word), "{word}: {text}");
            assert!(text.contains("skipped") == passes, "{text}");
            assert_eq!((output.status.success(), apt_called), (passes, apt), "{text}");
        }
    }
}
