//! Pictures that follow each other, in one file: GIF or animated PNG.

use super::{
    animation::{AGENTS, RED},
    picture::{BLACK, Colour, GREY, PALE, WHITE},
    raster::{Raster, mixed},
};

/// Hundredths of a second that a picture stands.
const DELAY: u16 = 4;
/// Hundredths of a second that the last picture stands.
const LAST_DELAY: u16 = 150;
/// Shades of each ink.
const SHADES: usize = 15;

/// What changed since the picture before: a rectangle of palette entries.
struct Patch {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    delay: u16,
    entries: Vec<u8>,
}

/// Each picture as what changed in it.
fn patches(frames: &[Raster], palette: &Palette) -> Vec<Patch> {
    let width = frames[0].width;
    let mut before: Option<Vec<u8>> = None;
    let mut patches = Vec::with_capacity(frames.len());
    for (index, raster) in frames.iter().enumerate() {
        let now: Vec<u8> = raster.pixels.iter().map(|&pixel| palette.nearest(pixel)).collect();
        let (left, top, right, bottom) = changed(before.as_deref(), &now, width);
        let entry = |place: usize| match &before {
            Some(old) if old[place] == now[place] => Palette::CLEAR,
            _ => now[place],
        };
        let rows = (top..bottom).flat_map(|y| (left..right).map(move |x| y * width + x));
        patches.push(Patch {
            left,
            top,
            width: right - left,
            height: bottom - top,
            delay: if index + 1 == frames.len() { LAST_DELAY } else { DELAY },
            entries: rows.map(entry).collect(),
        });
        before = Some(now);
    }
    patches
}

/// The rectangle in which two pictures differ; never empty.
fn changed(before: Option<&[u8]>, now: &[u8], width: usize) -> (usize, usize, usize, usize) {
    let Some(before) = before else { return (0, 0, width, now.len() / width) };
    let (mut left, mut top, mut right, mut bottom) = (width, now.len() / width, 0, 0);
    for (place, _) in before.iter().zip(now).enumerate().filter(|(_, (a, b))| a != b) {
        let (x, y) = (place % width, place / width);
        (left, top) = (left.min(x), top.min(y));
        (right, bottom) = (right.max(x + 1), bottom.max(y + 1));
    }
    if right == 0 { (0, 0, 1, 1) } else { (left, top, right, bottom) }
}

/// The pictures as a GIF that repeats for ever.
pub(crate) fn gif(frames: &[Raster]) -> anyhow::Result<Vec<u8>> {
    let (width, height) = (frames[0].width as u16, frames[0].height as u16);
    let palette = Palette::new();
    let mut file = vec![];
    let mut encoder = gif::Encoder::new(&mut file, width, height, &palette.bytes())?;
    encoder.set_repeat(gif::Repeat::Infinite)?;
    for patch in patches(frames, &palette) {
        encoder.write_frame(&gif::Frame {
            delay: patch.delay,
            dispose: gif::DisposalMethod::Keep,
            transparent: Some(Palette::CLEAR),
            left: patch.left as u16,
            top: patch.top as u16,
            width: patch.width as u16,
            height: patch.height as u16,
            buffer: patch.entries.into(),
            ..gif::Frame::default()
        })?;
    }
    drop(encoder);
    Ok(file)
}

/// The pictures as an animated PNG that repeats for ever.
pub(crate) fn apng(frames: &[Raster]) -> anyhow::Result<Vec<u8>> {
    let palette = Palette::new();
    let mut file = vec![];
    let (width, height) = (frames[0].width as u32, frames[0].height as u32);
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette.bytes());
    let mut opacity = vec![255; 256];
    opacity[usize::from(Palette::CLEAR)] = 0;
    encoder.set_trns(opacity);
    encoder.set_compression(png::Compression::Best);
    encoder.set_animated(frames.len() as u32, 0)?;
    let mut writer = encoder.write_header()?;
    for patch in patches(frames, &palette) {
        // The first picture must fill the whole, and does.
        writer.reset_frame_position()?;
        writer.set_frame_dimension(patch.width as u32, patch.height as u32)?;
        writer.set_frame_position(patch.left as u32, patch.top as u32)?;
        writer.set_frame_delay(patch.delay, 100)?;
        writer.set_blend_op(png::BlendOp::Over)?;
        writer.write_image_data(&patch.entries)?;
    }
    writer.finish()?;
    Ok(file)
}

/// Every ink in shades from paper to full, so that no picture needs colours of its own.
struct Palette(Vec<Colour>);

impl Palette {
    /// Stands for what was there before.
    const CLEAR: u8 = 255;

    fn new() -> Self {
        let inks = AGENTS.into_iter().chain([RED, GREY, BLACK, PALE]);
        let shades = inks
            .flat_map(|ink| (1..=SHADES).map(move |k| mixed(WHITE, ink, k as f64 / SHADES as f64)));
        Self([WHITE].into_iter().chain(shades).collect())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.0.iter().flat_map(|&(r, g, b)| [r, g, b]).collect();
        bytes.resize(256 * 3, 255);
        bytes
    }

    fn nearest(&self, (r, g, b): Colour) -> u8 {
        if (r, g, b) == WHITE {
            return 0;
        }
        let square = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
        let far = |c: &Colour| square(c.0, r) + square(c.1, g) + square(c.2, b);
        (0..self.0.len()).min_by_key(|&index| far(&self.0[index])).unwrap_or(0) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{playback::Playback, report::animation::frames};
    use cgcmarl::environment::Scenario;

    fn pictures() -> Vec<Raster> {
        let scenario = Scenario::of("simple_spread").unwrap();
        let mut playback = Playback::reference("oracle", &scenario).unwrap();
        frames(&playback.trace(1, 0, &[]), "oracle").unwrap()
    }

    #[test]
    fn a_gif_holds_every_picture_and_is_small() {
        let (pictures, mut shown) = (pictures(), 0);
        let file = gif(&pictures).unwrap();
        assert!(file.len() < 600_000, "{}", file.len());
        let mut reader = gif::DecodeOptions::new().read_info(&file[..]).unwrap();
        while let Some(frame) = reader.read_next_frame().unwrap() {
            assert!(frame.left + frame.width <= pictures[0].width as u16);
            shown += 1;
        }
        assert_eq!((pictures.len(), shown), (101, 101));
    }

    #[test]
    fn an_animated_png_holds_every_picture() {
        let file = apng(&pictures()[..3]).unwrap();
        let reader = png::Decoder::new(&file[..]).read_info().unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames, 3);
    }
}
