//! An episode as a moving picture: frames of pixels, written as GIF or animated PNG.

use super::{
    picture::{BLACK, BLUE, Colour, Font, GREEN, GREY, ORANGE, PALE, PURPLE, Picture, WHITE},
    raster::{Raster, Spot, mixed},
    render,
};
use crate::playback::Trace;

/// Side of the picture in pixels.
const SIDE: usize = 360;
/// Height of the caption above it.
const CAPTION: usize = 30;
/// Half the width of the world that is shown.
const EXTENT: f64 = 1.22;
/// Pictures per step of the environment.
const SMOOTH: usize = 4;
/// Hundredths of a second that a picture stands.
const DELAY: u16 = 4;
/// Hundredths of a second that the last picture stands.
const LAST_DELAY: u16 = 150;
/// Within this distance a landmark counts as covered.
const COVERED: f64 = 0.1;

const RED: Colour = (207, 34, 51);
const TEAL: Colour = (0, 128, 140);
const OCHRE: Colour = (150, 112, 0);
const AGENTS: [Colour; 6] = [BLUE, ORANGE, GREEN, PURPLE, OCHRE, TEAL];
const SHADES: usize = 15;

/// The pictures of an episode, and what is written above them.
pub(crate) fn frames(trace: &Trace, radius: f64, caption: &str) -> anyhow::Result<Vec<Raster>> {
    let ground = ground(caption)?;
    let last = trace.frames.len() - 1;
    let moments = (0..last * SMOOTH).map(|k| (k / SMOOTH, (k % SMOOTH) as f64 / SMOOTH as f64));
    Ok(moments.chain([(last, 0.0)]).map(|moment| frame(&ground, trace, radius, moment)).collect())
}

/// Caption and grid, the same in every picture.
fn ground(caption: &str) -> anyhow::Result<Raster> {
    let mut picture = Picture::new(SIDE as f64 / 2.0, (SIDE + CAPTION) as f64 / 2.0);
    let font = Font::new(7.0, BLACK).bold();
    picture.text((8.0, CAPTION as f64 / 4.0), caption, font, super::picture::Anchor::Start);
    let (width, height, bytes) = render::pixels(&picture)?;
    let pixels = bytes.chunks_exact(3).map(|c| (c[0], c[1], c[2])).collect();
    let mut raster = Raster { width, height, pixels };
    for k in -2..=2 {
        let t = f64::from(k) / 2.0;
        raster.stroke([spot([t, -1.0]), spot([t, 1.0])], 1.0, PALE, 1.0);
        raster.stroke([spot([-1.0, t]), spot([1.0, t])], 1.0, PALE, 1.0);
    }
    Ok(raster)
}

fn spot([x, y]: [f64; 2]) -> Spot {
    let middle = SIDE as f64 / 2.0;
    let scale = middle / EXTENT;
    [middle + x * scale, CAPTION as f64 + middle - y * scale]
}

fn frame(ground: &Raster, trace: &Trace, radius: f64, (step, share): (usize, f64)) -> Raster {
    let scale = SIDE as f64 / 2.0 / EXTENT;
    let mut raster = ground.clone();
    let next = &trace.frames[(step + 1).min(trace.frames.len() - 1)];
    let positions: Vec<[f64; 2]> = trace.frames[step]
        .iter()
        .zip(next)
        .map(|(a, b)| [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share])
        .collect();
    let near = |a: [f64; 2], b: [f64; 2], limit: f64| (a[0] - b[0]).hypot(a[1] - b[1]) < limit;
    for &landmark in &trace.landmarks {
        let done = positions.iter().any(|&place| near(place, landmark, COVERED));
        let (ink, strength) = if done { (GREEN, 0.22) } else { (GREY, 0.06) };
        raster.disc(spot(landmark), COVERED * scale, ink, strength);
        raster.ring(spot(landmark), COVERED * scale, if done { 2.2 } else { 1.2 }, ink);
        raster.disc(spot(landmark), 2.5, ink, 1.0);
    }
    for (agent, &place) in positions.iter().enumerate() {
        let ink = AGENTS[agent % AGENTS.len()];
        let mut way: Vec<Spot> = trace.frames[..=step].iter().map(|f| spot(f[agent])).collect();
        way.push(spot(place));
        way.windows(2).for_each(|ends| raster.stroke([ends[0], ends[1]], 1.8, ink, 0.35));
    }
    for (agent, &place) in positions.iter().enumerate() {
        let hit = |(other, &o): (usize, &[f64; 2])| other != agent && near(place, o, 2.0 * radius);
        if positions.iter().enumerate().any(hit) {
            raster.disc(spot(place), radius * scale + 5.0, RED, 0.45);
        }
        raster.disc(spot(place), radius * scale, AGENTS[agent % AGENTS.len()], 1.0);
    }
    let done = (step as f64 + share) / (trace.frames.len() - 1) as f64;
    let (left, y) = (4.0, (CAPTION + SIDE) as f64 - 4.0);
    raster.stroke([[left, y], [left + done * (SIDE as f64 - 8.0), y]], 2.0, GREY, 0.8);
    raster
}

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
    use crate::playback::Playback;
    use cgcmarl::environment::spread_options::SimpleSpreadOptions;

    fn pictures() -> Vec<Raster> {
        let mut playback = Playback::oracle(&SimpleSpreadOptions::default()).unwrap();
        let trace = playback.trace(1, 0, None);
        frames(&trace, playback.radius(), "oracle").unwrap()
    }

    #[test]
    fn a_gif_holds_every_picture_and_is_small() {
        let (pictures, mut shown) = (pictures(), 0);
        let file = gif(&pictures).unwrap();
        assert!(file.len() < 600_000, "{}", file.len());
        let mut reader = gif::DecodeOptions::new().read_info(&file[..]).unwrap();
        while let Some(frame) = reader.read_next_frame().unwrap() {
            assert!(frame.left + frame.width <= SIDE as u16);
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
