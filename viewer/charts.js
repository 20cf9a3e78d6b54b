// Draws fronts and curves as SVG.
"use strict";
window.cgcmarl = window.cgcmarl || {};
(() => {
  const SVG = "http://www.w3.org/2000/svg";

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

  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const rate = (number) => Number(number).toFixed(4);

  /** Round numbers that cover a range. */
  function ticks(low, high, count) {
    const rough = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-6; t += step) found.push(t);
    return found;
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

  /** Collisions on a logarithmic axis that runs to fewer, coverage upwards. */
  function frontScales(front, paper) {
    const rates = front.points.map((p) => p.collisions_per_step)
      .concat(front.oracle ? [front.oracle.collisions_per_step] : [])
      .concat(front.points.map((p) => p.collision_floor))
      .concat(paper.map((p) => p.collisions)).filter((r) => r > 0);
    if (!rates.length) rates.push(0.001);
    const low = Math.log(Math.min(...rates) * 0.8);
    const high = Math.log(Math.max(...rates) * 1.25);
    const x = (r) => BOX.left + ((high - Math.log(Math.max(r, Math.exp(low)))) / (high - low)) * (BOX.width - BOX.left - BOX.right);
    const shares = front.points.map((p) => p.intervals.coverage["0.1"][0]).concat(paper.map((p) => p.coverage));
    const least = Math.max(0, Math.floor(10 * Math.min(0.9, ...shares) - 0.2) / 10);
    const y = (c) => BOX.height - BOX.bottom - ((Math.max(c, least) - least) * (BOX.height - BOX.top - BOX.bottom)) / (1.01 - least);
    return { x, y, least, low: Math.exp(low), high: Math.exp(high) };
  }

  function frontAxes(svg, scales) {
    const bottom = scales.y(scales.least);
    for (const share of ticks(scales.least, 1, 4)) {
      make("line", { class: "grid", x1: BOX.left, x2: BOX.width - BOX.right, y1: scales.y(share), y2: scales.y(share) }, svg);
      write(svg, `${Math.round(100 * share)}`, { x: BOX.left - 8, y: scales.y(share) + 4, "text-anchor": "end" });
    }
    const shown = [];
    for (let power = -5; power <= 1; power++) {
      for (const m of [1, 2, 5]) {
        const value = m * 10 ** power;
        if (value < scales.low || value > scales.high) continue;
        const x = scales.x(value);
        make("line", { class: "grid", x1: x, x2: x, y1: BOX.top, y2: bottom }, svg);
        if (shown.every((other) => Math.abs(other - x) > 38)) {
          shown.push(x);
          write(svg, String(+value.toPrecision(2)), { x, y: bottom + 17, "text-anchor": "middle" });
        }
      }
    }
    make("path", { class: "frame", d: `M${BOX.left},${BOX.top}V${bottom}H${BOX.width - BOX.right}` }, svg);
    write(svg, "collisions per step (fewer to the right)", { x: (BOX.left + BOX.width - BOX.right) / 2, y: BOX.height - 8, "text-anchor": "middle" });
    const middle = (BOX.top + bottom) / 2;
    write(svg, "coverage within 0.1 (%)", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` });
  }

  function star(x, y, size) {
    const corner = (k) => {
      const r = k % 2 ? size * 0.45 : size;
      const angle = Math.PI * (k / 5 - 0.5);
      return `${(x + r * Math.cos(angle)).toFixed(1)},${(y + r * Math.sin(angle)).toFixed(1)}`;
    };
    return [...Array(10).keys()].map(corner).join(" ");
  }

  function bars(svg, scales, score, colour) {
    const [[x0, x1], [y0, y1]] = [score.intervals.collisions_per_step, score.intervals.coverage["0.1"]];
    const [x, y] = [scales.x(score.collisions_per_step), scales.y(score.coverage["0.1"])];
    make("path", { d: `M${scales.x(x0)},${y}H${scales.x(x1)}M${x},${scales.y(y0)}V${scales.y(y1)}`, stroke: colour, "stroke-width": 1, opacity: 0.55, fill: "none" }, svg);
  }

  function spot(svg, scales, score, colour, shape, options) {
    const [x, y] = [scales.x(score.collisions_per_step), scales.y(score.coverage["0.1"])];
    const within = (range, say) => `${say(range[0])} to ${say(range[1])}`;
    const lines = [
      score.label,
      `coverage ${percent(score.coverage["0.1"])} (${within(score.intervals.coverage["0.1"], percent)})`,
      `collisions per step ${rate(score.collisions_per_step)} (${within(score.intervals.collisions_per_step, rate)})`,
      `unavoidable ${rate(score.collision_floor)}, collision-free episodes ${percent(score.collision_free)}`,
    ];
    const group = make("g", { class: "spot", "aria-label": lines.join(", ") }, svg);
    make("circle", { class: "halo", cx: x, cy: y, r: 13, fill: colour }, group);
    if (shape === "star") make("polygon", { points: star(x, y, 8), fill: colour }, group);
    if (shape === "square") make("rect", { x: x - 4, y: y - 4, width: 8, height: 8, fill: colour }, group);
    if (shape === "diamond") make("rect", { x: x - 5, y: y - 5, width: 10, height: 10, fill: colour, transform: `rotate(45 ${x} ${y})` }, group);
    group.addEventListener("pointermove", (event) => tip(event, lines));
    group.addEventListener("pointerleave", (event) => tip(event, null));
    group.addEventListener("focus", (event) => tip(event, lines));
    group.addEventListener("blur", (event) => tip(event, null));
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

  function drawPaper(svg, scales, paper) {
    for (const point of paper) {
      const ours = point.algorithm === "CG-CMARL";
      const [x, y] = [scales.x(point.collisions), scales.y(point.coverage)];
      const group = make("g", { opacity: 0.85 }, svg);
      if (ours) make("circle", { cx: x, cy: y, r: 3.6, fill: point.starred ? "var(--orange)" : "none", stroke: "var(--orange)", "stroke-width": 1.4 }, group);
      else make("path", { d: `M${x - 3},${y - 3}l6,6m0,-6l-6,6`, stroke: "var(--muted)", "stroke-width": 1.3 }, group);
      const lines = [`paper: ${point.algorithm} ${point.parameter}`, `coverage ${percent(point.coverage)} ± ${percent(point.coverage_sd)}`, `collisions per step ${rate(point.collisions)} ± ${rate(point.collisions_sd)}`];
      group.addEventListener("pointermove", (event) => tip(event, lines));
      group.addEventListener("pointerleave", (event) => tip(event, null));
    }
  }

  /** Names the points below them or to their left, as far as there is room. */
  function labels(svg, scales, points) {
    const places = points.map((p) => [scales.x(p.collisions_per_step), scales.y(p.coverage["0.1"])]);
    const taken = places.map(([x, y]) => [x, y, 8]);
    const free = (x, y, half) => taken.every(([a, b, reach]) => Math.abs(a - x) > half + reach || Math.abs(b - y) > 13);
    points.forEach((point, index) => {
      const [x, y] = places[index];
      const half = 3.4 * point.label.length;
      const spots = [[x, y + 18], [x - half - 14, y], [x, y - 18]];
      const spot = spots.find(([a, b]) => free(a, b, half));
      if (!spot) return;
      taken.push([...spot, half]);
      write(svg, point.label, { x: spot[0], y: spot[1] + 4, "text-anchor": "middle" }).style.fill = "var(--blue)";
    });
  }

  /** Draws a front; returns how to move its dot and to mark what was picked. */
  function drawFront(svg, front, options = {}) {
    const paper = options.paper || [];
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${BOX.width} ${BOX.height}`);
    svg.setAttribute("role", "group");
    const scales = frontScales(front, paper);
    frontAxes(svg, scales);
    const floor = scales.x(front.points.length ? front.points[0].collision_floor : 0);
    make("line", { x1: floor, x2: floor, y1: BOX.top - 4, y2: scales.y(scales.least), stroke: "var(--ink)", "stroke-dasharray": "4 3", opacity: 0.6 }, svg);
    write(svg, "unavoidable", { x: floor, y: BOX.top - 9, "text-anchor": "middle" });
    drawPaper(svg, scales, paper);
    const path = front.points.map((p) => `${scales.x(p.collisions_per_step)},${scales.y(p.coverage["0.1"])}`).join(" ");
    make("polyline", { points: path, fill: "none", stroke: "var(--blue)", "stroke-width": 2 }, svg);
    const spots = new Map();
    if (front.oracle) {
      bars(svg, scales, front.oracle, "var(--green)");
      spots.set("oracle", spot(svg, scales, front.oracle, "var(--green)", "diamond", options));
    }
    for (const point of front.points) {
      bars(svg, scales, point, "var(--blue)");
      spots.set(point.label, spot(svg, scales, point, "var(--blue)", point.pareto ? "star" : "square", options));
    }
    labels(svg, scales, front.points);
    const measured = make("circle", { r: 6, fill: "none", stroke: "var(--orange)", "stroke-width": 2.5, visibility: "hidden", "data-name": "measured" }, svg);
    const dot = make("circle", { r: 6.5, fill: "var(--orange)", stroke: "var(--card)", "stroke-width": 2, visibility: "hidden", "data-name": "dot" }, svg);
    dot.style.pointerEvents = measured.style.pointerEvents = "none";
    const show = (circle, place) => {
      circle.setAttribute("visibility", place ? "visible" : "hidden");
      if (!place) return;
      circle.setAttribute("cx", scales.x(place.collisions));
      circle.setAttribute("cy", scales.y(place.coverage));
    };
    return {
      spots,
      moveDot: (multiplier) => show(dot, multiplier === null ? null : along(front, multiplier)),
      measured: (place) => show(measured, place),
      pick: (label) => spots.forEach((group, name) => group.setAttribute("aria-pressed", String(name === label))),
    };
  }

  /** Where a multiplier lies on a front, between its neighbours in the sweep. */
  function along(front, multiplier) {
    const position = (m) => Math.log10(Math.max(m, 0.01) / 0.005);
    const points = front.points.filter((p) => p.multiplier !== null).sort((a, b) => a.multiplier - b.multiplier);
    if (!points.length) return null;
    const place = (p) => ({ coverage: p.coverage["0.1"], collisions: p.collisions_per_step });
    const above = points.findIndex((p) => p.multiplier >= multiplier);
    if (above === 0) return place(points[0]);
    if (above < 0) return place(points[points.length - 1]);
    const [low, high] = [points[above - 1], points[above]];
    const [from, to] = [low.multiplier === 0 ? 0 : position(low.multiplier), position(high.multiplier)];
    const here = multiplier === 0 ? 0 : position(multiplier);
    const share = to > from ? (here - from) / (to - from) : 1;
    const mix = (a, b) => a + (b - a) * Math.min(1, Math.max(0, share));
    const [a, b] = [place(low), place(high)];
    return { coverage: mix(a.coverage, b.coverage), collisions: mix(a.collisions, b.collisions) };
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
    for (const tick of ticks(low, high, 4)) {
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

  Object.assign(window.cgcmarl, { drawFront, drawCurves, along, percent, rate, compact });
})();
