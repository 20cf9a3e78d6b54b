// The live page: connects controls, screens, charts and the server.
"use strict";
(() => {
  const { Screen, Playback, Meter, drawFront, drawCurves, percent, rate, compact } = window.cgcmarl;
  const find = (name) => document.getElementById(name);
  const POLL = 1500;

  let run = null;
  let front = null;
  let episode = 0;
  // The world that is played; the fields may already ask for another.
  let world = null;
  let playback = null;
  let meter = null;

  async function request(path, message, signal) {
    const options = message === undefined ? { cache: "no-cache" } : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(message), signal,
    };
    const answer = await fetch(path, options);
    const data = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(data.error || answer.statusText), { status: answer.status });
    return data;
  }

  function complain(error) {
    const box = find("error");
    box.hidden = !error;
    if (!error) return;
    const lost = error instanceof TypeError;
    box.textContent = lost ? "The server does not answer. Is `cgcmarl view` still running?" : error.message;
  }

  /** The slider: 0 is zero, 1 to 100 run from 0.01 to 10 in equal ratios. */
  function multiplier() {
    const place = Number(find("multiplier").value);
    return place === 0 ? 0 : Number((10 ** (-2 + (3 * (place - 1)) / 99)).toPrecision(2));
  }

  function sliderPlace(value) {
    return value <= 0 ? 0 : Math.round(Math.max(1, Math.min(100, 1 + (99 * (Math.log10(value) + 2)) / 3)));
  }

  function wanted() {
    return { agents: Number(find("agents").value), layout: find("layout").value, contact: find("contact").checked };
  }

  const say = (text) => { find("status").textContent = text; };

  function showMultiplier() {
    const value = multiplier();
    find("multiplier-value").textContent = `λ = ${value}`;
    find("multiplier").setAttribute("aria-valuetext", `lambda ${value}`);
    if (front) front.moveDot(value);
  }

  function showNow(speak) {
    const [screen] = playback.screens;
    if (!screen.now) return;
    const [done, all] = playback.coverage(screen);
    find("now-step").textContent = `${playback.step} / ${playback.horizon}`;
    find("now-coverage").textContent = `${done} of ${all}`;
    find("now-collisions").textContent = String(screen.collisions);
    const time = playback.decisionTime();
    find("now-decision").textContent = time === null ? "–" : `${time.toFixed(2)} ms`;
    for (const each of playback.screens) {
      const [n, of] = playback.coverage(each);
      find(`tally-${each.side}`).textContent = `${n}/${of} covered · ${each.collisions} collision${each.collisions === 1 ? "" : "s"}`;
    }
    find("play").textContent = playback.playing ? "Pause" : "Play";
    find("play").setAttribute("aria-pressed", String(playback.playing));
    if (speak) say(`Step ${playback.step} of ${playback.horizon}: ${done} of ${all} landmarks covered, ${screen.collisions} collisions so far.`);
  }

  async function begin() {
    const asked = world === null || find("agents").checkValidity() ? wanted() : world;
    try {
      const start = await request("api/start", { world: asked, episode });
      const changed = JSON.stringify(asked) !== JSON.stringify(world);
      world = asked;
      complain(null);
      playback.begin(start);
      if (changed) meter.restart();
    } catch (error) {
      complain(error);
    }
  }

  /** A world the server refuses leaves the old one in place, with a word on why. */
  function changeWorld() {
    const field = find("agents");
    if (!field.checkValidity()) { complain(new Error(`Agents: ${field.validationMessage}`)); return; }
    begin();
  }

  function showMeasured(result) {
    find("measured-coverage").textContent = result ? `${percent(result.coverage)}` : "…";
    find("measured-collisions").textContent = result ? `${rate(result.collisions)}` : "…";
    find("measured-episodes").textContent = result ? String(result.episodes) : "0";
    find("measured").dataset.done = String(Boolean(result && result.done));
    find("measured").dataset.multiplier = String(multiplier());
    if (result) {
      find("measured-coverage").title = `± ${percent(result.coverageWidth)}`;
      find("measured-collisions").title = `± ${rate(result.collisionsWidth)}`;
    }
    if (front) front.measured(result);
  }

  function showFront() {
    find("front").toggleAttribute("hidden", !run.front);
    front = run.front ? drawFront(find("front"), run.front, { onPick: pickPoint }) : null;
    find("front-note").textContent = run.front
      ? "Filled dot: this λ on the run's own sweep. Ring: measured now over 200 fixed starts, in the world set on the left."
      : `Not swept yet: cgcmarl sweep ${run.name}`;
    showMultiplier();
  }

  function pickPoint(score) {
    if (score.multiplier === null || score.multiplier === undefined) return;
    find("multiplier").value = sliderPlace(score.multiplier);
    find("multiplier").dispatchEvent(new Event("input"));
  }

  function showCurves() {
    find("curves-card").hidden = run.curves.length === 0;
    find("curves").replaceChildren(...run.curves.map((panel) => {
      const figure = document.createElement("figure");
      const title = document.createElement("h3");
      title.textContent = panel.title;
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("class", "chart");
      drawCurves(svg, panel);
      figure.append(title, svg);
      return figure;
    }));
  }

  function showRun() {
    const training = run.steps < run.total_steps;
    find("title").textContent = `Simple Spread, trained with ${run.agents} agents`;
    find("subtitle").textContent = run.name;
    find("training").textContent = training
      ? `in training: step ${compact(run.steps)} of ${compact(run.total_steps)}`
      : `trained for ${compact(run.total_steps)} steps`;
    find("training").classList.toggle("live", training);
    find("agents").disabled = !run.any_team;
    find("agents").title = run.any_team ? "" : "this model plays in teams of its own size only";
    showFront();
    showCurves();
  }

  async function poll() {
    try {
      const fresh = await request("api/run");
      if (String(fresh.version) !== String(run.version)) {
        const newModel = fresh.steps !== run.steps;
        run = fresh;
        showRun();
        if (newModel) { playback.invalidate(); meter.restart(); }
      }
      if (!find("error").hidden && find("error").textContent.startsWith("The server")) complain(null);
    } catch (error) {
      complain(error);
    }
    setTimeout(poll, POLL);
  }

  function connectControls() {
    const on = (name, event, act) => find(name).addEventListener(event, act);
    const toggle = () => (playback.playing ? playback.pause() : playback.play());
    const restart = () => { playback.begin(playback.start); };
    const next = () => { episode = (episode + 1) % 1000; begin(); };
    on("play", "click", toggle);
    on("step", "click", () => playback.stepOnce());
    on("restart", "click", restart);
    on("next", "click", next);
    on("multiplier", "input", () => { showMultiplier(); playback.invalidate(); meter.restart(); });
    on("speed", "input", () => {
      playback.speed = Number(find("speed").value);
      find("speed").setAttribute("aria-valuetext", `${playback.speed} steps per second`);
    });
    for (const name of ["agents", "layout", "contact"]) on(name, "change", changeWorld);
    for (const name of ["graph", "trails"]) on(name, "change", () => { playback.options[name] = find(name).checked; });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, button")) return;
      const act = { " ": toggle, s: () => playback.stepOnce(), r: restart, n: next }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
    setInterval(() => { find("now-frames").textContent = playback.framesPerSecond().toFixed(0); }, 500);
  }

  function setScreens() {
    const screens = [new Screen("run", find("screen-run"))];
    if (run.compare) {
      screens.push(new Screen("compare", find("screen-compare")));
      find("second").hidden = false;
      find("live").classList.add("two");
      find("name-compare").textContent = run.compare.name;
    }
    const ask = (screen) => request("api/step", { policy: screen.side, world, multiplier: multiplier(), situation: screen.now });
    playback = new Playback(ask, screens, {
      say,
      changed: showNow,
      failed: complain,
      ended: () => showNow(true),
      finished: () => { if (find("loop").checked) { episode = (episode + 1) % 1000; begin(); } else playback.pause(); },
    });
    playback.horizon = run.horizon;
    const measure = (first, episodes, signal) => request("api/measure", { world, multiplier: multiplier(), first, episodes }, signal)
      .catch((error) => { if (error.status === 503) return null; throw error; });
    meter = new Meter(measure, showMeasured);
  }

  async function open() {
    run = await request("api/run");
    find("agents").value = run.agents;
    find("layout").value = run.layout;
    find("contact").checked = run.contact;
    if (run.chosen !== null) find("multiplier").value = sliderPlace(run.chosen);
    find("name-run").textContent = "trained policy";
    setScreens();
    connectControls();
    showRun();
    await begin();
    if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) playback.play();
    setTimeout(poll, POLL);
    window.cgcmarl.playback = playback;
    window.cgcmarl.request = request;
  }

  open().catch(complain);
})();
