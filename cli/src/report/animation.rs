//! An episode as a moving picture: frames of pixels.

use super::{
    picture::{
        Anchor, BLACK, BLUE, Colour, Font, GREEN, GREY, ORANGE, PALE, PURPLE, Picture, WHITE,
    },
    raster::{Raster, Spot},
    render,
};
use crate::playback::Trace;
use cgcmarl::environment::{Drawing, Role, Shape};
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

pub(super) const RED: Colour = (207, 34, 51);
const TEAL: Colour = (0, 128, 140);
const OCHRE: Colour = (150, 112, 0);
pub(super) const AGENTS: [Colour; 6] = [BLUE, ORANGE, GREEN, PURPLE, OCHRE, TEAL];

/// The pictures of an episode, and what is written above them.
pub(crate) fn frames(trace: &Trace, caption: &str) -> anyhow::Result<Vec<Raster>> {
    let canvas = Canvas::new(&trace.drawings, caption)?;
    let last = trace.n_steps();
    let moments = (0..last * SMOOTH).map(|k| (k / SMOOTH, (k % SMOOTH) as f64 / SMOOTH as f64));
    Ok(moments.chain([(last, 0.0)]).map(|moment| canvas.frame(trace, moment)).collect())
}

/// One moment, without a caption.
pub(crate) fn still(drawing: &Drawing) -> anyhow::Result<Raster> {
    let canvas = Canvas::new(std::slice::from_ref(drawing), "")?;
    let mut raster = canvas.ground.clone();
    drawing.shapes.iter().for_each(|shape| canvas.draw(&mut raster, shape));
    let caption = CAPTION as usize;
    raster.pixels.drain(..caption * raster.width);
    raster.height -= caption;
    Ok(raster)
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
    fn new(drawings: &[Drawing], caption: &str) -> anyhow::Result<Self> {
        let bounds = drawings[0].bounds;
        let [width, height] = [bounds[2] - bounds[0], bounds[3] - bounds[1]];
        let scale = SIDE / width.max(height).max(1e-9);
        let mut picture = Picture::new(
            (width * scale).round().max(2.0) / 2.0,
            f64::midpoint((height * scale).round().max(2.0), CAPTION),
        );
        let font = Font::new(7.0, BLACK).bold();
        picture.text((8.0, CAPTION / 4.0), caption, font, Anchor::Start);
        let mut texts = BTreeMap::new();
        for shape in drawings.iter().flat_map(|drawing| &drawing.shapes) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_still_shows_the_shapes_and_no_caption() {
        let shapes = vec![Shape::agent(0, [0.0, 0.0], 0.2)];
        let raster = still(&Drawing { bounds: [-1.0, -1.0, 1.0, 1.0], shapes }).unwrap();
        assert_eq!((raster.width, raster.height), (360, 360));
        assert_eq!(raster.pixels.len(), 360 * 360);
        assert_eq!(raster.pixels[180 * 360 + 180], AGENTS[0]);
        assert_eq!(raster.pixels[20 * 360 + 20], WHITE);
    }
}
