//! What a person looks at: tables, and pictures as SVG and PNG.

pub(crate) mod animation;
pub(crate) mod animation_file;
pub(crate) mod axis;
pub(crate) mod curve;
pub(crate) mod curves;
pub(crate) mod data;
pub(crate) mod export_table;
pub(crate) mod labels;
pub(crate) mod markers;
pub(crate) mod measure;
pub(crate) mod metrics_file;
pub(crate) mod onnx;
pub(crate) mod page;
pub(crate) mod paper;
pub(crate) mod picture;
pub(crate) mod plot;
pub(crate) mod raster;
pub(crate) mod render;
#[cfg(test)]
mod sample;
pub(crate) mod series;
pub(crate) mod surface;
pub(crate) mod table;

use anyhow::Context;
use cgcmarl::{
    checkpoint::atomic,
    evaluation::{Front, Measures},
    run_dir::{RunDir, files},
};
use metrics_file::MetricsFile;
use std::path::Path;

/// Writes `front.json`, `front.csv`, `front.svg` and `front.png` into a folder, and `surface.svg` and
/// `surface.png` of a grid over two multipliers; the front's pictures hold the paper's printed points
/// where those are wanted.
pub(crate) fn save_front_in(
    folder: &Path,
    front: &Front,
    beside_paper: bool,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let put = |name: &str, content: &[u8]| atomic::write(&folder.join(name), content);
    put(files::FRONT_JSON, (serde_json::to_string_pretty(front)? + "\n").as_bytes())?;
    put(files::FRONT_CSV, front.to_csv().as_bytes())?;
    let printed = if beside_paper { paper::series(front.n_agents) } else { vec![] };
    let picture = plot::front(front, &printed);
    put(files::FRONT_SVG, picture.to_svg()?.as_bytes())?;
    put(files::FRONT_PNG, &picture.to_png()?)?;
    if let Some(picture) = surface::surface(front) {
        put(files::SURFACE_SVG, picture.to_svg()?.as_bytes())?;
        put(files::SURFACE_PNG, &picture.to_png()?)?;
    }
    Ok(())
}

/// Writes `curves.csv`, `curves.svg` and `curves.png` from the metrics of a run.
pub(crate) fn save_curves(run: &RunDir, measures: &Measures) -> anyhow::Result<()> {
    run.write_curves()?;
    let manifest = run.manifest()?;
    let title = format!("{}, {}, seed {}", manifest.task, manifest.algorithm, manifest.seed);
    let mut file = MetricsFile::of(run);
    let picture = curves::learning_curves(&title, measures, file.curves());
    run.write(files::CURVES_SVG, picture.to_svg()?)?;
    run.write(files::CURVES_PNG, picture.to_png()?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::run_dir::{Manifest, RunWriter};
    use serde_json::json;

    #[test]
    fn a_run_gets_all_its_reports() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest::new("simple_spread", "cg_cmarl", 1, json!({}));
        let mut writer = RunWriter::create(folder.path(), "", &manifest).unwrap();
        writer.append_metrics(&json!({"step": 25, "coverage": 0.5})).unwrap();
        save_curves(writer.run(), &sample::front().measures).unwrap();
        save_front_in(folder.path(), &sample::front(), false).unwrap();
        for name in ["front", "curves"] {
            for kind in ["csv", "svg", "png"] {
                assert!(folder.path().join(format!("{name}.{kind}")).is_file(), "{name}.{kind}");
            }
        }
        assert_eq!(writer.run().front().unwrap(), sample::front());
    }
}
