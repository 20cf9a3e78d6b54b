//! A path in a command that a user may copy.

use std::{borrow::Cow, path::Path};

/// The path as one word of a shell.
///
/// ```
/// use cgcmarl::run_dir::argument;
/// assert_eq!(argument("runs/seed_1".as_ref()), "runs/seed_1");
/// assert_eq!(argument("my runs/one".as_ref()), "'my runs/one'");
/// ```
pub fn argument(path: &Path) -> String {
    let shown = path.to_string_lossy();
    shlex::try_quote(&shown).map_or_else(|_| shown.to_string(), Cow::into_owned)
}
