//! `merge`: the parts of a sweep or an evaluation, played anywhere, become what one process finds.

use super::{
    evaluate::print_score,
    front_place::Coming,
    output::{self, OutputFormat, print},
    sweep::print_front,
};
use crate::{exit::ExitCode, report};
use anyhow::{Context, bail, ensure};
use cgcmarl::{
    Error, Model,
    checkpoint::atomic,
    environment::Scenario,
    evaluation::{
        EvaluationOptions,
        part::{Merged, Part, merge},
    },
    run::write_model_card,
};
use clap::Args;
use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

const EXAMPLES: &str = "\
Examples:
  cgcmarl sweep RUN --episodes 1000 --episode-range 0..500 --part a.json
  cgcmarl sweep RUN --episodes 1000 --episode-range 500..1000 --part b.json
  cgcmarl merge a.json b.json --out RUN

The bytes are those of the whole sweep (or evaluation) in one process. Parts may come in any order;
missing or doubled episodes and parts of another evaluation are refused.";

/// A part of the episodes instead of all of them.
#[derive(Debug, Args)]
pub(crate) struct PartArgs {
    /// Play only the episodes A up to B, without B, into the file of `--part`
    #[arg(long, value_name = "A..B", requires = "part")]
    episode_range: Option<String>,
    /// Where the played episodes go, for `merge`
    #[arg(long, value_name = "FILE", requires = "episode_range")]
    part: Option<PathBuf>,
}

impl PartArgs {
    /// Some of the episodes, into a file.
    pub(super) fn new(range: &Range<usize>, file: &Path) -> Self {
        Self {
            episode_range: Some(format!("{}..{}", range.start, range.end)),
            part: Some(file.into()),
        }
    }

    /// Which of the episodes are asked for, where not all are; refuses a file that they cannot go to.
    pub(super) fn range(&self, wanted: &Wanted<'_>) -> anyhow::Result<Option<Range<usize>>> {
        let Some(text) = &self.episode_range else { return Ok(None) };
        let episodes = wanted.options.episodes;
        let numbers = text
            .split_once("..")
            .and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
        let range: Option<Range<usize>> = numbers.map(|(from, to)| from..to);
        if let Some(range) = range
            && !range.is_empty()
            && range.end <= episodes
        {
            self.part.iter().try_for_each(|file| wanted.is_in(file, &range).map(drop))?;
            return Ok(Some(range));
        }
        let reason = format!("is written A..B, some of the {episodes} episodes");
        bail!(Error::setting("--episode-range", text, reason))
    }

    /// Writes what was played.
    pub(super) fn write(&self, part: &Part) -> anyhow::Result<ExitCode> {
        let Some(file) = &self.part else { bail!("`--episode-range` needs `--part FILE`") };
        atomic::write(file, (serde_json::to_string(part)? + "\n").as_bytes())?;
        print(&format!("{}: episodes {}..{}", file.display(), part.from, part.to))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// An evaluation of which some episodes are to be played.
pub(super) struct Wanted<'a> {
    pub(super) model: &'a Model,
    pub(super) scenario: &'a Scenario,
    pub(super) options: &'a EvaluationOptions,
    /// The multipliers of every point.
    pub(super) points: &'a [Vec<f32>],
    /// Whether the references are played beside them.
    pub(super) is_sweep: bool,
}

impl Wanted<'_> {
    /// Whether a file holds just these episodes of it; refuses one that holds anything else.
    pub(super) fn is_in(&self, file: &Path, episodes: &Range<usize>) -> anyhow::Result<bool> {
        check_part(file)?;
        if !file.is_file() {
            return Ok(false);
        }
        let earlier = read(file)?;
        let points = self.model.operating_points(self.scenario, self.points)?;
        let whole = self.model.whole(self.scenario, self.options)?;
        let is_it = serde_json::to_value(&earlier.whole)? == serde_json::to_value(&whole)?
            && (earlier.from, earlier.to) == (episodes.start, episodes.end)
            && earlier
                .points
                .iter()
                .map(|played| &played.label)
                .eq(points.iter().map(|p| &p.label))
            && earlier.references.is_empty() != self.is_sweep;
        let shown = file.display();
        ensure!(is_it, "{shown} holds a part of another evaluation; choose another name");
        Ok(true)
    }
}

/// Refuses a file that cannot be written, or that holds anything but a part.
fn check_part(file: &Path) -> anyhow::Result<()> {
    output::check_file(file)?;
    if file.is_file() {
        let shown = file.display();
        read(file).with_context(|| format!("{shown} exists already; choose another name"))?;
    }
    Ok(())
}

/// What `merge` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArgs {
    /// The files of the parts
    #[arg(required = true, value_name = "FILE")]
    parts: Vec<PathBuf>,
    /// Where front.json, front.csv, front.svg and front.png go; without it the result is printed only
    #[arg(long)]
    out: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Merges, prints, and saves a front where a folder is given.
pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<ExitCode> {
    args.out.iter().try_for_each(|place| output::check_folder(place))?;
    let parts = args.parts.iter().map(|file| read(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let model = parts.first().map(|part| part.whole.model);
    match merge(parts)? {
        Merged::Front(front) => {
            if let Some(place) = &args.out {
                Coming::of(&front, model).check(place)?;
                report::save_front_in(place, &front, false)?;
                // A run's card tells its front.
                if let Ok(model) = Model::open(place) {
                    write_model_card(&model.run, &model.config, model.steps)?;
                }
            }
            print_front(&front, args.out.as_deref(), false, args.format)?;
        }
        Merged::Score(score, measures) => {
            if let Some(place) = &args.out {
                bail!("--out {}: the parts are of one policy, which has no front", place.display());
            }
            print_score(&score, &measures, args.format)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A part as its file tells it.
pub(super) fn read(file: &Path) -> anyhow::Result<Part> {
    let shown = || file.display().to_string();
    let text = fs::read_to_string(file).with_context(shown)?;
    serde_json::from_str(&text).with_context(|| format!("{} is no part of a sweep", shown()))
}
