//! How a long job shows that it lives: a bar on a terminal, plain lines elsewhere, or nothing.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

const TEMPLATE: &str = "{bar:28} {percent:>3}%  {msg}";
/// Time between plain lines.
const PAUSE: Duration = Duration::from_secs(5);

/// How a training stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    /// Environment steps so far.
    pub(crate) step: u64,
    /// What recent episodes measured, in words; empty before the first.
    pub(crate) measured: String,
}

enum Form {
    Silent,
    Bar(ProgressBar),
    Lines { out: Box<dyn Write + Send>, last: Option<Instant> },
}

/// Tells a person how far a job is.
pub(crate) struct Progress {
    form: Form,
    total: u64,
    start: u64,
    started: Instant,
}

impl Progress {
    /// Progress of a training from step `start` to step `total` on standard error.
    pub(crate) fn new(start: u64, total: u64, is_silent: bool) -> Self {
        let form = match (is_silent, io::stderr().is_terminal()) {
            (true, _) => Form::Silent,
            (false, true) => Form::Bar(bar(start, total)),
            (false, false) => Form::Lines { out: Box::new(io::stderr()), last: None },
        };
        Self { form, total, start, started: Instant::now() }
    }

    /// Shows how things stand, as often as the form allows.
    pub(crate) fn update(&mut self, status: &Status) {
        let text = self.text(status, self.started.elapsed());
        self.show(status.step, &format!("step {} of {}", status.step, self.total), text);
    }

    /// Shows some other text at a step, as often as the form allows.
    pub(crate) fn show(&mut self, step: u64, place: &str, text: String) {
        match &mut self.form {
            Form::Silent => {}
            Form::Bar(bar) => {
                bar.set_position(step);
                bar.set_message(text);
            }
            Form::Lines { out, last } => {
                if last.is_none_or(|last| last.elapsed() >= PAUSE) {
                    // A closed pipe is no reason to stop training.
                    let _ = writeln!(out, "{place}: {text}");
                    *last = Some(Instant::now());
                }
            }
        }
    }

    /// Time until all is done, if it goes on as it did, as `1:05`; `?` where that is unknown.
    pub(crate) fn time_left(&self, step: u64) -> String {
        let speed = step.saturating_sub(self.start) as f64 / self.started.elapsed().as_secs_f64();
        let left = self.total.saturating_sub(step) as f64;
        if speed > 0.0 { clock(left / speed) } else { "?".into() }
    }

    /// Says something that stays.
    pub(crate) fn say(&mut self, text: &str) {
        match &mut self.form {
            Form::Silent => {}
            Form::Bar(bar) => bar.println(text),
            Form::Lines { out, .. } => {
                let _ = writeln!(out, "{text}");
            }
        }
    }

    /// Ends with how things stand at last.
    pub(crate) fn finish(&mut self, status: &Status) {
        if let Form::Lines { last, .. } = &mut self.form {
            *last = None;
        }
        self.update(status);
        if let Form::Bar(bar) = &self.form {
            bar.abandon();
        }
    }

    fn text(&self, status: &Status, elapsed: Duration) -> String {
        let done = status.step.saturating_sub(self.start);
        let speed = done as f64 / elapsed.as_secs_f64().max(1e-3);
        let left = self.total.saturating_sub(status.step);
        let wait = if speed > 0.0 { clock(left as f64 / speed) } else { "?".into() };
        let measured = [&*status.measured, ", "].concat();
        let measured = if status.measured.is_empty() { "" } else { &measured };
        format!("{} steps/s, {measured}{wait} left", grouped(speed as u64))
    }
}

fn bar(start: u64, total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
    let style =
        ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
    bar.set_position(start);
    bar
}

/// Seconds as `1:05` or `2:00:00`.
fn clock(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// `1234567` as `1 234 567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn progress(form: Form) -> Progress {
        Progress { form, total: 200_000, start: 50_000, started: Instant::now() }
    }

    fn status() -> Status {
        Status { step: 100_000, measured: "gain 93.4 %, λ 0.50".into() }
    }

    #[test]
    fn a_line_tells_speed_quality_and_time_left() {
        let text = progress(Form::Silent).text(&status(), Duration::from_secs(40));
        assert_eq!(text, "1 250 steps/s, gain 93.4 %, λ 0.50, 1:20 left");
    }

    #[test]
    fn plain_lines_are_rare_and_the_last_one_always_comes() {
        let paper = Paper::default();
        let mut progress = progress(Form::Lines { out: Box::new(paper.clone()), last: None });
        (0..1000).for_each(|_| progress.update(&status()));
        progress.say("checkpoint saved");
        progress.finish(&status());
        let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.starts_with("step 100000 of 200000: "), "{text}");
    }

    #[test]
    fn every_form_takes_everything() {
        for mut progress in [Progress::new(0, 10, true), progress(Form::Bar(bar(0, 200_000)))] {
            progress.update(&status());
            progress.say("checkpoint saved");
            progress.finish(&status());
        }
    }

    #[test]
    fn times_and_counts_read_well() {
        assert_eq!((clock(65.0), clock(7200.0)), ("1:05".into(), "2:00:00".into()));
        assert_eq!((grouped(999), grouped(1_234_567)), ("999".into(), "1 234 567".into()));
    }
}
