//! Theory checks for people: a table of verdicts, and curves with bands.

use crate::report::{
    axis::{Axis, Frame},
    picture::{
        AMBER, Anchor, BLACK, BLUE, Colour, Font, GREEN, GREY, ORANGE, PURPLE, Picture, Place, SKY,
    },
    render::text_width,
};
use anyhow::Context;
use cgcmarl::checkpoint::atomic;
use cgcmarl_paper::theory::{Curve, Figure, Report};
use std::{fmt::Write as _, path::Path};

const COLOURS: [Colour; 9] =
    [BLUE, ORANGE, GREEN, PURPLE, BLACK, SKY, AMBER, (140, 86, 75), (110, 120, 20)];
/// Columns of the terminal's text.
const TEXT_WIDTH: usize = 96;
/// Left, top, right, bottom of the plot.
const BOUNDS: (f64, f64, f64, f64) = (76.0, 44.0, 536.0, 324.0);
const SIZE: (f64, f64) = (800.0, 380.0);

/// Writes `theory.json` and every figure as SVG and PNG into a folder.
pub(crate) fn save(folder: &Path, report: &Report) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let text = serde_json::to_string_pretty(report)? + "\n";
    atomic::write(&folder.join("theory.json"), text.as_bytes())?;
    for figure in &report.figures {
        let picture = picture(figure);
        let path = folder.join(figure.name);
        atomic::write(&path.with_extension("svg"), picture.to_svg()?.as_bytes())?;
        atomic::write(&path.with_extension("png"), &picture.to_png()?)?;
    }
    Ok(())
}

/// Every claim with what was measured, its verdict and the smallest counterexample.
pub(crate) fn verdicts(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let _ = writeln!(text, "{}  [{}]", finding.claim, finding.name);
        let _ = writeln!(text, "  verdict         {}", finding.verdict);
        field(&mut text, "measured", &finding.measured);
        finding.counterexample.iter().for_each(|c| field(&mut text, "counterexample", c));
        text.push('\n');
    }
    let count = |word: &str| {
        report.findings.iter().filter(|f| f.verdict.to_string().starts_with(word)).count()
    };
    let under = count("holds under");
    let _ = writeln!(
        text,
        "{} claims: {} hold, {under} hold under a condition, {} do not hold, {} measured only",
        report.findings.len(),
        count("holds") - under,
        count("does not"),
        count("measured"),
    );
    text
}

