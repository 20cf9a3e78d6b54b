//! A table as Markdown, as CSV and as LaTeX in the shape of the paper's.

use std::fmt::Write as _;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// Words, or a number already written.
    Text(String),
    /// A mean and its spread with so many digits behind the point.
    Spread(f64, f64, usize),
}

impl Cell {
    /// A mean with its deviation over the seeds, which a single seed does not have.
    pub(crate) fn over_seeds(n_seeds: usize, mean: f64, deviation: f64, digits: usize) -> Self {
        match n_seeds {
            0 | 1 => Self::Text(format!("{mean:.digits$}")),
            _ => Self::Spread(mean, deviation, digits),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A table; the first column groups the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExportTable {
    /// Name of its files, and its LaTeX label.
    pub(crate) name: &'static str,
    /// What it shows.
    pub(crate) caption: String,
    /// Names of the columns.
    pub(crate) head: Vec<String>,
    /// Cells, as many as the head has.
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl ExportTable {
    /// For a page.
    pub(crate) fn to_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("{}\n\n{}", self.caption, line(self.head.clone()));
        text += &line(vec!["---".into(); self.head.len()]);
        self.texts().into_iter().for_each(|row| text += &line(row));
        text
    }

    /// The cells as people read them.
    pub(crate) fn texts(&self) -> Vec<Vec<String>> {
        self.rows.iter().map(|row| row.iter().map(plain).collect()).collect()
    }

    /// For a spreadsheet; a spread gets a column of its own.
    pub(crate) fn to_csv(&self) -> String {
        let is_spread = |column: usize| {
            self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Spread(..))))
        };
        let mut head = vec![];
        for (column, name) in self.head.iter().enumerate() {
            head.push(name.clone());
            if is_spread(column) {
                head.push(format!("{name} sd"));
            }
        }
        let mut csv = head.join(",") + "\n";
        for row in &self.rows {
            let cells: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(column, cell)| match cell {
                    Cell::Spread(mean, spread, _) => format!("{mean},{spread}"),
                    Cell::Text(text) if is_spread(column) => format!("{text},"),
                    Cell::Text(text) => text.clone(),
                })
                .collect();
            let _ = writeln!(csv, "{}", cells.join(","));
        }
        csv
    }

    /// For a paper, with booktabs: a mean and its deviation are aligned at their ±.
    pub(crate) fn to_latex(&self) -> String {
        let is_spread = |column: usize| {
            self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Spread(..))))
        };
        let n_columns = self.head.len();
        let kinds: String = (0..n_columns)
            .map(|column| if is_spread(column) { r" r@{$\,\pm\,$}l" } else { " l" })
            .collect();
        let head: Vec<String> = (0..n_columns)
            .map(|column| {
                let name = format!(r"\textbf{{{}}}", escaped(&self.head[column]));
                if is_spread(column) { format!(r"\multicolumn{{2}}{{c}}{{{name}}}") } else { name }
            })
            .collect();
        let mut text = format!(
            "\\begin{{longtable}}{{@{{}}{}@{{}}}}\n\\caption{{{}}}\n\\label{{tab:{}}} \\\\\n\\toprule\n{} \\\\\n\\midrule\n\\endhead\n\\bottomrule\n\\endlastfoot\n",
            kinds.trim_start(),
            escaped(&self.caption),
            self.name,
            head.join(" & ")
        );
        let mut group: Option<&Cell> = None;
        for row in &self.rows {
            let is_new = group != row.first();
            if is_new && group.is_some() {
                text += "\\addlinespace[4pt]\n\\midrule\n";
            }
            group = row.first();
            let cell = |(column, cell): (usize, &Cell)| match cell {
                Cell::Text(_) if column == 0 && !is_new => String::new(),
                Cell::Text(text) if is_spread(column) => format!("{} & ", escaped(text)),
                Cell::Text(text) => escaped(text),
                Cell::Spread(mean, spread, digits) => {
                    format!("{mean:.digits$} & {spread:.digits$}", digits = *digits)
                }
            };
            let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
            let _ = writeln!(text, "{} \\\\", cells.join(" & "));
        }
        text + "\\end{longtable}\n"
    }
}

fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Spread(mean, spread, digits) => {
            format!("{mean:.digits$} ± {spread:.digits$}", digits = *digits)
        }
    }
}

/// Text that LaTeX prints as it is.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '%' | '_' | '&' | '#' => {
                out.push('\\');
                out.push(letter);
            }
            'λ' => out += r"$\lambda$",
            '★' => out += r"$\bigstar$",
            '±' => out += r"$\pm$",
            '–' => out += "--",
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> ExportTable {
        ExportTable {
            name: "sample",
            caption: "Gains and costs".into(),
            head: ["N", "Param.", "Gain (%)", "Pareto"].map(String::from).to_vec(),
            rows: vec![
                vec!["3".into(), "λ=0.05".into(), Cell::Spread(46.58, 6.01, 2), "★".into()],
                vec!["3".into(), "λ=0.1".into(), "–".into(), "".into()],
                vec!["4".into(), "λ=0".into(), Cell::Spread(37.5, 0.88, 2), "".into()],
            ],
        }
    }

    #[test]
    fn a_table_reads_well_in_three_forms() {
        let table = sample();
        insta::assert_snapshot!(format!(
            "{}\n{}\n{}",
            table.to_markdown(),
            table.to_csv(),
            table.to_latex()
        ));
    }
}
