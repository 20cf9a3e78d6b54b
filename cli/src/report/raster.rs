//! Smooth discs, rings and strokes on a field of pixels, by their distance from each pixel.

use super::picture::Colour;

/// A place in pixels, right and down.
pub(crate) type Spot = [f64; 2];

/// A picture of pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raster {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<Colour>,
}

impl Raster {
    /// One colour everywhere.
    #[cfg(test)]
    pub(crate) fn new(width: usize, height: usize, colour: Colour) -> Self {
        Self { width, height, pixels: vec![colour; width * height] }
    }

    /// A filled disc.
    pub(crate) fn disc(&mut self, centre: Spot, radius: f64, colour: Colour, alpha: f64) {
        self.paint(bounds(&[centre], radius), colour, alpha, |spot| gap(spot, centre) - radius);
    }

    /// A filled square, `half` from its centre to its sides.
    pub(crate) fn square(&mut self, centre: Spot, half: f64, colour: Colour, alpha: f64) {
        let distance =
            |spot: Spot| (spot[0] - centre[0]).abs().max((spot[1] - centre[1]).abs()) - half;
        self.paint(bounds(&[centre], half), colour, alpha, distance);
    }

    /// Ink wherever a small picture is dark, its middle at a place.
    pub(crate) fn stamp(&mut self, centre: Spot, picture: &Self, colour: Colour) {
        let left = (centre[0] - picture.width as f64 / 2.0).round() as i64;
        let top = (centre[1] - picture.height as f64 / 2.0).round() as i64;
        for (index, pixel) in picture.pixels.iter().enumerate() {
            let (x, y) =
                (left + (index % picture.width) as i64, top + (index / picture.width) as i64);
            let inside =
                (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y);
            if inside && pixel.1 < 255 {
                let below = &mut self.pixels[y as usize * self.width + x as usize];
                *below = mixed(*below, colour, 1.0 - f64::from(pixel.1) / 255.0);
            }
        }
    }

    /// A circle's line.
    pub(crate) fn ring(&mut self, centre: Spot, radius: f64, width: f64, colour: Colour) {
        let distance = |spot| (gap(spot, centre) - radius).abs() - width / 2.0;
        self.paint(bounds(&[centre], radius + width), colour, 1.0, distance);
    }

    /// A straight stroke with round ends.
    pub(crate) fn stroke(&mut self, ends: [Spot; 2], width: f64, colour: Colour, alpha: f64) {
        let [from, to] = ends;
        let along = [to[0] - from[0], to[1] - from[1]];
        let square = (along[0] * along[0] + along[1] * along[1]).max(1e-12);
        let distance = |spot: Spot| {
            let share = ((spot[0] - from[0]) * along[0] + (spot[1] - from[1]) * along[1]) / square;
            let share = share.clamp(0.0, 1.0);
            gap(spot, [from[0] + share * along[0], from[1] + share * along[1]]) - width / 2.0
        };
        self.paint(bounds(&ends, width), colour, alpha, distance);
    }

    /// Inks every pixel whose centre is inside the shape, with soft edges one pixel wide.
    fn paint(
        &mut self,
        [left, top, right, bottom]: [f64; 4],
        colour: Colour,
        alpha: f64,
        distance: impl Fn(Spot) -> f64,
    ) {
        let range = |low: f64, high: f64, end: usize| {
            (low.floor().max(0.0) as usize).min(end)..(high.ceil().max(0.0) as usize).min(end)
        };
        for y in range(top, bottom, self.height) {
            for x in range(left, right, self.width) {
                let inside = 0.5 - distance([x as f64 + 0.5, y as f64 + 0.5]);
                let share = alpha * inside.clamp(0.0, 1.0);
                if share > 0.0 {
                    let pixel = &mut self.pixels[y * self.width + x];
                    *pixel = mixed(*pixel, colour, share);
                }
            }
        }
    }
}

/// A share of one colour over another.
pub(crate) fn mixed(below: Colour, above: Colour, share: f64) -> Colour {
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
    (mix(below.0, above.0), mix(below.1, above.1), mix(below.2, above.2))
}

fn gap(a: Spot, b: Spot) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// The rectangle around some spots, with a margin.
fn bounds(spots: &[Spot], margin: f64) -> [f64; 4] {
    let least = |axis: usize| spots.iter().map(|s| s[axis]).fold(f64::INFINITY, f64::min);
    let most = |axis: usize| spots.iter().map(|s| s[axis]).fold(f64::NEG_INFINITY, f64::max);
    let margin = margin + 1.0;
    [least(0) - margin, least(1) - margin, most(0) + margin, most(1) + margin]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disc_has_its_area_and_soft_edges() {
        let mut raster = Raster::new(40, 40, (0, 0, 0));
        raster.disc([20.0, 20.0], 10.0, (255, 255, 255), 1.0);
        let ink: f64 = raster.pixels.iter().map(|p| f64::from(p.0) / 255.0).sum();
        assert!((ink - 314.16).abs() < 2.0, "{ink}");
        assert!(raster.pixels.iter().any(|p| p.0 > 30 && p.0 < 220));
    }

    #[test]
    fn a_square_has_its_area_and_a_stamp_its_ink() {
        let mut raster = Raster::new(40, 40, (0, 0, 0));
        raster.square([20.0, 20.0], 10.0, (255, 255, 255), 1.0);
        let ink = |raster: &Raster| raster.pixels.iter().filter(|p| p.0 > 127).count();
        assert_eq!(ink(&raster), 400);
        raster.stamp([39.0, 39.0], &Raster::new(4, 4, (0, 0, 0)), (255, 255, 255));
        assert_eq!(ink(&raster), 400 + 9, "what lies outside is cut");
    }

    #[test]
    fn shapes_beyond_the_edge_are_cut() {
        let mut raster = Raster::new(8, 8, (0, 0, 0));
        raster.stroke([[-20.0, 4.0], [30.0, 4.0]], 2.0, (9, 9, 9), 1.0);
        raster.disc([-50.0, -50.0], 3.0, (9, 9, 9), 1.0);
        assert_eq!(raster.pixels.iter().filter(|p| p.0 == 9).count(), 16);
    }
}
