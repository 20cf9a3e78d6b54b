//! What a person looks at: tables, and pictures as SVG and PNG.

pub(crate) mod axis;
pub(crate) mod curves;
pub(crate) mod labels;
pub(crate) mod markers;
pub(crate) mod picture;
pub(crate) mod plot;
pub(crate) mod render;
#[cfg(test)]
mod sample;
pub(crate) mod table;

use cgcmarl::{evaluation::Front, run_dir::RunDir};

/// Writes `front.json`, `front.csv`, `front.svg` and `front.png` into a run.
pub(crate) fn save_front(run: &RunDir, front: &Front) -> anyhow::Result<()> {
    run.write_front(front)?;
    save_picture(run, "front", &plot::front(front))
}

/// Writes `curves.csv`, `curves.svg` and `curves.png` from the metrics of a run.
pub(crate) fn save_curves(run: &RunDir) -> anyhow::Result<()> {
    run.write_curves()?;
    let manifest = run.manifest()?;
    let title = format!("{}, {}, seed {}", manifest.task, manifest.algorithm, manifest.seed);
    save_picture(run, "curves", &curves::learning_curves(&title, &run.metrics()?))
}

fn save_picture(run: &RunDir, name: &str, picture: &picture::Picture) -> anyhow::Result<()> {
    run.write(&format!("{name}.svg"), picture.to_svg()?)?;
    run.write(&format!("{name}.png"), picture.to_png()?)?;
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
        save_front(writer.run(), &sample::front()).unwrap();
        for name in ["front", "curves"] {
            for kind in ["csv", "svg", "png"] {
                assert!(folder.path().join(format!("{name}.{kind}")).is_file(), "{name}.{kind}");
            }
        }
        assert_eq!(writer.run().front().unwrap(), sample::front());
    }
}
