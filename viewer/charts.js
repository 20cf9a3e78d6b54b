// Draws fronts and curves as SVG.
"use strict";
window.cgcmarl = window.cgcmarl || {};
(() => {
  const { ticks } = window.cgcmarl;
  const SVG = "http://www.w3.org/2000/svg";
  const RANDOM = "random";

  function make(name, attributes, parent) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (parent) parent.append(element);
    return element;
  }

  function write(parent, text, attributes) {
    const element = make("text", attributes, parent);
    element.textContent = text;
    return element;
  }

  /** A name of the task as people read it. */
  const plain = (name) => name.replaceAll("_", " ");
  const titled = (name) => plain(name).replace(/(^|\s)\S/g, (letter) => letter.toUpperCase());
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const rate = (number) => Number(number).toFixed(4);
  const isNumber = (number) => typeof number === "number" && Number.isFinite(number);

  /** A value of a metric, with the digits that count in it or in what it belongs to. */
  function say(metric, value, whole = value) {
    if (!isNumber(value)) return "–";
    if (metric.percent) return percent(value);
    const size = Math.abs(whole);
    return size >= 1e6 ? value.toExponential(2) : value.toFixed(size >= 100 ? 1 : size >= 1 ? 2 : 4);
  }

  function compact(number) {
    if (number === 0) return "0";
    if (Math.abs(number) >= 1e6) return `${+(number / 1e6).toPrecision(3)} M`;
    if (Math.abs(number) >= 1e3) return `${+(number / 1e3).toPrecision(3)} k`;
    return String(+number.toPrecision(3));
  }

  let tipBox;
  function tip(event, lines) {
    if (!tipBox) {
      tipBox = document.createElement("div");
      tipBox.className = "tip";
      document.body.append(tipBox);
    }
    tipBox.hidden = !lines;
    if (!lines) return;
    tipBox.replaceChildren(...lines.flatMap((line, i) => (i ? [document.createElement("br"), line] : [line])));
    const box = event.target.getBoundingClientRect ? event.target.getBoundingClientRect() : null;
    const x = event.clientX || (box ? box.right : 0);
    const y = event.clientY || (box ? box.top : 0);
    tipBox.style.left = `${Math.min(x + 14, window.innerWidth - 280)}px`;
    tipBox.style.top = `${Math.min(y + 14, window.innerHeight - 110)}px`;
  }

  const BOX = { width: 460, height: 330, left: 52, right: 14, top: 22, bottom: 46 };

  /** An axis whose better end lies at `to`: places values, and tells its ticks. */
  function makeAxis(low, high, metric, from, to, isLog) {
    const turn = isLog ? Math.log : (value) => value;
    const share = (value) => (turn(Math.min(high, Math.max(low, value))) - turn(low)) / (turn(high) - turn(low));
    const place = (value) => from + (to - from) * (metric.better === "lower" ? 1 - share(value) : share(value));
    if (!isLog) return { place, ticks: ticks(low, high, 5) };
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const m of [1, 2, 5]) found.push(m * 10 ** power);
    }
    return { place, ticks: found.filter((value) => value >= low && value <= high) };
  }

  /** What is paid: logarithmic where it is a rate, so that the last small improvements show. */
  function costAxis(values, metric) {
    const [from, to] = [BOX.left, BOX.width - BOX.right];
    const isLog = !metric.percent && metric.range[0] === 0 && metric.better === "lower";
    const used = values.filter((value) => isNumber(value) && (!isLog || value > 0));
    if (!used.length) used.push(isLog ? 0.001 : 0);
    const [low, high] = [Math.min(...used), Math.max(...used)];
    if (isLog) return makeAxis(low * 0.8, high * 1.25, metric, from, to, true);
    const margin = 0.06 * (high - low) || 0.5;
    return makeAxis(low - margin, high + margin, metric, from, to, false);
  }

  /** The objective: a share is shown up to its best, anything else as far as it goes. */
  function gainAxis(values, metric) {
    const [from, to] = [BOX.height - BOX.bottom, BOX.top];
    const used = values.filter(isNumber);
    if (!used.length) used.push(0);
    const [low, high] = [Math.min(...used), Math.max(...used)];
    if (metric.percent && metric.better === "higher" && low >= 0 && high <= 1) {
      return makeAxis(Math.max(0, Math.floor(10 * Math.min(0.9, low) - 0.2) / 10), 1.01, metric, from, to, false);
    }
    const margin = 0.06 * (high - low) || 0.5;
    return makeAxis(low - margin, high + margin, metric, from, to, false);
  }

  /** What is drawn against what: the objective, and what the chosen constraint limits. */
  function frontAxes(front, index, paper) {
    const find = (name) => front.metrics.find((metric) => metric.name === name);
    const constraint = front.constraints[index] ?? null;
    const gain = find(front.axes[0]);
    const cost = constraint ? find(constraint.metric) : gain;
    const unavoidable = constraint && constraint.unavoidable ? find(constraint.unavoidable) : null;
    const shown = [...front.points, ...front.references.filter((score) => score.label !== RANDOM)];
    const all = [...shown, ...paper];
    const values = (metric, key, scores) => scores.map((score) => score.metrics[metric.name]?.[key]);
    const floors = unavoidable ? values(unavoidable, "mean", front.points.slice(0, 1)) : [];
    return {
      gain, cost, floor: floors[0],
      x: costAxis([...values(cost, "mean", all), ...floors], cost),
      y: gainAxis([...values(gain, "mean", all), ...values(gain, "low", front.points)], gain),
    };
  }

  function drawAxes(svg, axes) {
    const bottom = BOX.height - BOX.bottom;
    const shownAs = (metric, value) => String(+(metric.percent ? 100 * value : value).toPrecision(3));
    const unit = (metric) => `${plain(metric.name)}${metric.percent ? " (%)" : ""}`;
    for (const value of axes.y.ticks) {
      const y = axes.y.place(value);
      make("line", { class: "grid", x1: BOX.left, x2: BOX.width - BOX.right, y1: y, y2: y }, svg);
      write(svg, shownAs(axes.gain, value), { x: BOX.left - 8, y: y + 4, "text-anchor": "end" });
    }
    const labelled = [];
    for (const value of axes.x.ticks) {
      const x = axes.x.place(value);
      make("line", { class: "grid", x1: x, x2: x, y1: BOX.top, y2: bottom }, svg);
      if (labelled.some((other) => Math.abs(other - x) <= 38)) continue;
      labelled.push(x);
      write(svg, shownAs(axes.cost, value), { x, y: bottom + 17, "text-anchor": "middle" });
    }
    make("path", { class: "frame", d: `M${BOX.left},${BOX.top}V${bottom}H${BOX.width - BOX.right}` }, svg);
    const right = axes.cost.better === "lower" ? "less" : "more";
    write(svg, `${unit(axes.cost)} (${right} to the right)`, { x: (BOX.left + BOX.width - BOX.right) / 2, y: BOX.height - 8, "text-anchor": "middle" });
    const middle = (BOX.top + bottom) / 2;
    write(svg, unit(axes.gain), { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` });
  }

  /** Where a score lies; nothing where a number is missing. */
  function placeOf(axes, metrics) {
    const [cost, gain] = [metrics[axes.cost.name]?.mean, metrics[axes.gain.name]?.mean];
    return isNumber(cost) && isNumber(gain) ? [axes.x.place(cost), axes.y.place(gain)] : null;
  }

  function star(x, y, size) {
    const corner = (k) => {
      const r = k % 2 ? size * 0.45 : size;
      const angle = Math.PI * (k / 5 - 0.5);
      return `${(x + r * Math.cos(angle)).toFixed(1)},${(y + r * Math.sin(angle)).toFixed(1)}`;
    };
    return [...Array(10).keys()].map(corner).join(" ");
  }

  function bars(svg, axes, score, colour) {
    const [x, y] = placeOf(axes, score.metrics);
    const [cost, gain] = [score.metrics[axes.cost.name], score.metrics[axes.gain.name]];
    const [x0, x1] = [axes.x.place(cost.low), axes.x.place(cost.high)];
    const [y0, y1] = [axes.y.place(gain.low), axes.y.place(gain.high)];
    make("path", { d: `M${x0},${y}H${x1}M${x},${y0}V${y1}`, stroke: colour, "stroke-width": 1, opacity: 0.55, fill: "none" }, svg);
  }

  /** Every metric of a score in words: those of the axes with their intervals. */
  function described(front, axes, score) {
    const lines = [score.label];
    for (const metric of front.metrics) {
      const value = score.metrics[metric.name];
      if (!value || !isNumber(value.mean)) continue;
      const isAxis = metric === axes.gain || metric === axes.cost;
      lines.push(`${plain(metric.name)} ${say(metric, value.mean)}${isAxis ? ` (${say(metric, value.low)} to ${say(metric, value.high)})` : ""}`);
    }
    return lines;
  }

  function tipped(group, lines) {
    group.addEventListener("pointermove", (event) => tip(event, lines));
    group.addEventListener("pointerleave", (event) => tip(event, null));
    group.addEventListener("focus", (event) => tip(event, lines));
    group.addEventListener("blur", (event) => tip(event, null));
  }

  function spot(svg, front, axes, score, colour, shape, options) {
    const [x, y] = placeOf(axes, score.metrics);
    const lines = described(front, axes, score);
    const group = make("g", { class: "spot", "aria-label": lines.join(", ") }, svg);
    make("circle", { class: "halo", cx: x, cy: y, r: 13, fill: colour }, group);
    if (shape === "star") make("polygon", { points: star(x, y, 8), fill: colour }, group);
    if (shape === "square") make("rect", { x: x - 4, y: y - 4, width: 8, height: 8, fill: colour }, group);
    if (shape === "diamond") make("rect", { x: x - 5, y: y - 5, width: 10, height: 10, fill: colour, transform: `rotate(45 ${x} ${y})` }, group);
    tipped(group, lines);
    if (options.onPick) {
      group.setAttribute("role", "button");
      group.setAttribute("tabindex", "0");
      const pick = () => options.onPick(score, group);
      group.addEventListener("click", pick);
      group.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(); }
      });
    } else group.setAttribute("role", "img");
    return group;
  }

  function drawPaper(svg, axes, paper) {
    for (const point of paper) {
      const place = placeOf(axes, point.metrics);
      if (!place) continue;
      const [x, y] = place;
      const group = make("g", { opacity: 0.85 }, svg);
      if (point.own) make("circle", { cx: x, cy: y, r: 3.6, fill: point.starred ? "var(--orange)" : "none", stroke: "var(--orange)", "stroke-width": 1.4 }, group);
      else make("path", { d: `M${x - 3},${y - 3}l6,6m0,-6l-6,6`, stroke: "var(--muted)", "stroke-width": 1.3 }, group);
      const told = (metric) => `${plain(metric.name)} ${say(metric, point.metrics[metric.name].mean)} ± ${say(metric, point.metrics[metric.name].deviation)}`;
      tipped(group, [`paper: ${point.label}`, told(axes.gain), told(axes.cost)]);
    }
  }

  /** Names the points below them or to their left, as far as there is room. */
  function labels(svg, axes, points) {
    const places = points.map((point) => placeOf(axes, point.metrics));
    const taken = places.map(([x, y]) => [x, y, 8]);
    const free = (x, y, half) => taken.every(([a, b, reach]) => Math.abs(a - x) > half + reach || Math.abs(b - y) > 13);
    points.forEach((point, index) => {
      const [x, y] = places[index];
      const half = 3.4 * point.label.length;
      const spots = [[x, y + 18], [x - half - 14, y], [x, y - 18]];
      const found = spots.find(([a, b]) => free(a, b, half));
      if (!found) return;
      taken.push([...found, half]);
      write(svg, point.label, { x: found[0], y: found[1] + 4, "text-anchor": "middle" }).style.fill = "var(--blue)";
    });
  }

  function drawFloor(svg, axes) {
    if (!isNumber(axes.floor)) return;
    const x = axes.x.place(axes.floor);
    make("line", { x1: x, x2: x, y1: BOX.top - 4, y2: BOX.height - BOX.bottom, stroke: "var(--ink)", "stroke-dasharray": "4 3", opacity: 0.6 }, svg);
    write(svg, "unavoidable", { x, y: BOX.top - 9, "text-anchor": "middle" });
  }

  /** Whether one λ weighs all constraints at every point: then the points lie on one line. */
  const isLine = (front) => front.points.every((point) => new Set(Object.values(point.multipliers)).size <= 1);

  /** Draws a front; returns how to move its dot and to mark what was picked. */
  function drawFront(svg, front, options = {}) {
    const paper = options.paper || [];
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${BOX.width} ${BOX.height}`);
    svg.setAttribute("role", "group");
    const axes = frontAxes(front, options.constraint || 0, paper);
    svg.setAttribute("aria-label", `Front: ${plain(axes.gain.name)} against ${plain(axes.cost.name)}`);
    drawAxes(svg, axes);
    drawFloor(svg, axes);
    drawPaper(svg, axes, paper);
    const points = front.points.filter((point) => placeOf(axes, point.metrics));
    if (isLine(front)) make("polyline", { points: points.map((point) => placeOf(axes, point.metrics).join(",")).join(" "), fill: "none", stroke: "var(--blue)", "stroke-width": 2 }, svg);
    const spots = new Map();
    const add = (score, colour, shape) => {
      bars(svg, axes, score, colour);
      spots.set(score.label, spot(svg, front, axes, score, colour, shape, options));
    };
    const beside = front.references.filter((score) => score.label !== RANDOM && placeOf(axes, score.metrics));
    beside.forEach((score) => add(score, "var(--green)", "diamond"));
    points.forEach((point) => add(point, "var(--blue)", point.pareto ? "star" : "square"));
    labels(svg, axes, points);
    const measured = make("circle", { r: 6, fill: "none", stroke: "var(--orange)", "stroke-width": 2.5, visibility: "hidden", "data-name": "measured" }, svg);
    const dot = make("circle", { r: 6.5, fill: "var(--orange)", stroke: "var(--card)", "stroke-width": 2, visibility: "hidden", "data-name": "dot" }, svg);
    dot.style.pointerEvents = measured.style.pointerEvents = "none";
    const show = (circle, means) => {
      const place = means && placeOf(axes, Object.fromEntries(Object.entries(means).map(([name, mean]) => [name, { mean }])));
      circle.setAttribute("visibility", place ? "visible" : "hidden");
      if (!place) return;
      circle.setAttribute("cx", place[0]);
      circle.setAttribute("cy", place[1]);
    };
    return {
      spots,
      moveDot: (multipliers) => show(dot, multipliers && along(front, multipliers)),
      measured: (means) => show(measured, means),
      pick: (label) => spots.forEach((group, name) => group.setAttribute("aria-pressed", String(name === label))),
    };
  }

  /** What the front says at some multipliers: at a point of the sweep, or between its neighbours on the line. */
  function along(front, multipliers) {
    const position = (m) => (m === 0 ? 0 : Math.log10(Math.max(m, 0.01) / 0.005));
    const means = (point) => Object.fromEntries(Object.entries(point.metrics).map(([name, value]) => [name, value.mean]));
    const levels = front.points.filter((point) => Object.keys(point.multipliers).length);
    const same = (point) => Object.entries(point.multipliers).every(([name, value]) => multipliers[name] === value);
    const hit = levels.find(same);
    if (hit) return means(hit);
    const wanted = new Set(Object.values(multipliers));
    if (!levels.length || !isLine(front) || wanted.size !== 1) return null;
    const [multiplier] = wanted;
    const level = (point) => Object.values(point.multipliers)[0];
    const points = [...levels].sort((a, b) => level(a) - level(b));
    const above = points.findIndex((point) => level(point) >= multiplier);
    if (above === 0) return means(points[0]);
    if (above < 0) return means(points[points.length - 1]);
    const [low, high] = [points[above - 1], points[above]];
    const [from, to] = [position(level(low)), position(level(high))];
    const share = to > from ? Math.min(1, Math.max(0, (position(multiplier) - from) / (to - from))) : 1;
    const [a, b] = [means(low), means(high)];
    return Object.fromEntries(Object.keys(a).map((name) => [name, a[name] + (b[name] - a[name]) * share]));
  }

  /** Offers the constraints of a front, where there is a choice; calls `change` with the index. */
  function chooseConstraint(select, front, change) {
    const constraints = front ? front.constraints : [];
    select.closest("p").hidden = constraints.length < 2;
    if (select.options.length === constraints.length) return;
    select.replaceChildren(...constraints.map((constraint, index) => new Option(plain(constraint.name), index)));
    select.onchange = () => change(Number(select.value));
  }

  const INKS = ["var(--blue)", "var(--orange)", "var(--green)", "var(--purple)", "var(--muted)"];

  /** Draws one panel of curves against environment steps. */
  function drawCurves(svg, panel) {
    const box = { width: 380, height: 210, left: 48, right: 12, top: 30, bottom: 34 };
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    svg.setAttribute("role", "img");
    const points = panel.curves.flatMap((curve) => curve.points);
    const last = Math.max(1, ...points.map((p) => p[0]));
    const low = Math.min(0, ...points.map((p) => p[1]));
    const high = Math.max(...points.map((p) => p[1])) * 1.05 || 1;
    const x = (step) => box.left + (step / last) * (box.width - box.left - box.right);
    const y = (value) => box.height - box.bottom - ((value - low) / (high - low)) * (box.height - box.top - box.bottom);
    for (const tick of ticks(low, high, 6)) {
      make("line", { class: "grid", x1: box.left, x2: box.width - box.right, y1: y(tick), y2: y(tick) }, svg);
      write(svg, compact(tick), { x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" });
    }
    for (const tick of ticks(0, last, 4)) write(svg, compact(tick), { x: x(tick), y: box.height - box.bottom + 16, "text-anchor": "middle" });
    make("path", { class: "frame", d: `M${box.left},${box.top}V${y(low)}H${box.width - box.right}` }, svg);
    let legend = box.left;
    panel.curves.forEach((curve, index) => {
      const d = curve.points.map((p, k) => `${k ? "L" : "M"}${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join("");
      make("path", { d, fill: "none", stroke: INKS[index % INKS.length], "stroke-width": 1.7, "stroke-linejoin": "round" }, svg);
      const name = curve.name.replaceAll("_", " ");
      const label = write(svg, name, { x: legend, y: 14, "font-weight": 600 });
      label.style.fill = INKS[index % INKS.length];
      legend += 14 + name.length * 7.1;
    });
    const ends = panel.curves.map((curve) => `${curve.name} ends at ${compact(curve.points.at(-1)[1])}`);
    svg.setAttribute("aria-label", `${panel.title} over ${compact(last)} environment steps: ${ends.join(", ")}`);
  }

  Object.assign(window.cgcmarl, { drawFront, drawCurves, chooseConstraint, along, percent, rate, compact, plain, titled, say });
})();
