// Draws one moment of an episode on a canvas: the task's shapes by their roles, trails, coordination graph.
"use strict";
window.cgcmarl = window.cgcmarl || {};
(() => {
  const HUES = [205, 28, 160, 275, 48, 335, 185, 95, 250, 5];
  const JUMP = 0.4;

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  window.addEventListener("beforeprint", () => { printing = true; });
  window.addEventListener("afterprint", () => { printing = false; });

  function theme() {
    const night = dark.matches && !printing;
    return night
      ? { ink: "#e8ebf1", muted: "#75808f", line: "#232b37", ground: "#2a3341", obstacle: "#5d6878", edge: "120,180,240", red: "#ff6b76", green: "#3ecf9f", label: "#0b1118", light: 64 }
      : { ink: "#1c2330", muted: "#8a94a3", line: "#eaedf2", ground: "#e3e7ee", obstacle: "#8f99a8", edge: "0,104,168", red: "#cf2233", green: "#00805c", label: "#ffffff", light: 42 };
  }

  function agentColour(agent, alpha, look) {
    const hue = HUES[agent % HUES.length];
    return `hsl(${hue} 68% ${look.light}% / ${alpha})`;
  }

  const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

  /** Round numbers that cover a range. */
  function ticks(low, high, count) {
    const rough = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
    const found = [];
    for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-6; t += step) found.push(t);
    return found;
  }

  /** Fits the canvas to its size on the screen and to what is shown; y points up. */
  function prepare(canvas, [left, bottom, right, top]) {
    const shape = `${right - left} / ${top - bottom}`;
    if (canvas.style.aspectRatio !== shape) canvas.style.aspectRatio = shape;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(40, Math.round(canvas.clientWidth * ratio)) || 400;
    const scale = width / (right - left);
    const height = Math.max(1, Math.round((top - bottom) * scale));
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    context.setTransform(scale, 0, 0, -scale, -left * scale, top * scale);
    const toPixels = ([x, y]) => [(x - left) * scale, (top - y) * scale];
    return { context, pixel: 1 / scale, scale, toPixels };
  }

  function outline(context, { at: [x, y], square }, radius) {
    context.beginPath();
    if (square) context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
    else context.arc(x, y, radius, 0, 2 * Math.PI);
  }

  function drawGrid({ context, pixel }, [left, bottom, right, top], look) {
    context.strokeStyle = look.line;
    context.lineWidth = pixel;
    context.beginPath();
    const count = 6;
    for (const x of ticks(left, right, count)) { context.moveTo(x, bottom); context.lineTo(x, top); }
    for (const y of ticks(bottom, top, (count * (top - bottom)) / (right - left))) { context.moveTo(left, y); context.lineTo(right, y); }
    context.stroke();
  }

  /** What the team is after: a dashed line around it until it is reached. */
  function drawTarget({ context, pixel }, shape, look) {
    const done = shape.role === "reached";
    outline(context, shape, shape.radius);
    context.fillStyle = look.green;
    context.globalAlpha = done ? 0.2 : 0.05;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = done ? look.green : look.muted;
    context.lineWidth = (done ? 2.2 : 1.4) * pixel;
    context.setLineDash(done ? [] : [5 * pixel, 4 * pixel]);
    context.stroke();
    context.setLineDash([]);
    const [x, y] = shape.at;
    const arm = 0.24 * shape.radius;
    context.beginPath();
    context.moveTo(x - arm, y); context.lineTo(x + arm, y);
    context.moveTo(x, y - arm); context.lineTo(x, y + arm);
    context.stroke();
  }

  function drawAgent({ context, pixel }, shape, look) {
    const alarm = shape.role === "alarm";
    if (alarm) {
      outline(context, shape, shape.radius + 7 * pixel);
      context.fillStyle = look.red;
      context.globalAlpha = 0.35;
      context.fill();
      context.globalAlpha = 1;
    }
    outline(context, shape, shape.radius);
    context.fillStyle = agentColour(shape.agent ?? 0, 0.92, look);
    context.fill();
    context.lineWidth = (alarm ? 3 : 1.2) * pixel;
    context.strokeStyle = alarm ? look.red : look.label;
    context.stroke();
  }

  function drawThing({ context, pixel }, shape, look) {
    outline(context, shape, shape.radius);
    context.fillStyle = { ground: look.ground, obstacle: look.obstacle }[shape.role] || look.red;
    context.fill();
    if (shape.role !== "other") return;
    context.lineWidth = 1.2 * pixel;
    context.strokeStyle = look.label;
    context.stroke();
  }

  const isAgent = (shape) => shape.role === "agent" || shape.role === "alarm";
  const isTarget = (shape) => shape.role === "target" || shape.role === "reached";

  function drawShape(pen, shape, look) {
    if (isAgent(shape)) drawAgent(pen, shape, look);
    else if (isTarget(shape)) drawTarget(pen, shape, look);
    else drawThing(pen, shape, look);
  }

  /** Words inside shapes; an agent without one shows its number. */
  function drawTexts({ context, scale, toPixels }, shapes, look) {
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const shape of shapes) {
      const text = shape.text ?? (isAgent(shape) && shape.agent !== undefined ? String(shape.agent + 1) : null);
      const size = shape.radius * scale * 0.95;
      if (text === null || size < 8) continue;
      context.font = `600 ${size / Math.max(1, 0.4 * text.length)}px system-ui, sans-serif`;
      context.fillStyle = isTarget(shape) || shape.role === "ground" ? look.ink : look.label;
      const [x, y] = toPixels(shape.at);
      context.fillText(text, x, y + size * 0.05);
    }
    context.restore();
  }

  function drawTrails({ context, pixel }, trails, look) {
    context.lineWidth = 2.6 * pixel;
    context.lineCap = "round";
    trails.forEach((trail, agent) => {
      for (let k = 1; k < trail.length; k++) {
        context.strokeStyle = agentColour(agent, 0.25 + 0.45 * (k / trail.length), look);
        context.beginPath();
        context.moveTo(trail[k - 1][0], trail[k - 1][1]);
        context.lineTo(trail[k][0], trail[k][1]);
        context.stroke();
      }
    });
  }

  /** A pair is a line between its agents, a larger region a star around their middle. */
  function drawRegion(context, places) {
    context.beginPath();
    if (places.length === 2) {
      context.moveTo(...places[0]);
      context.lineTo(...places[1]);
    } else {
      const middle = [0, 1].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
      for (const place of places) { context.moveTo(...middle); context.lineTo(...place); }
    }
    context.stroke();
  }

  /** A region's lines are as wide as the spread of its messages, relative to the widest seen lately. */
  function drawEdges({ context, pixel }, moment, look) {
    const places = new Map(moment.shapes.filter((shape) => shape.agent !== undefined).map((shape) => [shape.agent, shape.at]));
    const most = Math.max(moment.strongest || 0, ...moment.edges.map((edge) => edge.strength), 1e-9);
    for (const edge of moment.edges) {
      const share = edge.strength / most;
      context.strokeStyle = `rgba(${look.edge},${0.1 + 0.55 * share})`;
      context.lineWidth = (0.6 + 5 * share * share) * pixel;
      drawRegion(context, edge.members.filter((agent) => places.has(agent)).map((agent) => places.get(agent)));
    }
  }

  /** Draws a moment: bounds, shapes, and optionally edges, trails by agent, the handle that is chosen. */
  function draw(canvas, moment) {
    const pen = prepare(canvas, moment.bounds);
    const look = theme();
    const { shapes } = moment;
    const over = (shape) => shape.agent !== undefined || shape.role === "other";
    shapes.filter((shape) => shape.role === "ground").forEach((shape) => drawShape(pen, shape, look));
    drawGrid(pen, moment.bounds, look);
    shapes.filter((shape) => shape.role !== "ground" && !over(shape)).forEach((shape) => drawShape(pen, shape, look));
    if (moment.trails) drawTrails(pen, moment.trails, look);
    if (moment.edges) drawEdges(pen, moment, look);
    shapes.filter(over).forEach((shape) => drawShape(pen, shape, look));
    drawTexts(pen, shapes, look);
    const chosen = shapes.find((shape) => shape.handle !== undefined && shape.handle === moment.chosen);
    if (!chosen) return;
    outline(pen.context, chosen, chosen.radius + 4 * pen.pixel);
    pen.context.strokeStyle = look.ink;
    pen.context.lineWidth = 2 * pen.pixel;
    pen.context.stroke();
  }

  /** Where on the canvas a pointer is, in the task's coordinates. */
  function toWorld(canvas, event, [left, bottom, right, top]) {
    const box = canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width;
    const y = (event.clientY - box.top) / box.height;
    return [left + x * (right - left), top - y * (top - bottom)];
  }

  /** Shapes on their way between two moments, as far as they are the same; what jumps does not glide. */
  function between(before, after, share, [left, , right]) {
    if (before.length !== after.length || share >= 1) return share >= 1 ? after : before;
    return after.map((to, index) => {
      const from = before[index];
      if (from.agent !== to.agent || from.square !== to.square || distance(from.at, to.at) > JUMP * (right - left)) return from;
      const at = from.at.map((x, axis) => x + (to.at[axis] - x) * share);
      return { ...(share < 0.5 ? from : to), at };
    });
  }

  Object.assign(window.cgcmarl, { draw, toWorld, between, distance, ticks });
})();
