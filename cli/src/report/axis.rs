//! Axes: from values to places, with ticks a person would have chosen.

use super::picture::{Anchor, BLACK, Font, PALE, Picture, Place};

/// No value is drawn beyond this, so that sums and ratios of values stay finite.
const LARGEST: f64 = 1e100;
/// Powers of ten from which only some of them get a tick.
const MANY_DECADES: f64 = 12.0;

/// A line of values, straight or logarithmic; `start` may lie beyond `end` for an inverted axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    start: f64,
    end: f64,
}

impl Axis {
    /// A straight axis for `low..high` from place `start` to place `end`.
    pub(crate) fn linear((low, high): (f64, f64), start: f64, end: f64) -> Self {
        let (low, high) = (bounded(low), bounded(high));
        let high = if high > low { high } else { low + f64::max(1.0, 0.1 * low.abs()) };
        Self { low, high, logarithmic: false, start, end }
    }

    /// An axis on which equal distances are equal ratios; straight where there are no ratios.
    pub(crate) fn logarithmic((low, high): (f64, f64), start: f64, end: f64) -> Self {
        let (low, high) = (bounded(low).max(LARGEST.recip()), bounded(high));
        if high <= low {
            return Self::linear((low, high), start, end);
        }
        Self { low, high, logarithmic: true, start, end }
    }

    /// Where a value lies; values beyond the ends lie on them.
    pub(crate) fn place(&self, value: f64) -> f64 {
        // A value that is not a number lies at the low end.
        let clamped = value.max(self.low).min(self.high);
        let share = if self.logarithmic {
            (clamped / self.low).ln() / (self.high / self.low).ln()
        } else {
            (clamped - self.low) / (self.high - self.low)
        };
        self.start + (self.end - self.start) * share
    }

    /// Round values with their texts.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let values = if self.logarithmic { self.ratio_ticks() } else { self.even_ticks() };
        let digits = values.iter().map(|value| decimals(*value)).max().unwrap_or(0);
        let show = |value: f64| {
            let digits = if self.logarithmic { decimals(value) } else { digits };
            match value.abs() {
                size if size >= 1e12 || (size > 0.0 && size < 1e-6) => format!("{value:e}"),
                size if size >= 10_000.0 && value > 0.0 => thousands(value),
                _ => format!("{value:.digits$}"),
            }
        };
        values.into_iter().map(|value| (value, show(value))).collect()
    }

    fn even_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .map(|factor| factor * power)
            .into_iter()
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(10.0 * power);
        let (first, last) = ((self.low / step - 1e-9).ceil(), (self.high / step + 1e-9).floor());
        (first as i64..=last as i64).map(|index| index as f64 * step).collect()
    }

    fn ratio_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let factors: &[f64] = match decades {
            d if d > 2.6 => &[1.0],
            d if d > 0.9 => &[1.0, 2.0, 5.0],
            d if d > 0.5 => &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
            _ => &[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        };
        let exponents = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let stride = if decades > MANY_DECADES { (decades / 6.0).ceil() as usize } else { 1 };
        exponents
            .step_by(stride)
            .flat_map(|exponent| factors.iter().map(move |factor| rounded(*factor, exponent)))
            .filter(|value| (self.low * 0.999..=self.high * 1.001).contains(value))
            .collect()
    }
}

/// A number that can be drawn.
fn bounded(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(-LARGEST, LARGEST) }
}

/// `factor * 10^exponent` as the decimal number a person would write.
fn rounded(factor: f64, exponent: i32) -> f64 {
    format!("{factor}e{exponent}").parse().unwrap_or(factor)
}

/// Digits behind the point that a value needs, at most six.
fn decimals(value: f64) -> usize {
    let text = format!("{value:.6}");
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.trim_end_matches('0').len()
}

fn thousands(value: f64) -> String {
    if value >= 1e6 { format!("{} M", value / 1e6) } else { format!("{} k", value / 1e3) }
}

/// The frame of a plot: two axes with titles and a grid.
pub(crate) struct Frame<'a> {
    /// Left, top, right, bottom.
    pub(crate) bounds: (f64, f64, f64, f64),
    pub(crate) horizontal: &'a Axis,
    pub(crate) vertical: &'a Axis,
    pub(crate) horizontal_title: &'a str,
    pub(crate) vertical_title: &'a str,
}

