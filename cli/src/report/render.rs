//! Writes a picture with plotters: as SVG, or as PNG drawn twice as large and averaged for smooth edges.

use super::picture::{Anchor, Font, Picture, Place, Shape, WHITE};
use anyhow::{Result, anyhow};
use plotters::{
    coord::Shift,
    prelude::*,
    style::{
        RGBColor, register_font,
        text_anchor::{HPos, Pos, VPos},
    },
};
use std::sync::Once;

const FAMILY: &str = "DejaVu Sans";
/// What an SVG viewer without our font takes instead.
const FALLBACKS: &str = "DejaVu Sans, Verdana, Arial, sans-serif";
/// Sub-units per picture unit; PNG files average them two by two.
const FINE: f64 = 4.0;
/// plotters centres bitmap text on its box, room for descenders included: this much lower looks right.
const BITMAP_DROP: f64 = 0.12;
/// How much of its own colour a shade shows.
const SHADE: f64 = 0.14;

fn fonts() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let regular: &[u8] = include_bytes!("../../assets/DejaVuSans.ttf");
        let bold: &[u8] = include_bytes!("../../assets/DejaVuSans-Bold.ttf");
        for (style, bytes) in [(FontStyle::Normal, regular), (FontStyle::Bold, bold)] {
            assert!(register_font(FAMILY, style, bytes).is_ok(), "the embedded font is broken");
        }
    });
}

/// Width of a text in picture units.
pub(crate) fn text_width(text: &str, font: Font) -> f64 {
    fonts();
    style(font).font.box_size(text).map_or(0.0, |(width, _)| f64::from(width) / FINE)
}

pub(crate) fn svg(picture: &Picture) -> Result<String> {
    fonts();
    let size = fine_size(picture);
    let mut document = String::new();
    draw(picture, &SVGBackend::with_string(&mut document, size).into_drawing_area(), 0.0)?;
    let (width, height) = (picture.width, picture.height);
    let fine = format!("width=\"{}\" height=\"{}\"", size.0, size.1);
    Ok(document
        .replacen(&fine, &format!("width=\"{width}\" height=\"{height}\""), 1)
        .replace(&format!("font-family=\"{FAMILY}\""), &format!("font-family=\"{FALLBACKS}\"")))
}

pub(crate) fn png(picture: &Picture) -> Result<Vec<u8>> {
    let (width, height, pixels) = pixels(picture)?;
    let mut file = vec![];
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Best);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(file)
}

/// Width, height and the bytes of all pixels, two pixels per picture unit.
pub(crate) fn pixels(picture: &Picture) -> Result<(usize, usize, Vec<u8>)> {
    fonts();
    let (width, height) = fine_size(picture);
    let mut pixels = vec![255; width as usize * height as usize * 3];
    let backend = BitMapBackend::with_buffer(&mut pixels, (width, height));
    draw(picture, &backend.into_drawing_area(), BITMAP_DROP)?;
    let (width, height) = (width as usize, height as usize);
    Ok((width / 2, height / 2, halve(&pixels, width, height)))
}

/// Averages squares of two by two pixels.
fn halve(pixels: &[u8], width: usize, height: usize) -> Vec<u8> {
    let at = |x: usize, y: usize, channel: usize| u16::from(pixels[(y * width + x) * 3 + channel]);
    let mut halved = Vec::with_capacity(pixels.len() / 4);
    for y in (0..height - 1).step_by(2) {
        for x in (0..width - 1).step_by(2) {
            for c in 0..3 {
                let sum = at(x, y, c) + at(x + 1, y, c) + at(x, y + 1, c) + at(x + 1, y + 1, c);
                halved.push(((sum + 2) / 4) as u8);
            }
        }
    }
    halved
}

fn fine_size(picture: &Picture) -> (u32, u32) {
    ((picture.width * FINE) as u32, (picture.height * FINE) as u32)
}

fn fine((x, y): Place) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

fn colour((red, green, blue): super::picture::Colour) -> RGBColor {
    RGBColor(red, green, blue)
}

