//! An episode as a moving picture: frames of pixels, written as GIF or animated PNG.

use super::{
    picture::{
        Anchor, BLACK, BLUE, Colour, Font, GREEN, GREY, ORANGE, PALE, PURPLE, Picture, WHITE,
    },
    raster::{Raster, Spot, mixed},
    render,
};
use crate::playback::Trace;
use cgcmarl::environment::{Role, Shape};
use std::collections::BTreeMap;

/// The longer side of what is shown, in pixels.
const SIDE: f64 = 360.0;
/// Height of the caption above it.
const CAPTION: f64 = 30.0;
/// Lines of the grid along the longer side, at the most.
const GRID_LINES: f64 = 6.0;
/// Pictures per step of the environment.
const SMOOTH: usize = 4;
/// A shape that jumps farther than this share of the picture is not moved smoothly.
const JUMP: f64 = 0.4;
/// Hundredths of a second that a picture stands.
const DELAY: u16 = 4;
/// Hundredths of a second that the last picture stands.
const LAST_DELAY: u16 = 150;

const RED: Colour = (207, 34, 51);
const TEAL: Colour = (0, 128, 140);
const OCHRE: Colour = (150, 112, 0);
const AGENTS: [Colour; 6] = [BLUE, ORANGE, GREEN, PURPLE, OCHRE, TEAL];
const SHADES: usize = 15;

/// The pictures of an episode, and what is written above them.
pub(crate) fn frames(trace: &Trace, caption: &str) -> anyhow::Result<Vec<Raster>> {
    let canvas = Canvas::new(trace, caption)?;
    let last = trace.n_steps();
    let moments = (0..last * SMOOTH).map(|k| (k / SMOOTH, (k % SMOOTH) as f64 / SMOOTH as f64));
    Ok(moments.chain([(last, 0.0)]).map(|moment| canvas.frame(trace, moment)).collect())
}

/// What all pictures of an episode share.
struct Canvas {
    bounds: [f64; 4],
    scale: f64,
    /// Caption and grid.
    ground: Raster,
    /// Every text that is shown, as ink on white.
    texts: BTreeMap<String, Raster>,
}

impl Canvas {
    fn new(trace: &Trace, caption: &str) -> anyhow::Result<Self> {
        let bounds = trace.drawings[0].bounds;
        let [width, height] = [bounds[2] - bounds[0], bounds[3] - bounds[1]];
        let scale = SIDE / width.max(height).max(1e-9);
        let mut picture = Picture::new(
            (width * scale).round().max(2.0) / 2.0,
            f64::midpoint((height * scale).round().max(2.0), CAPTION),
        );
        let font = Font::new(7.0, BLACK).bold();
        picture.text((8.0, CAPTION / 4.0), caption, font, Anchor::Start);
        let mut texts = BTreeMap::new();
        for shape in trace.drawings.iter().flat_map(|drawing| &drawing.shapes) {
            if let Some(text) = &shape.text
                && !texts.contains_key(text)
            {
                texts.insert(text.clone(), ink(text)?);
            }
        }
        let mut canvas = Self { bounds, scale, ground: raster(&picture)?, texts };
        canvas.draw_grid();
        Ok(canvas)
    }

    fn draw_grid(&mut self) {
        let [left, bottom, right, top] = self.bounds;
        let step = grid_step((right - left).max(top - bottom) / GRID_LINES);
        let lines = |low: f64, high: f64| {
            ((low / step).ceil() as i64..=(high / step).floor() as i64).map(|k| k as f64 * step)
        };
        let ends = |a, b| [self.spot(a), self.spot(b)];
        let upright = lines(left, right).map(|x| ends([x, bottom], [x, top]));
        let level = lines(bottom, top).map(|y| ends([left, y], [right, y]));
        let strokes: Vec<[Spot; 2]> = upright.chain(level).collect();
        strokes.into_iter().for_each(|ends| self.ground.stroke(ends, 1.0, PALE, 1.0));
    }

    fn spot(&self, [x, y]: [f64; 2]) -> Spot {
        let [left, _, _, top] = self.bounds;
        [(x - left) * self.scale, CAPTION + (top - y) * self.scale]
    }

    fn frame(&self, trace: &Trace, (step, share): (usize, f64)) -> Raster {
        let mut raster = self.ground.clone();
        let shapes = self.between(trace, step, share);
        let agents = || shapes.iter().filter_map(|shape| Some((shape.agent?, shape)));
        for shape in shapes.iter().filter(|shape| shape.agent.is_none()) {
            self.draw(&mut raster, shape);
        }
        for (agent, shape) in agents() {
            let ink = AGENTS[agent % AGENTS.len()];
            let before = trace.drawings[..=step].iter().flat_map(|drawing| &drawing.shapes);
            let mut way: Vec<Spot> =
                before.filter(|s| s.agent == Some(agent)).map(|s| self.spot(s.at)).collect();
            way.push(self.spot(shape.at));
            way.windows(2).for_each(|ends| raster.stroke([ends[0], ends[1]], 1.8, ink, 0.35));
        }
        agents().for_each(|(_, shape)| self.draw(&mut raster, shape));
        let done = (step as f64 + share) / trace.n_steps() as f64;
        let (left, y) = (4.0, raster.height as f64 - 4.0);
        let right = left + done * (raster.width as f64 - 8.0);
        raster.stroke([[left, y], [right, y]], 2.0, GREY, 0.8);
        raster
    }

