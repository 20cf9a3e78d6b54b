// The report: everything about one run, from the data that the page carries with it.
"use strict";
(() => {
  const { draw, between, drawFront, drawCurves, chooseConstraint, percent, rate, compact, plain, titled, say } = window.cgcmarl;
  const find = (name) => document.getElementById(name);
  const data = JSON.parse(find("data").textContent);
  const STEP = 140;
  const REST = 1400;

  const animations = [];
  let playing = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  let begun = performance.now();
  let stopped = null;

  function element(name, text, parent) {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  function trace(label, episode) {
    const found = data.episodes.filter((each) => each.label === label);
    return found.find((each) => each.episode === episode) || found[0];
  }

  /** The shapes of every frame: a frame tells only what changed. */
  function unfold(each) {
    let before = [];
    each.shapes ??= each.frames.map((frame) => {
      before = frame.map((entry, index) => (entry === 0 ? before[index] : Array.isArray(entry) ? { ...before[index], at: entry } : entry));
      return before;
    });
    return each.shapes;
  }

  /** Draws a trace at a moment; all its trails where the moment is the end. */
  function paint(animation, moment) {
    const { bounds } = animation.trace;
    const frames = unfold(animation.trace);
    const last = frames.length - 1;
    const step = Math.min(last, Math.floor(moment));
    const shapes = step < last ? between(frames[step], frames[step + 1], moment - step, bounds) : frames[step];
    const trails = new Map();
    for (const { agent, at } of [...frames.slice(0, step + 1), shapes].flat()) {
      if (agent === undefined) continue;
      if (!trails.has(agent)) trails.set(agent, []);
      trails.get(agent).push(at);
    }
    draw(animation.canvas, { bounds, shapes, trails });
  }

  function animate(time) {
    requestAnimationFrame(animate);
    const horizon = data.horizon;
    const clock = stopped ?? (Math.max(0, time - begun) % (horizon * STEP + REST)) / STEP;
    animations.forEach((animation) => { if (animation.trace) paint(animation, Math.min(horizon, clock)); });
  }

  function setPlaying(play) {
    playing = play;
    stopped = play ? null : data.horizon;
    begun = performance.now();
    find("play").textContent = play ? "Pause" : "Play";
    find("play").setAttribute("aria-pressed", String(play));
  }

  const { metrics, constraints, axes } = data.measures;
  const metricOf = (name) => metrics.find((metric) => metric.name === name);

  /** The axes of the front in one line. */
  const achieved = (value) => axes.map(metricOf).map((metric) => `${plain(metric.name)} ${say(metric, value(metric.name))}`).join(", ");

  function describe(each) {
    return `${achieved((name) => each.metrics[name])} in ${each.frames.length - 1} steps`;
  }

  function setTrace(animation, label, episode) {
    animation.trace = trace(label, episode);
    if (!animation.trace) return;
    animation.note.textContent = describe(animation.trace);
    animation.canvas.setAttribute("aria-label", `Episode at ${label}: ${describe(animation.trace)}`);
  }

  function showSide() {
    const labels = data.side;
    const many = ["no trade-offs", "one trade-off", "two trade-offs", "three trade-offs"][labels.length];
    find("side-title").textContent = `One model, ${many}, the same start`;
    find("side-note").hidden = !data.has_multipliers;
    const episodes = [...new Set(data.episodes.map((each) => each.episode))];
    const chooser = find("episode");
    episodes.forEach((episode) => { element("option", String(episode), chooser).value = episode; });
    const side = labels.map((label) => {
      const figure = element("figure", null, find("side"));
      const title = element("h3", label, figure);
      const point = data.front && data.front.points.find((each) => each.label === label);
      if (point) element("span", ` ${achieved((name) => point.metrics[name]?.mean)}`, title).className = "muted";
      const canvas = element("canvas", null, figure);
      canvas.className = "screen";
      canvas.setAttribute("role", "img");
      const animation = { canvas, label, note: element("figcaption", null, figure) };
      animations.push(animation);
      return animation;
    });
    const show = () => side.forEach((animation) => setTrace(animation, animation.label, Number(chooser.value)));
    chooser.addEventListener("change", () => { show(); setPlaying(true); });
    show();
    find("play").addEventListener("click", () => setPlaying(!playing));
  }

  function showFront() {
    if (!data.front) { find("front-card").hidden = find("table-card").hidden = true; return; }
    const animation = { canvas: find("picked"), note: find("picked-note") };
    animations.push(animation);
    let chart = null;
    const pick = (score) => {
      find("picked-title").textContent = `An episode at ${score.label}`;
      setTrace(animation, score.label, Number(find("episode").value));
      chart.pick(score.label);
      begun = performance.now();
    };
    const references = data.front.references.map((score) => score.label).filter((label) => label !== "random");
    const redraw = () => {
      const paper = find("paper").checked ? data.paper : [];
      const constraint = Number(find("constraint").value) || 0;
      chart = drawFront(find("front"), data.front, { onPick: pick, paper, constraint });
      find("legend").textContent = `★ Pareto-optimal, ■ dominated${references.length ? `, ◆ ${references.join(", ")}` : ""}; bars: 95 % intervals. `
        + (paper.length ? "● CG-CMARL as printed in the paper (open: dominated), × its baselines. " : "")
        + "Choose a point to see an episode there.";
    };
    chooseConstraint(find("constraint"), data.front, redraw);
    find("paper").addEventListener("change", redraw);
    find("paper").closest("p").hidden = data.paper.length === 0;
    redraw();
    const best = data.front.points.filter((point) => point.pareto);
    pick(best[best.length >> 1] || data.front.points[0]);
    showTable();
  }

  /** A number with half of its interval. */
  function cell(metric, value) {
    if (!value || typeof value.mean !== "number") return "–";
    const half = say(metric, (value.high - value.low) / 2, value.mean);
    return metric.percent ? `${say(metric, value.mean).replace(" %", "")} ± ${half}` : `${say(metric, value.mean)} ± ${half}`;
  }

  function showTable() {
    const { points, references } = data.front;
    const shown = data.front.metrics.filter((metric) => [...points, ...references].some((score) => score.metrics[metric.name]));
    const table = element("table", null, find("table"));
    const head = element("tr", null, element("thead", null, table));
    element("th", "policy", head).scope = "col";
    for (const metric of shown) {
      const title = element("th", `${plain(metric.name)} ${metric.better === "lower" ? "↓" : "↑"}`, head);
      title.scope = "col";
      title.title = metric.unit;
    }
    const body = element("tbody", null, table);
    const row = (score, name) => {
      const line = element("tr", null, body);
      element("td", name, line);
      for (const metric of shown) element("td", cell(metric, score.metrics[metric.name]), line);
    };
    points.forEach((point) => row(point, `${point.label}${point.pareto ? " ★" : ""}`));
    references.forEach((score) => row(score, score.label));
    const first = points[0];
    const { hypervolume, hypervolume_share: share, reference } = data.front;
    const corner = Object.entries(reference).map(([name, value]) => `${plain(name)} ${say(metricOf(name) ?? {}, value)}`).join(", ");
    find("table-note").textContent = `${first.episodes} episodes${first.seeds > 1 ? ` × ${first.seeds} seeds` : ""} per row; ± half of the 95 % interval; ★ Pareto-optimal; ↑ more is better, ↓ less. `
      + `Hypervolume ${hypervolume.toPrecision(4)}${share === null ? "" : `, ${percent(share)} of the possible`} (measured from: ${corner}).`;
    const units = shown.map((metric) => `${plain(metric.name)}: ${metric.unit}`);
    find("table-units").textContent = `${units.join("; ")}.`;
  }

  function showHeadline() {
    find("title").textContent = `${titled(data.task)}, ${data.agents} agents${data.has_multipliers ? ": one model, every trade-off" : `: ${data.algorithm}`}`;
    document.title = find("title").textContent;
    find("subtitle").textContent = data.name;
    const names = constraints.map((constraint) => plain(constraint.name)).join(", ");
    find("summary").textContent = `The task: ${data.summary}. ` + (data.has_multipliers
      ? `The team was trained once. The multiplier λ weighs the constraints (${names}) against the task and is chosen afterwards: at 0 only ${plain(axes[0])} counts, at 10 the constraints come first.`
      : "The team was trained for one trade-off.");
    const numbers = [[compact(data.steps), "steps of training"]];
    if (data.front) {
      const known = (metric) => data.front.points.filter((point) => point.metrics[metric.name]);
      const best = (metric) => known(metric).reduce((a, b) => ((b.metrics[metric.name].mean > a.metrics[metric.name].mean) === (metric.better === "higher") ? b : a));
      const add = (metric, text) => {
        if (!known(metric).length) return null;
        const point = best(metric);
        numbers.push([say(metric, point.metrics[metric.name].mean), `${text} ${plain(metric.name)} (${point.label})`]);
        return point;
      };
      add(metricOf(axes[0]), "best");
      for (const constraint of constraints) {
        const point = add(metricOf(constraint.metric), "best");
        const floor = constraint.unavoidable && metricOf(constraint.unavoidable);
        if (point && floor && point.metrics[floor.name]) numbers.push([say(floor, point.metrics[floor.name].mean), "of them unavoidable"]);
      }
      if (data.front.hypervolume_share !== null) numbers.push([percent(data.front.hypervolume_share), "of the possible hypervolume"]);
    }
    for (const [number, text] of numbers) {
      const box = element("div", null, find("headline"));
      element("b", number, box);
      element("span", text, box);
    }
  }

  /** Every entry of nested data as a row. */
  function facts(table, value, path = "") {
    for (const [key, entry] of Object.entries(value ?? {})) {
      const name = path ? `${path}.${key}` : key;
      if (entry !== null && typeof entry === "object" && !Array.isArray(entry)) { facts(table, entry, name); continue; }
      const row = element("tr", null, table);
      element("th", name.replaceAll("_", " "), row).scope = "row";
      element("td", Array.isArray(entry) ? JSON.stringify(entry) : String(entry), row);
    }
  }

  function showFacts() {
    const { options, ...rest } = data.card;
    facts(find("card"), { ...rest, ...options });
    const { environment, ...origin } = data.manifest ?? {};
    facts(find("origin"), { run: data.name, ...origin });
    find("config").textContent = data.config;
    if (data.error_budget) showBudget(data.error_budget);
  }

  /** The parts of the error per decision, one row per multiplier. */
  function showBudget(budget) {
    find("budget-card").hidden = false;
    const table = element("table", null, find("budget"));
    const head = element("tr", null, element("thead", null, table));
    for (const name of ["λ", "Max-Sum misses", "mean ε_MS", "largest", "own coordinator misses", "Σ max − max Σ", "cost predicted", "cost realised", "TD error, primary", "TD error, cost"]) element("th", name, head).scope = "col";
    const body = element("tbody", null, table);
    for (const point of budget.points) {
      const row = element("tr", null, body);
      const cells = [
        point.multiplier, percent(point.max_sum.missed), rate(point.max_sum.mean), rate(point.max_sum.largest), percent(point.acting.missed),
        `${point.deficit[0].toFixed(3)} / ${point.deficit[1].toFixed(3)}`, rate(point.predicted_cost),
        `${rate(point.realised_cost)} ± ${rate(2 * point.standard_error)}`, point.td_errors[0].toFixed(3), point.td_errors[1].toFixed(3),
      ];
      cells.forEach((cell) => element("td", String(cell), row));
    }
    find("budget-note").textContent = `${budget.episodes} episodes and ${budget.decisions} decisions per row, on starts that training never saw. `
      + "Misses: decisions below the exact optimum of their own tables. Σ max − max Σ: what regions would gain by choosing apart, median / 90th percentile. "
      + "Cost: discounted from the first step on, as the cost heads predict it and as it was paid (± two standard errors of the difference). TD error: root mean square over steps of the team's value.";
  }

  function showCurves() {
    find("curves-card").hidden = data.curves.length === 0;
    for (const panel of data.curves) {
      const figure = element("figure", null, find("curves"));
      element("h3", panel.title, figure);
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("class", "chart");
      figure.append(svg);
      drawCurves(svg, panel);
    }
  }

  showHeadline();
  showSide();
  showFront();
  showCurves();
  showFacts();
  setPlaying(playing);
  // On paper an episode is its end, with the way that led there.
  window.addEventListener("beforeprint", () => { animations.forEach((animation) => animation.trace && paint(animation, data.horizon)); });
  requestAnimationFrame(animate);
})();
