// The report: everything about one run, from the data that the page carries with it.
"use strict";
(() => {
  const { draw, between, drawFront, drawCurves, percent, rate, compact } = window.cgcmarl;
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

  /** Draws a trace at a moment; all its trails where the moment is the end. */
  function paint(animation, moment) {
    const { frames, landmarks } = animation.trace;
    const last = frames.length - 1;
    const step = Math.min(last, Math.floor(moment));
    const now = frames[step];
    const positions = step < last ? between(now, frames[step + 1], moment - step) : now;
    const trails = positions.map((place, agent) => [...frames.slice(0, step + 1).map((frame) => frame[agent]), place]);
    draw(animation.canvas, { positions, landmarks, radius: data.radius, trails });
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

  function describe(each) {
    const total = each.collisions.reduce((sum, n) => sum + n, 0);
    const n = each.landmarks.length;
    return `${Math.round(each.coverage * n)} of ${n} landmarks covered at the end, ${total} colliding pair${total === 1 ? "" : "s"} in ${data.horizon} steps`;
  }

  function setTrace(animation, label, episode) {
    animation.trace = trace(label, episode);
    if (!animation.trace) return;
    animation.note.textContent = describe(animation.trace);
    animation.canvas.setAttribute("aria-label", `Episode at ${label}: ${describe(animation.trace)}`);
  }

  function showSide() {
    const labels = data.side;
    const episodes = [...new Set(data.episodes.map((each) => each.episode))];
    const chooser = find("episode");
    episodes.forEach((episode) => { element("option", String(episode), chooser).value = episode; });
    const side = labels.map((label) => {
      const figure = element("figure", null, find("side"));
      const title = element("h3", label, figure);
      const point = data.front && data.front.points.find((each) => each.label === label);
      if (point) title.textContent += `: ${percent(point.coverage["0.1"])} at ${rate(point.collisions_per_step)} collisions per step`;
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
    const redraw = () => {
      const paper = find("paper").checked ? data.paper : [];
      chart = drawFront(find("front"), data.front, { onPick: pick, paper });
      find("legend").textContent = "★ Pareto-optimal, ■ dominated, ◆ oracle; bars: 95 % intervals. "
        + (paper.length ? "● CG-CMARL as printed in the paper (open: dominated), × its baselines. " : "")
        + "Choose a point to see an episode there.";
    };
    find("paper").addEventListener("change", redraw);
    find("paper").closest("p").hidden = data.paper.length === 0;
    redraw();
    const best = data.front.points.filter((point) => point.pareto);
    pick(best[best.length >> 1] || data.front.points[0]);
    showTable();
  }

  function showTable() {
    const table = element("table", null, find("table"));
    const head = element("tr", null, element("thead", null, table));
    for (const name of ["λ", "coverage", "at 0.15", "at 0.2", "collisions per step", "unavoidable", "per pair", "collision-free"]) element("th", name, head).scope = "col";
    const body = element("tbody", null, table);
    const wide = (score, key) => {
      const range = key === "collisions_per_step" || key === "collision_free" ? score.intervals[key] : score.intervals.coverage[key];
      return (range[1] - range[0]) / 2;
    };
    const share = (score, key) => {
      const value = key === "collision_free" ? score.collision_free : score.coverage[key];
      return `${(100 * value).toFixed(1)} ± ${(100 * wide(score, key)).toFixed(1)} %`;
    };
    const row = (score, name) => {
      const line = element("tr", null, body);
      element("td", name, line);
      for (const key of ["0.1", "0.15", "0.2"]) element("td", share(score, key), line);
      element("td", `${rate(score.collisions_per_step)} ± ${rate(wide(score, "collisions_per_step"))}`, line);
      element("td", rate(score.collision_floor), line);
      element("td", Number(score.per_pair_rate).toFixed(5), line);
      element("td", share(score, "collision_free"), line);
    };
    data.front.points.forEach((point) => row(point, `${point.multiplier}${point.pareto ? " ★" : ""}`));
    if (data.front.oracle) row(data.front.oracle, "oracle");
    if (data.front.random) row(data.front.random, "random");
    const first = data.front.points[0];
    find("table-note").textContent = `${first.episodes} episodes${first.seeds > 1 ? ` × ${first.seeds} seeds` : ""} per row; ± half of the 95 % interval; ★ Pareto-optimal. `
      + `Hypervolume ${data.front.hypervolume.toFixed(4)}, ${percent(data.front.hypervolume_share)} of the possible (reference: coverage 0, collisions of the random policy ${rate(data.front.reference.collisions_per_step)}).`;
  }

  function showHeadline() {
    find("title").textContent = `Simple Spread, ${data.agents} agents: one model, every trade-off`;
    document.title = find("title").textContent;
    find("subtitle").textContent = data.name;
    find("summary").textContent = "The team was trained once. The multiplier λ weighs the constraints against the task and is chosen afterwards: at 0 only the landmarks count, at 10 keeping apart comes first.";
    const numbers = [[compact(data.steps), "steps of training"]];
    if (data.front) {
      const points = data.front.points;
      const best = points.reduce((a, b) => (b.coverage["0.1"] > a.coverage["0.1"] ? b : a));
      const safest = points.reduce((a, b) => (b.collisions_per_step < a.collisions_per_step ? b : a));
      numbers.push([percent(best.coverage["0.1"]), `most coverage (${best.label})`]);
      numbers.push([rate(safest.collisions_per_step), `fewest collisions per step (${safest.label})`]);
      numbers.push([rate(safest.collision_floor), "of them unavoidable"]);
      numbers.push([percent(data.front.hypervolume_share), "of the possible hypervolume"]);
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