fn style(font: Font) -> TextStyle<'static> {
    let weight = if font.bold { FontStyle::Bold } else { FontStyle::Normal };
    let transform = if font.upwards { FontTransform::Rotate270 } else { FontTransform::None };
    let described = FontDesc::new(FontFamily::Name(FAMILY), font.size * FINE, weight);
    let color = colour(font.colour).to_backend_color();
    TextStyle { color, ..TextStyle::from(described.transform(transform)) }
}

fn draw<B: DrawingBackend>(
    picture: &Picture,
    area: &DrawingArea<B, Shift>,
    drop: f64,
) -> Result<()> {
    let failed = |error: DrawingAreaErrorKind<B::ErrorType>| anyhow!("drawing failed: {error}");
    area.fill(&colour(WHITE)).map_err(failed)?;
    for shape in &picture.shapes {
        match shape {
            Shape::Line { places, colour: ink, width } => {
                let stroke = colour(*ink).stroke_width((width * FINE).round().max(1.0) as u32);
                let places: Vec<_> = places.iter().copied().map(fine).collect();
                area.draw(&PathElement::new(places, stroke))
            }
            Shape::Area { places, colour: ink } => {
                let places: Vec<_> = places.iter().copied().map(fine).collect();
                area.draw(&Polygon::new(places, colour(*ink).filled()))
            }
            Shape::Shade { places, colour: ink } => {
                let places: Vec<_> = places.iter().copied().map(fine).collect();
                area.draw(&Polygon::new(places, colour(*ink).mix(SHADE).filled()))
            }
            Shape::Disc { centre, radius, colour: ink } => {
                let radius = (radius * FINE).round() as i32;
                area.draw(&Circle::new(fine(*centre), radius, colour(*ink).filled()))
            }
            Shape::Text { place, text, font, anchor } => {
                let side = match anchor {
                    Anchor::Start => HPos::Left,
                    Anchor::Middle => HPos::Center,
                    Anchor::End => HPos::Right,
                };
                let style = style(*font).pos(Pos::new(side, VPos::Center));
                let drop = drop * font.size;
                let (right, down) = if font.upwards { (drop, 0.0) } else { (0.0, drop) };
                let place = fine((place.0 + right, place.1 + down));
                area.draw(&Text::new(text.clone(), place, style))
            }
        }
        .map_err(failed)?;
    }
    area.present().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::picture::BLACK;

    fn picture() -> Picture {
        let mut picture = Picture::new(40.0, 20.0);
        picture.area(&[(0.0, 0.0), (20.0, 0.0), (20.0, 20.0), (0.0, 20.0)], BLACK);
        picture.text((30.0, 10.0), "λ=1", Font::new(8.0, BLACK), Anchor::Middle);
        picture
    }

    #[test]
    fn a_png_has_two_pixels_per_unit_and_the_right_ink() {
        let file = png(&picture()).unwrap();
        let mut reader = png::Decoder::new(&file[..]).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height), (80, 40));
        assert_eq!(pixels[(10 * 80 + 20) * 3], BLACK.0);
        assert_eq!(pixels[(2 * 80 + 78) * 3], 255);
    }

    #[test]
    fn an_svg_has_its_size_text_and_fallback_fonts() {
        let document = svg(&picture()).unwrap();
        assert!(
            document.starts_with("<svg width=\"40\" height=\"20\" viewBox=\"0 0 160 80\""),
            "{document}"
        );
        assert!(document.contains("λ=1") && document.contains(FALLBACKS), "{document}");
    }

    #[test]
    fn pictures_are_the_same_every_time() {
        assert_eq!(png(&picture()).unwrap(), png(&picture()).unwrap());
        assert_eq!(svg(&picture()).unwrap(), svg(&picture()).unwrap());
    }

    #[test]
    fn wider_text_measures_wider() {
        let font = Font::new(10.0, BLACK);
        assert!(text_width("λ=0.05", font) > text_width("λ=1", font));
    }
}