    /// The shapes on their way from one step to the next, as far as they are the same.
    fn between(&self, trace: &Trace, step: usize, share: f64) -> Vec<Shape> {
        let now = &trace.drawings[step].shapes;
        let next = &trace.drawings[(step + 1).min(trace.n_steps())].shapes;
        let jump = JUMP * SIDE / self.scale;
        let moved = |(from, to): (&Shape, &Shape)| {
            let same = from.agent == to.agent && from.square == to.square;
            let way = [to.at[0] - from.at[0], to.at[1] - from.at[1]];
            if !same || way[0].hypot(way[1]) > jump {
                return from.clone();
            }
            let at = [from.at[0] + way[0] * share, from.at[1] + way[1] * share];
            Shape { at, ..if share < 0.5 { from.clone() } else { to.clone() } }
        };
        if now.len() == next.len() {
            now.iter().zip(next).map(moved).collect()
        } else {
            now.clone()
        }
    }

    fn draw(&self, raster: &mut Raster, shape: &Shape) {
        let (at, radius) = (self.spot(shape.at), shape.radius * self.scale);
        let fill = |raster: &mut Raster, radius: f64, colour, alpha| {
            if shape.square {
                raster.square(at, radius, colour, alpha);
            } else {
                raster.disc(at, radius, colour, alpha);
            }
        };
        let own = shape.agent.map_or(BLUE, |agent| AGENTS[agent % AGENTS.len()]);
        match shape.role {
            Role::Target | Role::Reached => {
                let done = shape.role == Role::Reached;
                let (colour, alpha) = if done { (GREEN, 0.22) } else { (GREY, 0.06) };
                fill(raster, radius, colour, alpha);
                if !shape.square {
                    raster.ring(at, radius, if done { 2.2 } else { 1.2 }, colour);
                }
                raster.disc(at, 2.5, colour, 1.0);
            }
            Role::Alarm => {
                fill(raster, radius + 5.0, RED, 0.45);
                fill(raster, radius, own, 1.0);
            }
            Role::Agent => fill(raster, radius, own, 1.0),
            Role::Other => fill(raster, radius, RED, 0.85),
            Role::Obstacle => fill(raster, radius, GREY, 0.8),
            Role::Ground => fill(raster, radius, PALE, 0.9),
        }
        if let Some(text) = shape.text.as_ref().and_then(|text| self.texts.get(text)) {
            let solid = !matches!(shape.role, Role::Target | Role::Reached | Role::Ground);
            raster.stamp(at, text, if solid { WHITE } else { BLACK });
        }
    }
}

/// A round number that is at least this.
fn grid_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].map(|m| m * power).into_iter().find(|s| *s >= least).unwrap_or(10.0 * power)
}

/// A text as dark pixels on white.
fn ink(text: &str) -> anyhow::Result<Raster> {
    let font = Font::new(6.0, (0, 0, 0)).bold();
    let mut picture = Picture::new(render::text_width(text, font) + 4.0, 10.0);
    picture.text((picture.width / 2.0, 5.0), text, font, Anchor::Middle);
    raster(&picture)
}

fn raster(picture: &Picture) -> anyhow::Result<Raster> {
    let (width, height, bytes) = render::pixels(picture)?;
    let pixels = bytes.chunks_exact(3).map(|c| (c[0], c[1], c[2])).collect();
    Ok(Raster { width, height, pixels })
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
    use cgcmarl::environment::{Drawing, Scenario};

    fn pictures() -> Vec<Raster> {
        let scenario = Scenario::of("simple_spread").unwrap();
        let mut playback = Playback::reference("oracle", &scenario).unwrap();
        frames(&playback.trace(1, 0, &[]), "oracle").unwrap()
    }

    /// The pixel at a place of a drawing two wide and one high.
    fn ink_at(shapes: Vec<Shape>, x: f64, y: f64) -> Colour {
        let drawing = Drawing { bounds: [0.0, 0.0, 2.0, 1.0], shapes };
        let trace = Trace { episode: 0, drawings: vec![drawing.clone(), drawing], metrics: vec![] };
        let picture = frames(&trace, "").unwrap().remove(0);
        assert_eq!((picture.width, picture.height), (360, 210));
        let (column, row) = ((x * 180.0) as usize, (30.0 + (1.0 - y) * 180.0) as usize);
        picture.pixels[row * picture.width + column]
    }

    #[test]
    fn shapes_are_drawn_where_they_are_in_the_colours_of_their_roles() {
        let square = |role| vec![Shape::square(role, [0.52, 0.22], 0.1)];
        let far = |(r, g, b): Colour, ink: Colour| {
            let gap = |a: u8, b: u8| i32::from(a).abs_diff(i32::from(b));
            gap(r, ink.0) + gap(g, ink.1) + gap(b, ink.2)
        };
        for (role, colour) in [(Role::Agent, BLUE), (Role::Other, RED), (Role::Obstacle, GREY)] {
            assert!(far(ink_at(square(role), 0.6, 0.3), colour) < 120, "{role:?}");
            assert_eq!(ink_at(square(role), 0.75, 0.3), WHITE);
        }
        let disc = vec![Shape::disc(Role::Agent, [0.52, 0.22], 0.1).of_agent(1)];
        assert_eq!(ink_at(disc.clone(), 0.52, 0.22), ORANGE);
        assert_eq!(ink_at(disc, 0.61, 0.31), WHITE, "a disc has no corners");
        let word = vec![Shape::square(Role::Agent, [0.52, 0.22], 0.1).labelled("H")];
        let written =
            (-8..8).any(|k| ink_at(word.clone(), 0.52, 0.22 + f64::from(k) * 0.01) != BLUE);
        assert!(written, "a word is written over its shape");
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
