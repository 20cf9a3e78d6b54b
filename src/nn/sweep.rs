//! A step of Adam over a stretch of parameters, with those who follow them.

use super::{AdamOptions, Gradient, vectorised};

/// Numbers that are moved together, so that whoever follows them finds them in the nearest cache.
const BLOCK: usize = 2048;

/// What is left of the moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fade {
    pub(super) mean: f32,
    pub(super) root: f32,
}

/// A moment that fades away would end as a subnormal number, which processors multiply slowly; what
/// is this small moves no weight.
#[inline(always)]
pub(super) fn flushed(moment: f32) -> f32 {
    if moment.abs() < 1e-30 { 0.0 } else { moment }
}

/// The constants of one step.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) mean_share: f32,
    pub(super) square_share: f32,
    pub(super) epsilon: f32,
    pub(super) rate: f32,
    pub(super) scale: f32,
}

impl Step {
    #[inline(always)]
    fn apply(
        self,
        fade: Fade,
        gradient: &[f32],
        moments: (&mut [f32], &mut [f32]),
        parameters: &mut [f32],
    ) {
        let moments = moments.0.iter_mut().zip(moments.1);
        for ((p, g), (m, r)) in parameters.iter_mut().zip(gradient).zip(moments) {
            let faded = fade.root * *r;
            *m = flushed(fade.mean * *m + self.mean_share * g);
            *r = flushed(faded * faded + self.square_share * g * g).sqrt();
            *p -= self.rate * *m / (*r * self.scale + self.epsilon);
        }
    }

    /// The same with a gradient of zero; the moments stay as they were when they were written.
    #[inline(always)]
    fn coast(self, fade: Fade, (mean, root): (&[f32], &[f32]), parameters: &mut [f32]) {
        let (rate, scale) = (self.rate * fade.mean, self.scale * fade.root);
        for (p, (m, r)) in parameters.iter_mut().zip(mean.iter().zip(root)) {
            *p -= rate * m / (r * scale + self.epsilon);
        }
    }
}

/// Numbers that go after the parameters: θ̄ ← θ̄ + τ (θ − θ̄).
#[derive(Debug)]
pub struct Follower<'a> {
    /// As many as there are parameters; none if nobody follows.
    pub numbers: &'a mut [f32],
    /// Share τ of the way.
    pub rate: f32,
}

impl Follower<'_> {
    /// Nobody follows.
    pub fn nobody() -> Self {
        Self { numbers: &mut [], rate: 0.0 }
    }

    fn split(self, at: usize) -> (Self, Self) {
        let (first, second) = self.numbers.split_at_mut(at.min(self.numbers.len()));
        (Self { numbers: first, rate: self.rate }, Self { numbers: second, rate: self.rate })
    }
}

/// θ̄ ← θ̄ + τ (θ − θ̄).
#[inline(always)]
pub fn follow(numbers: &mut [f32], parameters: &[f32], rate: f32) {
    for (number, parameter) in numbers.iter_mut().zip(parameters) {
        *number += rate * (parameter - *number);
    }
}

/// How moments fade.
#[derive(Clone, Copy)]
pub(super) struct Fading<'a> {
    pub(super) options: AdamOptions,
    pub(super) fades: &'a [Fade],
    pub(super) rest: u32,
}

impl Fading<'_> {
    #[inline(always)]
    fn after(self, age: u32) -> Fade {
        self.fades.get(age as usize).copied().unwrap_or_else(|| self.options.fade(age))
    }
}

/// A stretch of parameters with all that goes with them, from the number `start` on.
pub(super) struct Sweep<'a> {
    pub(super) start: usize,
    pub(super) parameters: &'a mut [f32],
    pub(super) mean: &'a mut [f32],
    pub(super) root: &'a mut [f32],
    /// Of the rows that begin in the stretch.
    pub(super) ages: &'a mut [u32],
    pub(super) followers: [Follower<'a>; 2],
}

impl Sweep<'_> {
    /// Two halves, which no row crosses.
    pub(super) fn split(self, gradient: &Gradient) -> (Self, Self) {
        let half = self.parameters.len() / 2;
        let before = gradient.stretches(BLOCK).take_while(|(range, _)| range.end <= half);
        let (at, n_rows) = before.fold((0, 0), |(_, n_rows), (range, row)| {
            (range.end, n_rows + usize::from(row.is_some()))
        });
        let (parameters, mean, root, ages) = (
            self.parameters.split_at_mut(at),
            self.mean.split_at_mut(at),
            self.root.split_at_mut(at),
            self.ages.split_at_mut(n_rows),
        );
        let [one, other] = self.followers.map(|follower| follower.split(at));
        let first = Self {
            start: 0,
            parameters: parameters.0,
            mean: mean.0,
            root: root.0,
            ages: ages.0,
            followers: [one.0, other.0],
        };
        let second = Self {
            start: at,
            parameters: parameters.1,
            mean: mean.1,
            root: root.1,
            ages: ages.1,
            followers: [one.1, other.1],
        };
        (first, second)
    }

    pub(super) fn run(self, step: Step, fading: Fading<'_>, gradient: &Gradient) {
        let Self { start, parameters, mean, root, ages, mut followers } = self;
        let end = start + parameters.len();
        let mut ages = ages.iter_mut();
        vectorised(
            #[inline(always)]
            || {
                let stretches =
                    gradient.stretches(BLOCK).skip_while(|(range, _)| range.start < start);
                for (range, row) in stretches.take_while(|(range, _)| range.start < end) {
                    let values = &gradient.values()[range.clone()];
                    let range = range.start - start..range.end - start;
                    let moments = (&mut mean[range.clone()], &mut root[range.clone()]);
                    let moved = &mut parameters[range.clone()];
                    let age = row.and_then(|_| ages.next());
                    let now = age.as_ref().map_or(1, |age| age.saturating_add(1));
                    let written = row.is_none_or(|row| gradient.is_touched(row));
                    if let Some(age) = age {
                        *age = if written { 0 } else { now };
                    }
                    if written {
                        step.apply(fading.after(now), values, moments, moved);
                    } else if now < fading.rest {
                        step.coast(fading.after(now), (moments.0, moments.1), moved);
                    }
                    for follower in &mut followers {
                        if !follower.numbers.is_empty() {
                            follow(&mut follower.numbers[range.clone()], moved, follower.rate);
                        }
                    }
                }
            },
        );
    }
}
