//! The surface over two multipliers: a table of shaded cells for the objective and for what each
//! constraint limits, the first multiplier downwards, the second to the right.

use super::{
    measure::{axis_title, value},
    picture::{Anchor, BLACK, Colour, Font, GREY, Picture, WHITE},
    plot::titled,
    table::volume,
};
use cgcmarl::{
    environment::{Better, Metric},
    evaluation::{Front, FrontPoint},
};

const CELL: (f64, f64) = (58.0, 30.0);
const LEFT: f64 = 66.0;
const TOP: f64 = 104.0;
const GAP: f64 = 70.0;
/// The best cell of a table; the worst is white.
const BEST: Colour = (0, 92, 146);

/// A front over every combination of two lists of multipliers.
struct Grid<'a> {
    rows: Vec<f64>,
    columns: Vec<f64>,
    /// Row by row.
    points: Vec<&'a FrontPoint>,
}

impl<'a> Grid<'a> {
    /// The grid of a front; nothing where it has other than two constraints or is no whole grid.
    fn of(front: &'a Front) -> Option<Self> {
        let [first, second] = front.measures.constraints.as_slice() else { return None };
        let at = |point: &FrontPoint| {
            let multipliers = &point.score.multipliers;
            Some((*multipliers.get(&first.name)?, *multipliers.get(&second.name)?))
        };
        let places = front.points.iter().map(at).collect::<Option<Vec<_>>>()?;
        let sorted = |pick: &dyn Fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = places.iter().map(pick).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let (rows, columns) = (sorted(&|place| place.0), sorted(&|place| place.1));
        let find = |row: f64, column: f64| {
            let index = places.iter().position(|place| *place == (row, column))?;
            Some(&front.points[index])
        };
        let cells = rows.iter().flat_map(|row| columns.iter().map(move |column| (*row, *column)));
        let points = cells.map(|(row, column)| find(row, column)).collect::<Option<Vec<_>>>()?;
        (rows.len() > 1 && columns.len() > 1).then_some(Self { rows, columns, points })
    }
}

/// Draws the surface of a front over two multipliers; nothing where there is none.
pub(crate) fn surface(front: &Front) -> Option<Picture> {
    let grid = Grid::of(front)?;
    let metrics: Vec<&Metric> = front.measures.axis_metrics().collect();
    let (n_rows, n_columns) = (grid.rows.len() as f64, grid.columns.len() as f64);
    let panel = n_columns * CELL.0;
    let width = LEFT + metrics.len() as f64 * (panel + GAP);
    let mut picture = Picture::new(width, TOP + n_rows * CELL.1 + 64.0);
    heading(&mut picture, front);
    for (index, metric) in metrics.iter().enumerate() {
        draw(&mut picture, front, &grid, metric, LEFT + index as f64 * (panel + GAP));
    }
    Some(picture)
}

fn heading(picture: &mut Picture, front: &Front) {
    let title = format!(
        "{}, {} agents: one model, {} trade-offs of two constraints",
        titled(&front.task),
        front.n_agents,
        front.points.len()
    );
    let start = LEFT - 42.0;
    picture.text((start, 22.0), title, Font::new(15.0, BLACK).bold(), Anchor::Start);
    let episodes = front.points.first().map_or(0, |point| point.score.n_episodes);
    let told = format!(
        "darker is better; ★ Pareto-optimal over all three; {episodes} episodes each; hypervolume {}",
        volume(front.hypervolume)
    );
    picture.text((start, 42.0), told, Font::new(11.0, GREY), Anchor::Start);
}

