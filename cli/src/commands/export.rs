//! `export`: the network of a trained model in a format that other runtimes read.

use super::output::print;
use crate::{
    exit::ExitCode,
    report::onnx::{Dense, RegionNetwork},
};
use anyhow::{Context, ensure};
use cgcmarl::{
    Model,
    algorithm::cg_cmarl::TwoHead,
    checkpoint::atomic,
    run::{contract, model_card},
};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cgcmarl export RUN --out network.onnx
  cgcmarl export RUN --format onnx --out network.onnx
  cgcmarl export RUN --format model-card --out RUN/README.md   for a run that has none yet

The ONNX file takes rows and gives tables. A row is what a region sees, its members in their order, then
0.3·ln(1 + 20·λ) for each constraint where the network sees multipliers. A table has one number for
each joint action of a region's members, the last member's action fastest: the task's first, then one
table for each constraint. Act on the first + Σ λ·(the others), summed over the regions; a model with
one augmented value has one table, to act on as it is. Everything a
reader must know is in the file's metadata, under `contract`.";

/// Formats that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// ONNX, read by onnxruntime and others
    Onnx,
    /// A model card: Markdown with the front matter of model hubs
    ModelCard,
}

/// What `export` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    /// The run directory
    run: PathBuf,
    /// Format of the file
    #[arg(long, value_enum, default_value_t = Format::Onnx)]
    format: Format,
    /// Where to write it; must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Writes the file.
pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    ensure!(!args.out.exists(), "{} exists already", args.out.display());
    let model = Model::open(&args.run)?;
    let bytes = match args.format {
        Format::Onnx => onnx_of(&model)?,
        Format::ModelCard => {
            model_card(&model.config, model.steps, model.front().ok().as_ref())?.into_bytes()
        }
    };
    atomic::write(&args.out, &bytes)?;
    print(&format!("wrote {}", args.out.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The network that all regions share.
fn onnx_of(model: &Model) -> anyhow::Result<Vec<u8>> {
    let scenario = model.scenario()?;
    let trained = model.cg_cmarl(&scenario)?;
    let environment = scenario.build()?;
    let view = environment.view();
    let context = trained.context(view);
    let mut told = contract(&model.config, view);
    let network = context.network;
    let more = [
        ("steps", json!(model.steps)),
        ("actions", json!(view.spec().n_actions())),
        ("region_size", json!(network.head().region_size())),
        ("multiplier_inputs", json!(network.n_multipliers())),
        ("multiplier_input", json!("0.3 * ln(1 + 20 * multiplier)")),
        ("orders", json!("tables are averaged over both orders of a pair's members")),
    ];
    told.extend(more.map(|(name, value)| (name.to_owned(), value)));
    onnx(network, context.parameters, vec![("contract".into(), json!(told).to_string())])
}

fn onnx(
    network: &TwoHead,
    parameters: &[f32],
    metadata: Vec<(String, String)>,
) -> anyhow::Result<Vec<u8>> {
    let tensors = network.layout().tensors();
    let mut layers: Vec<Dense<'_>> = tensors
        .chunks_exact(2)
        .map(|pair| Dense {
            weight: pair[0].span.of(parameters),
            bias: pair[1].span.of(parameters),
            n_inputs: pair[0].shape[1],
        })
        .collect();
    let heads = layers.pop().context("a network has heads")?;
    let head = network.head();
    let (n_terms, size) = (head.n_terms(), head.region_size());
    let n_entries = head.n_entries(size);
    let mut expansion = vec![0.0; n_terms * n_entries];
    let mut unit = vec![0.0; n_terms];
    for (term, row) in expansion.chunks_exact_mut(n_entries).enumerate() {
        unit.fill(0.0);
        unit[term] = 1.0;
        head.expand(size, &unit, row);
    }
    let n_heads = network.n_heads();
    Ok(RegionNetwork { trunk: layers, heads, n_heads, expansion, n_entries, metadata }.encode())
}
