//! Reads UAI (MARKOV and BAYES) and log-UAI (`.LG`) files and evidence; writes log-UAI.
//!
//! `MARKOV`, number of variables, their domains, number of factors, a scope per factor (its size
//! and its variables), a table per factor (its number of entries and the entries, the last variable
//! running fastest). UAI holds factors, of which we take the logarithm; log-UAI holds payoffs.

use super::problem::{MAX_ENTRIES, MAX_VALUES, Problem, table_size};
use super::tokens::Tokens;
use crate::coordination::FactorTables;
use crate::error::{Error, Result};
use crate::graph::CoordinationGraph;
use std::io::Write;
use std::path::Path;

/// Reads one file; the ending `.LG` tells payoffs from factors.
pub(crate) fn read(path: &Path) -> Result<Problem> {
    let bytes = std::fs::read(path).map_err(Error::file(path))?;
    let is_log = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("lg"));
    parse(path, &bytes, is_log)
}

/// Parses the content of a file.
pub(crate) fn parse(path: &Path, bytes: &[u8], is_log: bool) -> Result<Problem> {
    let mut tokens = Tokens::new(path, bytes)?;
    let kind = tokens.word("`MARKOV` or `BAYES`")?;
    if !matches!(kind.to_ascii_uppercase().as_str(), "MARKOV" | "BAYES") {
        return Err(tokens.error(format!("`{kind}` is not `MARKOV` or `BAYES`")));
    }
    let n_actions = domains(&mut tokens)?;
    let n_factors = tokens.count("factors")?;
    let mut scopes = Vec::with_capacity(n_factors);
    for factor in 0..n_factors {
        scopes.push(scope(&mut tokens, factor, n_actions.len())?);
    }
    let mut payoffs = Vec::new();
    for (factor, scope) in scopes.iter().enumerate() {
        table(&mut tokens, factor, scope, &n_actions, is_log, &mut payoffs)?;
    }
    tokens.finish()?;
    Problem::new(path, &n_actions, &scopes, payoffs)
}

fn domains(tokens: &mut Tokens) -> Result<Vec<usize>> {
    let n_variables = tokens.count("variables")?;
    if n_variables == 0 {
        return Err(tokens.error("a problem needs at least one variable"));
    }
    let mut n_actions = Vec::with_capacity(n_variables);
    let mut total = 0;
    for variable in 0..n_variables {
        let n = tokens.integer(&format!("the domain of variable {variable}"))?;
        total += n.min(MAX_ENTRIES);
        if n == 0 || n > MAX_VALUES || total > MAX_ENTRIES {
            let problem = if n == 0 { "is empty" } else { "is too large" };
            return Err(tokens.error(format!("the domain of variable {variable} {problem}")));
        }
        n_actions.push(n);
    }
    Ok(n_actions)
}

fn scope(tokens: &mut Tokens, factor: usize, n_variables: usize) -> Result<Vec<usize>> {
    let size = tokens.count(&format!("variables in factor {factor}"))?;
    if size == 0 {
        return Err(tokens.error(format!("factor {factor} has no variables")));
    }
    let mut scope = Vec::with_capacity(size);
    for _ in 0..size {
        let variable = tokens.integer(&format!("a variable of factor {factor}"))?;
        if variable >= n_variables {
            let last = n_variables - 1;
            return Err(tokens
                .error(format!("factor {factor} names variable {variable}; the last is {last}")));
        }
        if scope.contains(&variable) {
            return Err(tokens.error(format!("factor {factor} names variable {variable} twice")));
        }
        scope.push(variable);
    }
    Ok(scope)
}

fn table(
    tokens: &mut Tokens,
    factor: usize,
    scope: &[usize],
    n_actions: &[usize],
    is_log: bool,
    payoffs: &mut Vec<f64>,
) -> Result<()> {
    let size = table_size(tokens.path(), Some(tokens.line()), n_actions, scope)?;
    let declared = tokens.count(&format!("entries of factor {factor}"))?;
    if declared != size {
        return Err(tokens.error(format!(
            "factor {factor} declares {declared} entries; its scope {scope:?} makes {size}"
        )));
    }
    for entry in 0..size {
        let number = tokens.number(&format!("entry {entry} of factor {factor}"))?;
        let valid = !number.is_nan() && number < f64::INFINITY && (is_log || number >= 0.0);
        if !valid {
            return Err(tokens.error(format!("entry {entry} of factor {factor} is {number}")));
        }
        payoffs.push(if is_log { number } else { number.ln() });
    }
    Ok(())
}

/// Reads evidence: how many variables are observed, then each variable and its value.
pub(crate) fn read_evidence(path: &Path, n_actions: &[usize]) -> Result<Vec<(usize, usize)>> {
    let bytes = std::fs::read(path).map_err(Error::file(path))?;
    let mut tokens = Tokens::new(path, &bytes)?;
    let n_words = tokens.remaining_words();
    let mut n_observed = tokens.count("observed variables")?;
    // The 2008 form starts with a number of samples, which is 1.
    if n_observed == 1 && n_words != 3 && n_words > 1 {
        n_observed = tokens.count("observed variables")?;
    }
    let mut observed = Vec::with_capacity(n_observed);
    let mut is_observed = vec![false; n_actions.len()];
    for _ in 0..n_observed {
        let variable = tokens.integer("an observed variable")?;
        let value = tokens.integer(&format!("the value of variable {variable}"))?;
        match n_actions.get(variable) {
            None => return Err(tokens.error(format!("there is no variable {variable}"))),
            Some(&n) if value >= n => {
                return Err(tokens.error(format!("variable {variable} has no value {value}")));
            }
            Some(_) if std::mem::replace(&mut is_observed[variable], true) => {
                return Err(tokens.error(format!("variable {variable} is observed twice")));
            }
            Some(_) => observed.push((variable, value)),
        }
    }
    tokens.finish()?;
    Ok(observed)
}

/// Writes a decision as log-UAI, so that other solvers can check it; utilities become factors of
/// one variable.
pub fn write_log_uai(
    graph: &CoordinationGraph,
    tables: &FactorTables,
    to: &mut impl Write,
) -> std::io::Result<()> {
    let useful: Vec<usize> =
        (0..graph.n_agents()).filter(|&i| tables.agent(i).iter().any(|&x| x != 0.0)).collect();
    writeln!(to, "MARKOV\n{}", graph.n_agents())?;
    writeln!(to, "{}", joined(tables.n_actions()))?;
    writeln!(to, "{}", useful.len() + graph.n_regions())?;
    for agent in &useful {
        writeln!(to, "1 {agent}")?;
    }
    for members in graph.regions() {
        writeln!(to, "{} {}", members.len(), joined(members))?;
    }
    let alone = useful.iter().map(|&agent| tables.agent(agent));
    for table in alone.chain((0..graph.n_regions()).map(|region| tables.region(region))) {
        writeln!(to, "\n{}\n {}", table.len(), joined(table))?;
    }
    Ok(())
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
