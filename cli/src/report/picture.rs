//! A picture as a list of shapes, so that what is drawn does not depend on how it is written.

use super::render;

/// Red, green, blue.
pub(crate) type Colour = (u8, u8, u8);

/// The palette of Okabe and Ito, told apart by colour-blind readers and in print.
pub(crate) const BLUE: Colour = (0, 114, 178);
pub(crate) const ORANGE: Colour = (213, 94, 0);
pub(crate) const AMBER: Colour = (230, 159, 0);
pub(crate) const SKY: Colour = (86, 180, 233);
pub(crate) const GREEN: Colour = (0, 158, 115);
pub(crate) const PURPLE: Colour = (204, 121, 167);
pub(crate) const BLACK: Colour = (34, 34, 34);
pub(crate) const GREY: Colour = (118, 118, 118);
pub(crate) const PALE: Colour = (226, 226, 226);
pub(crate) const WHITE: Colour = (255, 255, 255);

/// A place in the picture: right and down from its upper left corner.
pub(crate) type Place = (f64, f64);

/// Where a text sits relative to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The text begins there.
    Start,
    /// The text is centred there.
    Middle,
    /// The text ends there.
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Font {
    /// Height in picture units.
    pub(crate) size: f64,
    /// Heavier strokes.
    pub(crate) bold: bool,
    /// Ink.
    pub(crate) colour: Colour,
    /// Reads from bottom to top.
    pub(crate) upwards: bool,
}

impl Font {
    /// Plain horizontal text.
    pub(crate) const fn new(size: f64, colour: Colour) -> Self {
        Self { size, bold: false, colour, upwards: false }
    }

    /// The same in bold.
    pub(crate) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The same from bottom to top.
    pub(crate) const fn upwards(self) -> Self {
        Self { upwards: true, ..self }
    }
}

/// One thing on the picture.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// An open line through places.
    Line { places: Vec<Place>, colour: Colour, width: f64 },
    /// A filled area.
    Area { places: Vec<Place>, colour: Colour },
    /// A filled area that lets through what lies below.
    Shade { places: Vec<Place>, colour: Colour },
    /// A filled disc.
    Disc { centre: Place, radius: f64, colour: Colour },
    /// Text centred vertically on its place.
    Text { place: Place, text: String, font: Font, anchor: Anchor },
}

/// Shapes on white paper, the first at the bottom.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
}

impl Picture {
    /// White paper.
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, shapes: vec![] }
    }

    /// Draws a line.
    pub(crate) fn line(&mut self, places: &[Place], colour: Colour, width: f64) {
        self.shapes.push(Shape::Line { places: places.to_vec(), colour, width });
    }

    /// Draws a broken line: `dash` long strokes with gaps of two thirds of that.
    pub(crate) fn dashes(&mut self, places: &[Place], colour: Colour, width: f64, dash: f64) {
        let period = dash * 5.0 / 3.0;
        let mut walked = 0.0;
        for pair in places.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let length = (x1 - x0).hypot(y1 - y0);
            let at = |s: f64| (x0 + (x1 - x0) * s / length, y0 + (y1 - y0) * s / length);
            let mut start = -(walked % period);
            while start < length {
                let (from, to) = (start.max(0.0), (start + dash).min(length));
                if to > from {
                    self.line(&[at(from), at(to)], colour, width);
                }
                start += period;
            }
            walked += length;
        }
    }

    /// Fills an area.
    pub(crate) fn area(&mut self, places: &[Place], colour: Colour) {
        self.shapes.push(Shape::Area { places: places.to_vec(), colour });
    }

    /// Tints an area.
    pub(crate) fn shade(&mut self, places: &[Place], colour: Colour) {
        self.shapes.push(Shape::Shade { places: places.to_vec(), colour });
    }

    /// Fills a disc.
    pub(crate) fn disc(&mut self, centre: Place, radius: f64, colour: Colour) {
        self.shapes.push(Shape::Disc { centre, radius, colour });
    }

    /// Writes text.
    pub(crate) fn text(
        &mut self,
        place: Place,
        text: impl Into<String>,
        font: Font,
        anchor: Anchor,
    ) {
        self.shapes.push(Shape::Text { place, text: text.into(), font, anchor });
    }

    /// The picture as an SVG document.
    pub(crate) fn to_svg(&self) -> anyhow::Result<String> {
        render::svg(self)
    }

    /// The picture as a PNG file, two pixels per unit.
    pub(crate) fn to_png(&self) -> anyhow::Result<Vec<u8>> {
        render::png(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_cover_three_fifths_of_a_line_around_corners() {
        let mut picture = Picture::new(10.0, 10.0);
        picture.dashes(&[(0.0, 0.0), (40.0, 0.0), (40.0, 60.0)], BLACK, 1.0, 6.0);
        let inked: f64 = picture
            .shapes
            .iter()
            .map(|shape| match shape {
                Shape::Line { places, .. } => {
                    (places[1].0 - places[0].0).hypot(places[1].1 - places[0].1)
                }
                _ => 0.0,
            })
            .sum();
        assert!((inked - 60.0).abs() < 1e-9, "{inked}");
    }
}