/// A named paragraph, broken between words.
fn field(text: &mut String, name: &str, content: &str) {
    let indent = 18;
    let mut line = format!("  {name:<16}");
    for word in content.split_whitespace() {
        if line.chars().count() + word.chars().count() + 1 > indent + TEXT_WIDTH {
            let _ = writeln!(text, "{}", line.trim_end());
            line = " ".repeat(indent);
        }
        line.push_str(word);
        line.push(' ');
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

/// One figure: bands, lines and broken references, named on the right.
pub(crate) fn picture(figure: &Figure) -> Picture {
    let mut picture = Picture::new(SIZE.0, SIZE.1);
    let title = Font::new(13.0, BLACK).bold();
    picture.text((16.0, 18.0), &*figure.title, title, Anchor::Start);
    let horizontal = axis(figure, figure.horizontal.1, |p| p.0, (BOUNDS.0, BOUNDS.2));
    let vertical = axis(figure, figure.vertical.1, |p| p.1, (BOUNDS.3, BOUNDS.1));
    Frame {
        bounds: BOUNDS,
        horizontal: &horizontal,
        vertical: &vertical,
        horizontal_title: figure.horizontal.0,
        vertical_title: figure.vertical.0,
    }
    .draw(&mut picture);
    let place = |(x, y): (f64, f64)| -> Place { (horizontal.place(x), vertical.place(y)) };
    let inks = inks(&figure.curves);
    for (curve, ink) in figure.curves.iter().zip(&inks) {
        let ends = curve.points.iter().zip(&curve.band);
        let upper = ends.clone().map(|(point, band)| place((point.0, band.1)));
        let lower = ends.rev().map(|(point, band)| place((point.0, band.0)));
        let outline: Vec<Place> = upper.chain(lower).collect();
        if !outline.is_empty() {
            picture.shade(&outline, *ink);
        }
    }
    for (index, (curve, ink)) in figure.curves.iter().zip(&inks).enumerate() {
        let places: Vec<Place> = curve.points.iter().map(|point| place(*point)).collect();
        let y = BOUNDS.1 + 8.0 + 20.0 * index as f64;
        let key = [(BOUNDS.2 + 14.0, y), (BOUNDS.2 + 34.0, y)];
        if curve.is_scatter {
            places.iter().for_each(|place| picture.disc(*place, 2.2, *ink));
            picture.disc((BOUNDS.2 + 24.0, y), 3.0, *ink);
        } else if curve.is_reference {
            picture.dashes(&places, *ink, 1.25, 5.0);
            picture.dashes(&key, *ink, 1.25, 5.0);
        } else {
            picture.line(&places, *ink, 2.0);
            picture.line(&key, *ink, 2.0);
        }
        let font = legend_font(&curve.name);
        picture.text((BOUNDS.2 + 40.0, y), &*curve.name, font, Anchor::Start);
    }
    picture
}

/// As large as fits beside the plot.
fn legend_font(name: &str) -> Font {
    let font = Font::new(11.0, BLACK);
    let room = SIZE.0 - BOUNDS.2 - 48.0;
    Font { size: font.size * (room / text_width(name, font)).min(1.0), ..font }
}

fn inks(curves: &[Curve]) -> Vec<Colour> {
    let mut colours = COLOURS.into_iter().cycle();
    let ink = |curve: &Curve| if curve.is_reference { None } else { colours.next() };
    curves.iter().map(ink).map(|ink| ink.unwrap_or(GREY)).collect()
}

fn axis(
    figure: &Figure,
    is_logarithmic: bool,
    part: fn(&(f64, f64)) -> f64,
    (start, end): (f64, f64),
) -> Axis {
    let values = || figure.curves.iter().flat_map(|curve| &curve.points).map(part);
    let low = values().filter(|v| !is_logarithmic || *v > 0.0).fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    if is_logarithmic && low.is_finite() && high > low {
        return Axis::logarithmic((low * 0.95, high * 1.05), start, end);
    }
    if !low.is_finite() {
        return Axis::linear((0.0, 1.0), start, end);
    }
    let margin = 0.04 * (high - low);
    Axis::linear((low - margin, high + margin), start, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl_paper::theory::{ClaimOutcome, Finding};

    fn report() -> Report {
        let points = vec![(10.0, 1.0), (100.0, 0.5), (1000.0, 0.25)];
        let band = vec![(0.8, 1.2), (0.4, 0.6), (0.2, 0.3)];
        let measured = Curve { band, ..Curve::new("error", points.clone()) };
        let figure = Figure {
            name: "sample",
            title: "A sample".into(),
            horizontal: ("steps", true),
            vertical: ("error", true),
            curves: vec![measured, Curve::reference("slope −0.3", points)],
        };
        let holds = Finding::new("a", "One is one", "1 = 1", ClaimOutcome::Holds);
        let under = ClaimOutcome::HoldsUnder("a condition".into());
        let fails = Finding::new("b", "Two is one", "2 ≠ 1", under).against(Some("two".into()));
        Report { findings: vec![holds, fails], figures: vec![figure] }
    }

    #[test]
    fn verdicts_read_well() {
        let text = verdicts(&report());
        assert!(text.contains("verdict         holds under a condition"), "{text}");
        assert!(text.contains("  counterexample  two\n"), "{text}");
        assert!(
            text.ends_with("1 hold, 1 hold under a condition, 0 do not hold, 0 measured only\n")
        );
    }

    #[test]
    fn a_report_leaves_its_files() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), &report()).unwrap();
        for name in ["theory.json", "sample.svg", "sample.png"] {
            assert!(folder.path().join(name).is_file(), "{name}");
        }
        assert!(picture(&report().figures[0]).to_svg().unwrap().contains("slope −0.3"));
    }
}