impl Frame<'_> {
    /// Draws grid, ticks, titles and the two axis lines.
    pub(crate) fn draw(&self, picture: &mut Picture) {
        let (left, top, right, bottom) = self.bounds;
        let font = Font::new(11.0, BLACK);
        for (value, text) in self.vertical.ticks() {
            let y = self.vertical.place(value);
            picture.line(&[(left, y), (right, y)], PALE, 0.75);
            picture.text((left - 7.0, y), text, font, Anchor::End);
        }
        let mut free: Option<(f64, f64)> = None;
        for (value, text) in self.horizontal.ticks() {
            let x = self.horizontal.place(value);
            picture.line(&[(x, top), (x, bottom)], PALE, 0.75);
            picture.line(&[(x, bottom), (x, bottom + 4.0)], BLACK, 1.0);
            let half = super::render::text_width(&text, font) / 2.0 + 4.0;
            // A tick whose text would touch its neighbour's keeps its line only.
            if free.is_none_or(|(from, to)| x - half >= to || x + half <= from) {
                picture.text((x, bottom + 14.0), text, font, Anchor::Middle);
                free = Some((x - half, x + half));
            }
        }
        picture.line(&[(left, top), (left, bottom), (right, bottom)], BLACK, 1.0);
        let title = Font::new(12.0, BLACK);
        let (middle, centre): (f64, Place) =
            (f64::midpoint(left, right), (left - 42.0, f64::midpoint(top, bottom)));
        picture.text((middle, bottom + 34.0), self.horizontal_title, title, Anchor::Middle);
        picture.text(centre, self.vertical_title, title.upwards(), Anchor::Middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            texts(&Axis::linear((0.0, 100.0), 0.0, 1.0)),
            ["0", "20", "40", "60", "80", "100"]
        );
        assert_eq!(
            texts(&Axis::linear((0.92, 1.0), 0.0, 1.0)),
            ["0.92", "0.94", "0.96", "0.98", "1.00"]
        );
        assert_eq!(
            texts(&Axis::linear((0.0, 4e5), 0.0, 1.0)),
            ["0", "100 k", "200 k", "300 k", "400 k"]
        );
        assert_eq!(
            texts(&Axis::logarithmic((0.0015, 0.12), 0.0, 1.0)),
            ["0.002", "0.005", "0.01", "0.02", "0.05", "0.1"]
        );
    }

    #[test]
    fn any_numbers_give_an_axis_with_few_ticks_inside() {
        let numbers = [0.0, -0.0, 1e-320, 1e-9, 1.0, 1.0 + 1e-15, 1e15, 1e300, 1e308, f64::MAX];
        let strange = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0, -1e308];
        let all = [&numbers[..], &strange].concat();
        for &low in &all {
            for &high in &all {
                for axis in
                    [Axis::linear((low, high), 0.0, 9.0), Axis::logarithmic((low, high), 9.0, 0.0)]
                {
                    let ticks = axis.ticks();
                    assert!(ticks.len() <= 20, "{} ticks from {low} to {high}", ticks.len());
                    assert!(ticks.iter().all(|(_, text)| text.len() <= 26), "{ticks:?}");
                    for value in all.iter().copied().chain(ticks.iter().map(|(value, _)| *value)) {
                        let place = axis.place(value);
                        assert!((0.0..=9.0).contains(&place), "{value} at {place} of {axis:?}");
                    }
                }
            }
        }
        assert_eq!(
            texts(&Axis::logarithmic((1e-3, 1e57), 0.0, 1.0)),
            ["0.001", "10 M", "1e17", "1e27", "1e37", "1e47", "1e57"]
        );
    }

    #[test]
    fn an_inverted_axis_puts_less_to_the_right() {
        let axis = Axis::logarithmic((0.01, 1.0), 100.0, 0.0);
        assert!((axis.place(0.1) - 50.0).abs() < 1e-9);
        assert_eq!((axis.place(0.01), axis.place(5.0)), (100.0, 0.0));
    }
}
