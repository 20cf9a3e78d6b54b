//! `export`: the network of a trained model in a format that other runtimes read.

use super::output::print;
use crate::{
    exit::ExitCode,
    report::onnx::{Dense, RegionNetwork},
};
use anyhow::{Context, ensure};
use cgcmarl::{
    Model,
    algorithm::{CgCmarlOptions, cg_cmarl::TwoHead},
    checkpoint::atomic,
    environment::{View, frame::Frame},
    run::{contract, model_card},
};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
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
one augmented value has one table, to act on as it is.

Regions look at the world in frames of their own (`frame_rule`: world, cone or octant). For each of the
first `averaged_frames` frames of a region, and each of the `averaged_orders` orders of a pair's members:
find the symmetry that leads into the frame (`frame_words`), turn the state by it (`symmetries[s].state`),
write the row of the turned state with the members in that order (`row_layout` and `row_words`) and turn
the table back:
what the world calls (a, b) stands at (A[a], A[b]) with A = `symmetries[s].actions`, at (A[b], A[a]) in
the other order. The region's table is the mean of all these.

Everything a reader must know is in the file's metadata, under `contract`; the task's options, such as
the seconds that agents coast before directions are taken, are there under `environment`.";

/// How the contract tells what a symmetry does.
const SYMMETRIES: &str = "entry k of a state under a symmetry is entry |p| - 1 of the state, times -1 where p < 0, \
                          with p = state[k]; action a is called actions[a] there";

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
    let options: CgCmarlOptions = model.config.typed_options()?;
    let more = [
        ("environment", json!(scenario.options())),
        ("row_words", json!(view.row_words())),
        ("steps", json!(model.steps)),
        ("actions", json!(view.spec().n_actions())),
        ("region_size", json!(network.head().region_size())),
        ("multiplier_inputs", json!(network.n_multipliers())),
        ("multiplier_input", json!("0.3 * ln(1 + 20 * multiplier)")),
    ];
    let more = more.into_iter().chain(poses(&options, view));
    told.extend(more.map(|(name, value)| (name.to_owned(), value)));
    onnx(network, context.parameters, vec![("contract".into(), json!(told).to_string())])
}

/// In which poses a region is seen, and what its tables mean in each.
fn poses(options: &CgCmarlOptions, view: &dyn View) -> [(&'static str, Value); 6] {
    let rule = view.frame_rule();
    let is_pair = view.spec().region_size == 2;
    let symmetry = |symmetry| {
        let actions = (0..view.spec().n_actions()).map(|a| view.transform_action(symmetry, a));
        json!({ "actions": actions.collect::<Vec<_>>(), "state": places(view, symmetry) })
    };
    let symmetries: Vec<Value> = (0..view.n_symmetries()).map(symmetry).collect();
    let frame_words = rule.map_or("the task chooses frames by a rule of its own", Frame::words);
    [
        ("frame_rule", rule.map_or(json!("own"), |rule| json!(rule))),
        ("frame_words", json!(frame_words)),
        ("averaged_frames", json!(options.average_symmetries.min(view.n_frames()))),
        ("averaged_orders", json!(1 + usize::from(options.average_orders && is_pair))),
        ("symmetries", json!(symmetries)),
        ("symmetry_words", json!(SYMMETRIES)),
    ]
}

/// Where each number of a state under a symmetry comes from: its place in the state, counted from 1, and
/// negative where its sign changes. None where the symmetry does more than that.
fn places(view: &dyn View, symmetry: usize) -> Option<Vec<i64>> {
    let n = view.spec().state_width;
    let mut counted: Vec<f32> = (1..=n).map(|place| place as f32).collect();
    let mut squared: Vec<f32> = counted.iter().map(|place| place * place).collect();
    view.transform_state(symmetry, &mut counted);
    view.transform_state(symmetry, &mut squared);
    let moved = |(&place, &square): (&f32, &f32)| {
        let is_one = place.fract() == 0.0 && (1..=n).contains(&(place.abs() as usize));
        (is_one && square == place * place.abs()).then_some(place as i64)
    };
    counted.iter().zip(&squared).map(moved).collect()
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