/// One table: a cell for each pair of multipliers.
fn draw(picture: &mut Picture, front: &Front, grid: &Grid<'_>, metric: &Metric, left: f64) {
    let small = Font::new(10.0, BLACK);
    picture.text(
        (left, TOP - 36.0),
        axis_title(metric),
        Font::new(12.0, BLACK).bold(),
        Anchor::Start,
    );
    let [first, second] = [0, 1].map(|index| front.measures.constraints[index].name.as_str());
    for (index, multiplier) in grid.columns.iter().enumerate() {
        let x = left + (index as f64 + 0.5) * CELL.0;
        picture.text((x, TOP - 10.0), multiplier.to_string(), small, Anchor::Middle);
    }
    for (index, multiplier) in grid.rows.iter().enumerate() {
        let y = TOP + (index as f64 + 0.5) * CELL.1;
        picture.text((left - 8.0, y), multiplier.to_string(), small, Anchor::End);
    }
    let bottom = TOP + grid.rows.len() as f64 * CELL.1;
    let middle = left + grid.columns.len() as f64 * CELL.0 / 2.0;
    let grey = Font::new(10.0, GREY);
    picture.text((middle, bottom + 16.0), format!("→ λ of {second}"), grey, Anchor::Middle);
    picture.text((middle, bottom + 32.0), format!("↓ λ of {first}"), grey, Anchor::Middle);
    let means: Vec<f64> = grid.points.iter().map(|p| p.score.mean(&metric.name)).collect();
    for (index, (point, mean)) in grid.points.iter().zip(&means).enumerate() {
        let (row, column) = (index / grid.columns.len(), index % grid.columns.len());
        let (x, y) = (left + column as f64 * CELL.0, TOP + row as f64 * CELL.1);
        let share = standing(&means, *mean, metric.better);
        let corners = [(x, y), (x + CELL.0, y), (x + CELL.0, y + CELL.1), (x, y + CELL.1)];
        picture.area(&corners, tint(share));
        picture.line(&[corners[0], corners[1], corners[2], corners[3], corners[0]], WHITE, 1.0);
        let ink = if share > 0.55 { WHITE } else { BLACK };
        let star = if point.pareto { "★" } else { "" };
        let text = format!("{star}{}", value(metric, *mean));
        picture.text(
            (x + CELL.0 / 2.0, y + CELL.1 / 2.0),
            text,
            Font::new(10.0, ink),
            Anchor::Middle,
        );
    }
}

/// The share of other cells that a cell is better than: costs spread over magnitudes, ranks do not.
fn standing(means: &[f64], mean: f64, better: Better) -> f64 {
    let worse = |other: &&f64| match better {
        Better::Higher => **other < mean,
        Better::Lower => **other > mean,
    };
    means.iter().filter(worse).count() as f64 / (means.len() - 1).max(1) as f64
}

fn tint(share: f64) -> Colour {
    let mix = |best: u8| (255.0 + share * (f64::from(best) - 255.0)).round() as u8;
    (mix(BEST.0), mix(BEST.1), mix(BEST.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn a_whole_grid_is_drawn_with_every_number_and_anything_else_is_not() {
        let front = sample::surface();
        let document = surface(&front).unwrap().to_svg().unwrap();
        for text in ["λ of collision", "λ of energy", "coverage (%)", "cost energy", "★"] {
            assert!(document.contains(text), "{text} is missing");
        }
        for coverage in ["90.0 %", "70.0 %"] {
            assert_eq!(document.matches(coverage).count(), 2, "{coverage} in two of four cells");
        }
        if let Ok(folder) = std::env::var("PICTURES") {
            let png = surface(&front).unwrap().to_png().unwrap();
            std::fs::write(format!("{folder}/surface.png"), png).unwrap();
        }
        let mut broken = front.clone();
        broken.points.pop();
        assert!(surface(&broken).is_none());
        assert!(surface(&sample::front()).is_none());
    }

    #[test]
    fn the_best_is_dark_whichever_way_is_better() {
        let means = [0.1, 0.5, 0.9];
        assert_eq!(standing(&means, 0.9, Better::Higher), 1.0);
        assert_eq!(standing(&means, 0.9, Better::Lower), 0.0);
        assert_eq!((tint(0.0), tint(1.0)), (WHITE, BEST));
    }
}
