//! The names of a run's files: nobody else spells them.

/// The resolved configuration.
pub const CONFIG: &str = "config.toml";
/// Program, seed, machine, environment card.
pub const MANIFEST: &str = "manifest.json";
/// One JSON object per line.
pub const METRICS: &str = "metrics.jsonl";
/// The same numbers for TensorBoard.
pub const EVENTS: &str = "events.out.tfevents.cgcmarl";
/// The folder of everything that is needed to go on.
pub const CHECKPOINTS: &str = "checkpoints";
/// Inside that folder: the name of the newest checkpoint.
pub const LATEST: &str = "latest";
/// What playing needs.
pub const MODEL: &str = "model.safetensors";
/// The metrics as a table.
pub const CURVES_CSV: &str = "curves.csv";
/// The metrics as a drawing.
pub const CURVES_SVG: &str = "curves.svg";
/// The metrics as a picture.
pub const CURVES_PNG: &str = "curves.png";
/// Every operating point of the last sweep.
pub const FRONT_JSON: &str = "front.json";
/// The same as a table.
pub const FRONT_CSV: &str = "front.csv";
/// The same as a drawing.
pub const FRONT_SVG: &str = "front.svg";
/// The same as a picture.
pub const FRONT_PNG: &str = "front.png";
/// The measures over a grid of two multipliers as a drawing.
pub const SURFACE_SVG: &str = "surface.svg";
/// The same as a picture.
pub const SURFACE_PNG: &str = "surface.png";
/// The folder of the fronts of the smaller teams that learned together with the run's own.
pub const TEAMS: &str = "teams";
/// The multiplier that keeps a limit, with its evidence.
pub const CHOICE: &str = "choice.json";
/// The model card: what was trained, and its front, for people and model hubs.
pub const MODEL_CARD: &str = "README.md";
/// Where the errors of the trained model come from.
pub const ERROR_BUDGET: &str = "error_budget.json";
/// What the team achieved without exploration while it was trained, where somebody played it.
pub const GREEDY: &str = "greedy.json";

/// The name of a checkpoint after some environment steps; names sort as their steps do.
pub fn checkpoint(step: u64) -> String {
    format!("step_{step:012}.safetensors")
}

/// Whether a name is that of a checkpoint.
pub fn is_checkpoint(name: &str) -> bool {
    name.starts_with("step_") && name.ends_with(".safetensors")
}
