//! A step of Adam over a stretch of parameters, with those who follow them.

use super::{AdamOptions, Gradient, vectorised};
use std::ops::Range;

/// Numbers that are moved together, so that whoever follows them finds them in the nearest cache.
const BLOCK: usize = 512;

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
            // Nothing is read again that was just written: it may not have reached memory yet.
            let (faded, g) = (fade.root * *r, *g);
            let mean = flushed(fade.mean * *m + self.mean_share * g);
            let root = flushed(faded * faded + self.square_share * g * g).sqrt();
            *p -= self.rate * mean / (root * self.scale + self.epsilon);
            (*m, *r) = (mean, root);
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

    /// [`Self::coast`] with who follows at the rate `follow`, in one loop: the divisions are made
    /// while memory delivers.
    #[inline(always)]
    fn coast_followed(
        self,
        fade: Fade,
        (mean, root): (&[f32], &[f32]),
        parameters: &mut [f32],
        (numbers, follow): (&mut [f32], f32),
    ) {
        let (rate, scale) = (self.rate * fade.mean, self.scale * fade.root);
        let moments = mean.iter().zip(root);
        for ((p, number), (m, r)) in parameters.iter_mut().zip(numbers).zip(moments) {
            let moved = *p - rate * m / (r * scale + self.epsilon);
            *number += follow * (moved - *number);
            *p = moved;
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

    /// Goes after parameters that have moved, if anybody follows them.
    #[inline(always)]
    fn follow(&mut self, here: Range<usize>, moved: &[f32]) {
        if !self.numbers.is_empty() {
            follow(&mut self.numbers[here], moved, self.rate);
        }
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
        let (rows, width) = gradient.rows();
        let n_rows = half.clamp(rows.start, rows.end).abs_diff(rows.start) / width;
        let at = if rows.contains(&half) { rows.start + n_rows * width } else { half };
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

    /// Steps along the sum of some gradients of one shape.
    pub(super) fn run(mut self, step: Step, fading: Fading<'_>, gradients: &[&Gradient]) {
        let (rows, width) = gradients[0].rows();
        let (start, end) = (self.start, self.start + self.parameters.len());
        let inside = start.max(rows.start)..end.min(rows.end);
        let first = inside.start.saturating_sub(rows.start) / width;
        let mut sum = [0.0; BLOCK];
        vectorised(
            #[inline(always)]
            || {
                let known = |range| (range, None);
                let fade = fading.after(1);
                self.move_along(step, fade, gradients, known(start..end.min(rows.start)), &mut sum);
                for (index, at) in inside.step_by(width).enumerate() {
                    let (range, row) = (at..at + width, first + index);
                    let age = self.ages[index].saturating_add(1);
                    let written = gradients.iter().any(|gradient| gradient.is_touched(row));
                    self.ages[index] = if written { 0 } else { age };
                    if written {
                        let fade = fading.after(age);
                        self.move_along(step, fade, gradients, (range, Some(row)), &mut sum);
                    } else {
                        let fade = (age < fading.rest).then(|| fading.after(age));
                        self.coast(step, fade, range);
                    }
                }
                self.move_along(step, fade, gradients, known(start.max(rows.end)..end), &mut sum);
            },
        );
    }

    /// Moves a stretch along the gradients, those of one row where it is one.
    #[inline(always)]
    fn move_along(
        &mut self,
        step: Step,
        fade: Fade,
        gradients: &[&Gradient],
        (range, row): (Range<usize>, Option<usize>),
        sum: &mut [f32; BLOCK],
    ) {
        let mut part = range.start..range.start;
        while part.end < range.end {
            part = part.end..range.end.min(part.end + BLOCK);
            let here = part.start - self.start..part.end - self.start;
            let moments = (&mut self.mean[here.clone()], &mut self.root[here.clone()]);
            let moved = &mut self.parameters[here.clone()];
            step.apply(fade, total(gradients, (part.clone(), row), sum), moments, moved);
            self.follow(here);
        }
    }

    /// Lets a row that nobody wrote go on as it was going, unless it rests.
    #[inline(always)]
    fn coast(&mut self, step: Step, fade: Option<Fade>, range: Range<usize>) {
        let here = range.start - self.start..range.end - self.start;
        let Some(fade) = fade else { return self.follow(here) };
        let moments = (&self.mean[here.clone()], &self.root[here.clone()]);
        let moved = &mut self.parameters[here.clone()];
        let [first, second] = &mut self.followers;
        if first.numbers.is_empty() {
            step.coast(fade, moments, moved);
        } else {
            let follower = (&mut first.numbers[here.clone()], first.rate);
            step.coast_followed(fade, moments, moved, follower);
        }
        second.follow(here, moved);
    }

    #[inline(always)]
    fn follow(&mut self, here: Range<usize>) {
        for follower in &mut self.followers {
            follower.follow(here.clone(), &self.parameters[here.clone()]);
        }
    }
}

/// The sum of a stretch of some gradients, of those who wrote it.
#[inline(always)]
fn total<'a>(
    gradients: &[&'a Gradient],
    (range, row): (Range<usize>, Option<usize>),
    sum: &'a mut [f32; BLOCK],
) -> &'a [f32] {
    if let [gradient] = gradients {
        return &gradient.values()[range];
    }
    let mut written = gradients.iter().filter(|g| row.is_none_or(|row| g.is_touched(row)));
    let Some(first) = written.next().map(|g| &g.values()[range.clone()]) else { return &[] };
    let Some(second) = written.next() else { return first };
    let sum = &mut sum[..range.len()];
    for ((sum, x), y) in sum.iter_mut().zip(first).zip(&second.values()[range.clone()]) {
        *sum = x + y;
    }
    for other in written {
        for (sum, x) in sum.iter_mut().zip(&other.values()[range.clone()]) {
            *sum += x;
        }
    }
    sum
}
