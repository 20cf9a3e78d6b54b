// Plays episodes: asks the server for each next situation and moves smoothly from one to the next.
"use strict";
(() => {
  const { draw, between, toWorld, distance, covered } = window.cgcmarl;
  const REST = 900;
  const REACH = 0.12;

  const copy = (points) => points.map((point) => [...point]);
  const still = (points) => points.map(() => [0, 0]);

  /** One policy on one canvas. */
  class Screen {
    constructor(side, canvas) {
      Object.assign(this, { side, canvas, before: null, now: null, next: null, edges: [], trails: [], collisions: 0, strongest: 0, report: null });
    }

    begin(situation) {
      this.now = { positions: copy(situation.positions), velocities: copy(situation.velocities), landmarks: copy(situation.landmarks) };
      this.before = copy(situation.positions);
      this.next = this.report = null;
      this.edges = [];
      this.collisions = this.strongest = 0;
      this.trails = situation.positions.map((place) => [[...place]]);
    }

    /** Takes the answer that waited. */
    advance() {
      const { positions, velocities, landmarks, edges, collisions } = this.next;
      this.before = this.now.positions;
      this.now = { positions, velocities, landmarks };
      this.edges = edges;
      this.strongest = Math.max(0.8 * this.strongest, ...edges.map((edge) => edge.strength));
      this.collisions += collisions;
      this.report = this.next;
      this.next = null;
      positions.forEach((place, agent) => this.trails[agent].push([...place]));
    }

    paint(share, radius, options) {
      if (!this.now) return;
      const positions = between(this.before, this.now.positions, share);
      const trails = this.trails.map((trail, agent) => [...trail.slice(0, -1), positions[agent]]);
      const chosen = this.chosen;
      draw(this.canvas, {
        positions, radius, landmarks: this.now.landmarks, strongest: this.strongest,
        trails: options.trails ? trails : null,
        edges: options.graph ? this.edges : null,
        chosen: chosen && chosen.kind === "positions" ? chosen.index : null,
        chosenLandmark: chosen && chosen.kind === "landmarks" ? chosen.index : null,
      });
    }
  }

  /** All screens, one clock. */
  class Playback {
    constructor(ask, screens, hooks) {
      Object.assign(this, { ask, screens, hooks });
      Object.assign(this, { playing: false, step: 0, horizon: 25, radius: 0.08, speed: 10, generation: 0, since: 0, start: null, resting: 0, asking: false });
      this.options = { graph: true, trails: true };
      this.frames = [];
      this.decisions = [];
      screens.forEach((screen) => this.listen(screen));
      requestAnimationFrame((time) => this.frame(time));
    }

    /** Shows a start state. */
    begin(start) {
      this.start = start;
      this.invalidate();
      this.step = 0;
      this.resting = 0;
      this.radius = start.radius;
      this.screens.forEach((screen) => screen.begin(start.situation));
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

    async prefetch() {
      if (this.asking || !this.start || this.step >= this.horizon) return;
      this.asking = true;
      const generation = this.generation;
      try {
        const answers = await Promise.all(this.screens.map((screen) => this.ask(screen)));
        if (generation !== this.generation) return;
        this.screens.forEach((screen, index) => { screen.next = answers[index]; });
        this.decisions.push(answers[0].decision_ms);
        this.decisions = this.decisions.slice(-40);
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
      if (this.step >= this.horizon) return;
      this.invalidate();
      await this.prefetch();
      if (this.ready()) this.advance(performance.now());
      this.hooks.changed(true);
    }

    ready() { return this.step < this.horizon && this.screens.every((screen) => screen.next); }

    advance(time) {
      this.screens.forEach((screen) => screen.advance());
      this.step++;
      this.since = time;
      this.hooks.changed(this.step >= this.horizon);
    }

    frame(time) {
      requestAnimationFrame((next) => this.frame(next));
      this.frames.push(time);
      while (this.frames.length > 2 && time - this.frames[0] > 1000) this.frames.shift();
      const interval = 1000 / this.speed;
      const due = time - this.since >= interval;
      if (this.playing && due && !this.dragging) {
        // The question is asked at the last moment, so that the slider counts from this very step.
        if (this.ready()) { this.advance(time); this.prefetch(); }
        else if (this.step >= this.horizon) this.rest(time);
        else this.prefetch();
      }
      const share = Math.min(1, (time - this.since) / interval);
      this.screens.forEach((screen) => screen.paint(share, this.radius, this.options));
    }

    rest(time) {
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

    coverage(screen) {
      const done = covered(screen.now.positions, screen.now.landmarks);
      return [done.filter(Boolean).length, done.length];
    }

    /** Moves a piece on every screen: the policies keep the same world. */
    move(piece, place) {
      const inside = place.map((x) => Math.max(-1.2, Math.min(1.2, x)));
      this.invalidate();
      this.screens.forEach((screen) => {
        screen.now[piece.kind][piece.index] = [...inside];
        if (piece.kind === "positions") {
          screen.now.velocities[piece.index] = [0, 0];
          screen.before = copy(screen.now.positions);
          screen.trails[piece.index] = [[...inside]];
        }
      });
      if (this.step === 0) {
        const { positions, landmarks } = this.screens[0].now;
        this.start = { ...this.start, situation: { positions: copy(positions), velocities: still(positions), landmarks: copy(landmarks) } };
      }
      this.hooks.changed();
    }

    pieceAt(screen, place) {
      let best = null;
      for (const kind of ["positions", "landmarks"]) {
        screen.now[kind].forEach((point, index) => {
          const gap = distance(point, place) + (kind === "landmarks" ? 0.02 : 0);
          if (gap < Math.max(REACH, this.radius) && (!best || gap < best.gap)) best = { kind, index, gap };
        });
      }
      return best;
    }

    listen(screen) {
      const { canvas } = screen;
      canvas.addEventListener("pointerdown", (event) => {
        const piece = screen.now && this.pieceAt(screen, toWorld(canvas, event));
        if (!piece) return;
        canvas.setPointerCapture(event.pointerId);
        this.dragging = piece;
        screen.chosen = piece;
      });
      canvas.addEventListener("pointermove", (event) => {
        const place = screen.now && toWorld(canvas, event);
        if (this.dragging && screen.chosen === this.dragging) this.move(this.dragging, place);
        else if (place) canvas.style.cursor = this.pieceAt(screen, place) ? "grab" : "default";
      });
      const release = () => {
        if (!this.dragging) return;
        this.dragging = screen.chosen = null;
        this.invalidate();
      };
      canvas.addEventListener("pointerup", release);
      canvas.addEventListener("pointercancel", release);
      canvas.addEventListener("blur", () => { screen.chosen = null; });
      canvas.addEventListener("keydown", (event) => this.key(screen, event));
    }

    /** Comma and full stop choose a piece, arrows move it. */
    key(screen, event) {
      const n = screen.now ? screen.now.positions.length : 0;
      const turn = { ",": -1, ".": 1 }[event.key];
      const push = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!n || (!turn && !push)) return;
      event.preventDefault();
      if (turn) {
        const old = screen.chosen ? screen.chosen.index + (screen.chosen.kind === "landmarks" ? n : 0) : (turn > 0 ? -1 : 0);
        const place = (old + turn + 2 * n) % (2 * n);
        screen.chosen = place < n ? { kind: "positions", index: place } : { kind: "landmarks", index: place - n };
        const point = screen.now[screen.chosen.kind][screen.chosen.index];
        const name = `${place < n ? "agent" : "landmark"} ${screen.chosen.index + 1}`;
        this.hooks.say(`${name} at ${point.map((x) => x.toFixed(2)).join(", ")}`);
      } else if (screen.chosen) {
        const point = screen.now[screen.chosen.kind][screen.chosen.index];
        this.move(screen.chosen, [point[0] + 0.05 * push[0], point[1] + 0.05 * push[1]]);
      }
    }
  }

  Object.assign(window.cgcmarl, { Screen, Playback });
})();
