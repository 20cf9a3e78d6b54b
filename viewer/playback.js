// Plays episodes: asks the server for each next moment and moves smoothly from one to the next.
"use strict";
(() => {
  const { draw, between, toWorld, distance } = window.cgcmarl;
  const REST = 900;
  const REACH = 0.05;
  const NUDGE = 0.02;

  const copy = (moment) => JSON.parse(JSON.stringify(moment));

  /** One policy on one canvas. */
  class Screen {
    constructor(side, canvas, metrics) {
      Object.assign(this, { side, canvas, metrics, before: null, now: null, next: null, edges: [], trails: new Map(), totals: [], steps: 0, over: false, strongest: 0, report: null, chosen: null });
    }

    begin({ snapshot, drawing }) {
      this.now = copy({ snapshot, drawing });
      this.before = this.now.drawing.shapes;
      this.next = this.report = null;
      this.edges = [];
      this.totals = this.metrics.map((metric) => (metric.reduce === "all" ? 1 : 0));
      this.steps = this.strongest = 0;
      this.over = false;
      this.trails = new Map();
      this.follow();
    }

    /** The agents leave a trail. */
    follow() {
      for (const { agent, at } of this.now.drawing.shapes) {
        if (agent === undefined) continue;
        if (!this.trails.has(agent)) this.trails.set(agent, []);
        this.trails.get(agent).push([...at]);
      }
    }

    /** Takes the answer that waited. */
    advance() {
      if (this.over) { this.before = this.now.drawing.shapes; return; }
      const { snapshot, drawing, edges, metrics, over } = this.next;
      this.before = this.now.drawing.shapes;
      this.now = { snapshot, drawing };
      this.edges = edges;
      this.strongest = Math.max(0.8 * this.strongest, ...edges.map((edge) => edge.strength));
      this.steps++;
      this.over = over;
      this.report = this.next;
      this.next = null;
      metrics.forEach((value, index) => {
        const { reduce } = this.metrics[index];
        if (reduce === "last") this.totals[index] = value;
        else if (reduce === "all") this.totals[index] = Math.min(this.totals[index], value ? 1 : 0);
        else this.totals[index] += value;
      });
      this.follow();
    }

    /** What a metric amounts to so far; nothing before the first step. */
    soFar(name) {
      const index = this.metrics.findIndex((metric) => metric.name === name);
      if (!this.steps || index < 0) return null;
      return this.metrics[index].reduce === "mean" ? this.totals[index] / this.steps : this.totals[index];
    }

    paint(share, options) {
      if (!this.now) return;
      const { bounds } = this.now.drawing;
      const shapes = between(this.before, this.now.drawing.shapes, share, bounds);
      const trails = new Map(this.trails);
      for (const { agent, at } of shapes) {
        if (trails.has(agent)) trails.set(agent, [...trails.get(agent).slice(0, -1), at]);
      }
      draw(this.canvas, {
        bounds, shapes, strongest: this.strongest, chosen: this.chosen,
        trails: options.trails ? trails : null,
        edges: options.graph ? this.edges : null,
      });
    }

    /** The handles of what can be moved, in the order of the drawing, agents first. */
    handles() {
      const movable = this.now.drawing.shapes.filter((shape) => shape.handle !== undefined);
      const rank = (shape) => (shape.agent === undefined ? 1 : 0);
      return [...new Set(movable.sort((a, b) => rank(a) - rank(b)).map((shape) => shape.handle))];
    }

    shape(handle) { return this.now.drawing.shapes.findLast((shape) => shape.handle === handle); }

    /** Moves what a handle holds. */
    place(handle, at) {
      this.now.snapshot[handle] = at[0];
      this.now.snapshot[handle + 1] = at[1];
      for (const shape of this.now.drawing.shapes) {
        if (shape.handle !== handle) continue;
        shape.at = [...at];
        if (shape.agent !== undefined) this.trails.set(shape.agent, [[...at]]);
      }
      this.before = this.now.drawing.shapes;
    }
  }

  /** All screens, one clock. `server` answers `step(screen, step)` and `show(screen, moved)`. */
  class Playback {
    constructor(server, screens, hooks) {
      Object.assign(this, { server, screens: [], hooks });
      Object.assign(this, { playing: false, step: 0, horizon: 1, speed: 10, generation: 0, since: 0, start: null, resting: 0, asking: false });
      this.options = { graph: true, trails: true };
      this.frames = [];
      this.decisions = [];
      this.setScreens(screens);
      requestAnimationFrame((time) => this.frame(time));
    }

    setScreens(screens) {
      this.screens = screens;
      for (const screen of screens) {
        if (screen.canvas.dataset.heard) continue;
        screen.canvas.dataset.heard = "true";
        this.listen(screen.canvas);
      }
    }

    /** Shows a start state. */
    begin(start) {
      this.start = start;
      this.invalidate();
      this.step = 0;
      this.resting = 0;
      this.horizon = start.horizon;
      this.screens.forEach((screen) => screen.begin(start));
      this.since = performance.now() - 1e6;
      this.prefetch();
      this.hooks.changed();
    }

    /** Forgets answers to questions that are no longer right. */
    invalidate() {
      this.generation++;
      this.asking = false;
      this.screens.forEach((screen) => { screen.next = null; });
    }

    isOver() { return this.screens.every((screen) => screen.over); }

    async prefetch() {
      if (this.asking || !this.start || this.isOver()) return;
      this.asking = true;
      const generation = this.generation;
      try {
        const answers = await Promise.all(this.screens.map((screen) => (screen.over ? null : this.server.step(screen, this.step))));
        if (generation !== this.generation) return;
        this.screens.forEach((screen, index) => { screen.next = answers[index]; });
        if (answers[0]) this.decisions = [...this.decisions, answers[0].decision_ms].slice(-40);
      } catch (error) {
        if (generation === this.generation) { this.pause(); this.hooks.failed(error); }
      } finally {
        if (generation === this.generation) this.asking = false;
      }
    }

    play() { this.playing = true; this.hooks.changed(); }
    pause() { this.playing = false; this.hooks.changed(); }

    /** Plays exactly one step, decided now. */
    async stepOnce() {
      this.playing = false;
      if (this.isOver()) return;
      this.invalidate();
      await this.prefetch();
      if (this.ready()) this.advance(performance.now());
      this.hooks.changed(true);
    }

    ready() { return !this.isOver() && this.screens.every((screen) => screen.over || screen.next); }

    advance(time) {
      this.screens.forEach((screen) => screen.advance());
      this.step++;
      this.since = time;
      this.hooks.changed(this.isOver());
    }

    frame(time) {
      requestAnimationFrame((next) => this.frame(next));
      this.frames.push(time);
      while (this.frames.length > 2 && time - this.frames[0] > 1000) this.frames.shift();
      const interval = 1000 / this.speed;
      const due = time - this.since >= interval;
      if (this.playing && due && !this.dragging) {
        // The question is asked at the last moment, so that the sliders count from this very step.
        if (this.ready()) { this.advance(time); this.prefetch(); }
        else if (this.isOver()) this.rest(time);
        else this.prefetch();
      }
      const share = Math.min(1, (time - this.since) / interval);
      this.screens.forEach((screen) => screen.paint(share, this.options));
    }

    rest(time) {
      if (!this.start) return;
      if (!this.resting) { this.resting = time + REST; this.hooks.ended(); }
      else if (time > this.resting) { this.resting = 0; this.hooks.finished(); }
    }

    framesPerSecond() {
      const span = this.frames.at(-1) - this.frames[0];
      return span > 0 ? (1000 * (this.frames.length - 1)) / span : 0;
    }

    decisionTime() {
      const sorted = [...this.decisions].sort((a, b) => a - b);
      return sorted.length ? sorted[sorted.length >> 1] : null;
    }

    /** Moves something on every screen: the policies keep the same situation. */
    move(handle, place) {
      this.invalidate();
      this.kept ??= this.screens.map((screen) => copy(screen.now));
      this.moved = handle;
      for (const screen of this.screens) {
        const [left, bottom, right, top] = screen.now.drawing.bounds;
        screen.place(handle, [Math.max(left, Math.min(right, place[0])), Math.max(bottom, Math.min(top, place[1]))]);
      }
      this.hooks.changed();
    }

    /** Asks how the moved moment really looks: what was moved stands still; what the task refuses goes back to where it was. */
    async settle() {
      const { kept, moved, generation } = this;
      this.kept = null;
      if (!kept) return;
      try {
        const looks = await Promise.all(this.screens.map((screen) => this.server.show(screen, moved)));
        if (generation !== this.generation) return;
        this.screens.forEach((screen, index) => this.put(screen, looks[index]));
      } catch (error) {
        if (generation !== this.generation) return;
        this.screens.forEach((screen, index) => this.put(screen, kept[index]));
        this.hooks.failed(error);
      }
      if (this.step === 0) this.start = { ...this.start, ...copy(this.screens[0].now) };
      this.hooks.changed();
    }

    put(screen, moment) {
      screen.now = copy(moment);
      screen.before = screen.now.drawing.shapes;
    }

    screenOf(canvas) { return this.screens.find((screen) => screen.canvas === canvas && screen.now); }

    /** The handle of what lies under a place. */
    handleAt(screen, place) {
      const [left, , right] = screen.now.drawing.bounds;
      let best = null;
      for (const shape of screen.now.drawing.shapes) {
        if (shape.handle === undefined) continue;
        const gap = distance(shape.at, place) + (shape.agent === undefined ? 0.01 * (right - left) : 0);
        if (gap < Math.max(REACH * (right - left), shape.radius) && (!best || gap < best.gap)) best = { handle: shape.handle, gap };
      }
      return best ? best.handle : null;
    }

    listen(canvas) {
      canvas.addEventListener("pointerdown", (event) => {
        const screen = this.screenOf(canvas);
        const handle = screen ? this.handleAt(screen, toWorld(canvas, event, screen.now.drawing.bounds)) : null;
        if (handle === null) return;
        canvas.setPointerCapture(event.pointerId);
        this.dragging = { screen, handle };
        screen.chosen = handle;
      });
      canvas.addEventListener("pointermove", (event) => {
        const screen = this.screenOf(canvas);
        if (!screen) return;
        const place = toWorld(canvas, event, screen.now.drawing.bounds);
        if (this.dragging && this.dragging.screen === screen) this.move(this.dragging.handle, place);
        else canvas.style.cursor = this.handleAt(screen, place) === null ? "default" : "grab";
      });
      const release = () => {
        if (!this.dragging) return;
        this.dragging.screen.chosen = null;
        this.dragging = null;
        this.invalidate();
        this.settle();
      };
      canvas.addEventListener("pointerup", release);
      canvas.addEventListener("pointercancel", release);
      canvas.addEventListener("blur", () => { const screen = this.screenOf(canvas); if (screen) screen.chosen = null; });
      canvas.addEventListener("keydown", (event) => { const screen = this.screenOf(canvas); if (screen) this.key(screen, event); });
    }

    /** Comma and full stop choose something, arrows move it. */
    key(screen, event) {
      const handles = screen.handles();
      const turn = { ",": -1, ".": 1 }[event.key];
      const push = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!handles.length || (!turn && !push)) return;
      event.preventDefault();
      if (turn) {
        const old = screen.chosen === null ? (turn > 0 ? -1 : 0) : handles.indexOf(screen.chosen);
        screen.chosen = handles[(old + turn + handles.length) % handles.length];
        const { role, agent, at } = screen.shape(screen.chosen);
        const name = agent === undefined ? `${role} ${handles.indexOf(screen.chosen) + 1}` : `agent ${agent + 1}`;
        this.hooks.say(`${name} at ${at.map((x) => x.toFixed(2)).join(", ")}`);
      } else if (screen.chosen !== null) {
        const { at } = screen.shape(screen.chosen);
        const [left, , right] = screen.now.drawing.bounds;
        this.move(screen.chosen, at.map((x, axis) => x + NUDGE * (right - left) * push[axis]));
        this.settle();
      }
    }
  }

  Object.assign(window.cgcmarl, { Screen, Playback });
})();
