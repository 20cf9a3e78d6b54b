//! The help texts, word for word: a change of them is a change for the user.

use crate::program::Place;

const VERBS: [&str; 20] = [
    "train",
    "resume",
    "evaluate",
    "sweep",
    "choose",
    "theory",
    "summary",
    "reproduce",
    "paper-check",
    "report",
    "render",
    "view",
    "tasks",
    "config",
    "check-environment",
    "solve",
    "export",
    "jobs",
    "run-job",
    "merge",
];

#[test]
fn help_reads_as_agreed() {
    let place = Place::new();
    insta::assert_snapshot!("program", place.succeed(&["--help"]).text);
    for verb in VERBS {
        insta::assert_snapshot!(verb, place.succeed(&[verb, "--help"]).text);
    }
}

#[test]
fn an_unknown_verb_is_not_guessed() {
    let answer = Place::new().call(&["trian"]);
    assert_eq!(answer.code, Some(2));
    assert!(answer.remarks.contains("similar subcommand exists: 'train'"), "{}", answer.remarks);
}
