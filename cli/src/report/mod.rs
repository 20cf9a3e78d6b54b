//! What a person looks at: tables, and pictures as SVG and PNG.

pub(crate) mod animation;
pub(crate) mod axis;
pub(crate) mod budget;
pub(crate) mod comparison;
pub(crate) mod curves;
pub(crate) mod data;
pub(crate) mod labels;
pub(crate) mod markers;
pub(crate) mod page;
pub(crate) mod panels;
pub(crate) mod picture;
pub(crate) mod plot;
pub(crate) mod raster;
pub(crate) mod render;
pub(crate) mod reproduction;
#[cfg(test)]
mod sample;
pub(crate) mod series;
pub(crate) mod sheet;
pub(crate) mod table;
pub(crate) mod theory;

use anyhow::Context;
use cgcmarl::{
    checkpoint::atomic,
    evaluation::Front,
    run_dir::{RunDir, files},
};
use std::path::Path;

/// Writes `front.json`, `front.csv`, `front.svg` and `front.png` into a folder.
pub(crate) fn save_front_in(folder: &Path, front: &Front) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let put = |name: &str, content: &[u8]| atomic::write(&folder.join(name), content);
    put(files::FRONT_JSON, (serde_json::to_string_pretty(front)? + "\n").as_bytes())?;
    put(files::FRONT_CSV, front.to_csv().as_bytes())?;
    let picture = plot::front(front);
    put(files::FRONT_SVG, picture.to_svg()?.as_bytes())?;
    put(files::FRONT_PNG, &picture.to_png()?)?;
    Ok(())
}

/// Writes `curves.csv`, `curves.svg` and `curves.png` from the metrics of a run.
pub(crate) fn save_curves(run: &RunDir) -> anyhow::Result<()> {
    run.write_curves()?;
    let manifest = run.manifest()?;
    let title = format!("{}, {}, seed {}", manifest.task, manifest.algorithm, manifest.seed);
    let picture = curves::learning_curves(&title, &run.metrics()?);
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
        save_curves(writer.run()).unwrap();
        save_front_in(folder.path(), &sample::front()).unwrap();
        for name in ["front", "curves"] {
            for kind in ["csv", "svg", "png"] {
                assert!(folder.path().join(format!("{name}.{kind}")).is_file(), "{name}.{kind}");
            }
        }
        assert_eq!(writer.run().front().unwrap(), sample::front());
    }
}
