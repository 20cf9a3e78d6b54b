// Draws one moment of an episode on a canvas: landmarks, trails, coordination graph, agents, collisions.
"use strict";
window.cgcmarl = window.cgcmarl || {};
(() => {
  const EXTENT = 1.22;
  const COVERED = 0.1;
  const HUES = [205, 28, 160, 275, 48, 335, 185, 95, 250, 5];

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  window.addEventListener("beforeprint", () => { printing = true; });
  window.addEventListener("afterprint", () => { printing = false; });

  function theme() {
    const night = dark.matches && !printing;
    return night
      ? { ink: "#e8ebf1", muted: "#75808f", line: "#232b37", edge: "120,180,240", red: "#ff6b76", green: "#3ecf9f", label: "#0b1118", light: 64 }
      : { ink: "#1c2330", muted: "#8a94a3", line: "#eaedf2", edge: "0,104,168", red: "#cf2233", green: "#00805c", label: "#ffffff", light: 42 };
  }

  function agentColour(agent, alpha, look) {
    const hue = HUES[agent % HUES.length];
    return `hsl(${hue} 68% ${look.light}% / ${alpha})`;
  }

  const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

  /** Pairs closer than two radii. */
  function overlaps(positions, radius) {
    const pairs = [];
    for (let i = 0; i < positions.length; i++) {
      for (let k = i + 1; k < positions.length; k++) {
        if (distance(positions[i], positions[k]) < 2 * radius) pairs.push([i, k]);
      }
    }
    return pairs;
  }

  /** Which landmarks have an agent within 0.1. */
  function covered(positions, landmarks) {
    return landmarks.map((mark) => positions.some((place) => distance(place, mark) < COVERED));
  }

  /** Fits the canvas to its size on the screen; returns the scale from world to pixels. */
  function prepare(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const size = Math.max(40, Math.round(canvas.clientWidth * ratio)) || 400;
    if (canvas.width !== size) { canvas.width = size; canvas.height = size; }
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, size, size);
    const scale = size / (2 * EXTENT);
    context.setTransform(scale, 0, 0, -scale, size / 2, size / 2);
    return { context, pixel: 1 / scale, scale };
  }

  function disc(context, [x, y], radius) {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }

  function drawGrid({ context, pixel }, look) {
    context.strokeStyle = look.line;
    context.lineWidth = pixel;
    context.beginPath();
    for (let t = -1; t <= 1.001; t += 0.5) {
      context.moveTo(t, -1); context.lineTo(t, 1);
      context.moveTo(-1, t); context.lineTo(1, t);
    }
    context.stroke();
  }

  function drawLandmarks({ context, pixel }, moment, look) {
    const done = covered(moment.positions, moment.landmarks);
    moment.landmarks.forEach((mark, index) => {
      disc(context, mark, COVERED);
      context.fillStyle = look.green;
      context.globalAlpha = done[index] ? 0.2 : 0.05;
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = done[index] ? look.green : look.muted;
      context.lineWidth = (done[index] ? 2.2 : 1.4) * pixel;
      context.setLineDash(done[index] ? [] : [5 * pixel, 4 * pixel]);
      context.stroke();
      context.setLineDash([]);
      const arm = 0.024;
      context.beginPath();
      context.moveTo(mark[0] - arm, mark[1]); context.lineTo(mark[0] + arm, mark[1]);
      context.moveTo(mark[0], mark[1] - arm); context.lineTo(mark[0], mark[1] + arm);
      context.stroke();
    });
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

  /** A region's line is as wide as the spread of its messages, relative to the widest seen lately. */
  function drawEdges({ context, pixel }, moment, look) {
    const most = Math.max(moment.strongest || 0, ...moment.edges.map((edge) => edge.strength), 1e-9);
    for (const edge of moment.edges) {
      const share = edge.strength / most;
      context.strokeStyle = `rgba(${look.edge},${0.1 + 0.55 * share})`;
      context.lineWidth = (0.6 + 5 * share * share) * pixel;
      context.beginPath();
      edge.members.forEach((agent, place) => {
        const [x, y] = moment.positions[agent];
        if (place === 0) context.moveTo(x, y); else context.lineTo(x, y);
      });
      context.stroke();
    }
  }

  function drawAgents({ context, pixel, scale }, moment, look) {
    const { positions, radius } = moment;
    const hit = new Set(overlaps(positions, radius).flat());
    positions.forEach((place, agent) => {
      if (hit.has(agent)) {
        disc(context, place, radius + 7 * pixel);
        context.fillStyle = look.red;
        context.globalAlpha = 0.35;
        context.fill();
        context.globalAlpha = 1;
      }
      disc(context, place, radius);
      context.fillStyle = agentColour(agent, 0.92, look);
      context.fill();
      context.lineWidth = (hit.has(agent) ? 3 : 1.2) * pixel;
      context.strokeStyle = hit.has(agent) ? look.red : look.label;
      context.stroke();
      if (moment.chosen === agent) {
        disc(context, place, radius + 4 * pixel);
        context.strokeStyle = look.ink;
        context.lineWidth = 2 * pixel;
        context.stroke();
      }
    });
    const size = radius * scale * 0.95;
    if (size < 8) return;
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.font = `600 ${size}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = look.label;
    const middle = context.canvas.width / 2;
    positions.forEach(([x, y], agent) => {
      context.fillText(String(agent + 1), middle + x * scale, middle - y * scale + size * 0.05);
    });
    context.restore();
  }

  /** Draws a moment: positions, landmarks, radius, and optionally edges, trails, chosen. */
  function draw(canvas, moment) {
    const pen = prepare(canvas);
    const look = theme();
    drawGrid(pen, look);
    drawLandmarks(pen, moment, look);
    if (moment.trails) drawTrails(pen, moment.trails, look);
    if (moment.edges) drawEdges(pen, moment, look);
    drawAgents(pen, moment, look);
    if (moment.chosenLandmark !== undefined && moment.chosenLandmark !== null) {
      disc(pen.context, moment.landmarks[moment.chosenLandmark], COVERED + 5 * pen.pixel);
      pen.context.strokeStyle = look.ink;
      pen.context.lineWidth = 2 * pen.pixel;
      pen.context.stroke();
    }
  }

  /** Where on the canvas a pointer is, in world coordinates. */
  function toWorld(canvas, event) {
    const box = canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    return [x * EXTENT, y * EXTENT];
  }

  /** Points between two moments. */
  function between(before, after, share) {
    return before.map((from, index) => from.map((x, axis) => x + (after[index][axis] - x) * share));
  }

  Object.assign(window.cgcmarl, { draw, toWorld, between, overlaps, covered, distance });
})();
