// The live page: connects controls, screens, charts and the server.
"use strict";
(() => {
  const { Screen, Playback, Meter, drawFront, drawCurves, chooseConstraint, compact, plain, titled, say } = window.cgcmarl;
  const find = (name) => document.getElementById(name);
  const POLL = 1500;
  const STARTS = 1000;

  let run = null;
  let front = null;
  let episode = 0;
  // The conditions that are played; the fields may already ask for others.
  let conditions = null;
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

  function element(name, text, parent) {
    const made = document.createElement(name);
    if (text !== null) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  const tell = (text) => { find("status").textContent = text; };
  const constraints = () => run.measures.constraints;
  const metricOf = (name) => run.measures.metrics.find((metric) => metric.name === name);
  const axes = () => [...new Set(run.measures.axes)].map(metricOf);

  /** A slider: 0 is zero, 1 to 100 run from 0.01 to 10 in equal ratios. */
  const sliderValue = (place) => (place === 0 ? 0 : Number((10 ** (-2 + (3 * (place - 1)) / 99)).toPrecision(2)));
  const sliderPlace = (value) => (value <= 0 ? 0 : Math.round(Math.max(1, Math.min(100, 1 + (99 * (Math.log10(value) + 2)) / 3))));
  const slider = (name) => find(`multiplier-${name}`);

  /** The weight of every constraint, by name; a policy without sliders has no use for them. */
  function multipliers() {
    return Object.fromEntries(constraints().map(({ name }) => [name, run.has_multipliers ? sliderValue(Number(slider(name).value)) : 0]));
  }

  function addSlider({ name, unit }) {
    const box = element("div", null, find("multipliers"));
    const heading = element("h3", null, box);
    const label = element("label", plain(name), heading);
    label.hidden = constraints().length < 2;
    label.htmlFor = `multiplier-${name}`;
    label.title = unit;
    const output = element("output", "", heading);
    output.id = `multiplier-${name}-value`;
    const input = element("input", null, box);
    Object.assign(input, { id: `multiplier-${name}`, type: "range", min: 0, max: 100, step: 1, value: sliderPlace(run.chosen?.[name] ?? 0.5) });
    input.setAttribute("aria-label", `Weight of ${plain(name)}`);
    const ends = element("div", null, box);
    ends.className = "ends muted";
    element("span", "0: task only", ends);
    element("span", `10: ${plain(name)} first`, ends);
    input.addEventListener("input", () => { showMultipliers(); playback.invalidate(); meter.restart(); });
  }

  function addNumber(parent, id, text, title) {
    const box = element("div", null, null);
    element("b", "–", box).id = id;
    element("span", text, box).title = title ?? "";
    parent.append(box);
    return box;
  }

  /** What depends on the task: sliders, numbers, options, who may play beside the run. */
  function build() {
    find("lambda-card").hidden = !run.has_multipliers;
    if (run.has_multipliers) constraints().forEach(addSlider);
    for (const metric of [...axes()].reverse()) {
      find("now-step").parentElement.after(addNumber(find("now"), `now-${metric.name}`, plain(metric.name), metric.unit));
      find("measured").prepend(addNumber(find("measured"), `measured-${metric.name}`, `${plain(metric.name)}, measured`, metric.unit));
    }
    for (const metric of run.measures.metrics) {
      const row = element("tr", null, find("metrics"));
      element("td", `${plain(metric.name)} ${metric.better === "lower" ? "↓" : "↑"}`, row).title = `${metric.unit}; ${metric.better === "lower" ? "less" : "more"} is better`;
      element("td", "–", row);
      element("td", "–", row);
    }
    run.options.forEach(addOption);
    find("beside").replaceChildren(new Option("nobody", "null"), ...run.sides.map(({ side, name }) => new Option(name, JSON.stringify(side))));
    find("beside").value = JSON.stringify(run.beside);
    find("agents").value = run.agents;
  }

  /** An option of the task: a switch between false and true, or a list of words. */
  function addOption({ key, meaning, choices, value }) {
    const label = element("label", null, find("options"));
    label.title = meaning;
    const isSwitch = choices.length === 2 && choices.includes("true") && choices.includes("false");
    const field = document.createElement(isSwitch ? "input" : "select");
    field.id = `option-${key}`;
    field.dataset.key = key;
    if (isSwitch) Object.assign(field, { type: "checkbox", checked: value === "true" });
    else {
      field.replaceChildren(...choices.map((word) => new Option(plain(word), word)));
      field.value = value;
    }
    const name = plain(key.split(".").at(-1));
    label.append(...(isSwitch ? [field, name] : [titled(name), field]));
    field.addEventListener("change", changeConditions);
  }

  function wanted() {
    const fields = [...find("options").querySelectorAll("[data-key]")];
    const word = (field) => (field.type === "checkbox" ? String(field.checked) : field.value);
    return { agents: Number(find("agents").value), options: Object.fromEntries(fields.map((field) => [field.dataset.key, word(field)])) };
  }

  function showMultipliers() {
    if (!run.has_multipliers) return;
    const values = multipliers();
    for (const [name, value] of Object.entries(values)) {
      find(`multiplier-${name}-value`).textContent = `λ = ${value}`;
      slider(name).setAttribute("aria-valuetext", `lambda ${value}`);
    }
    if (front) front.moveDot(values);
  }

  const tally = (screen) => axes().map((metric) => `${plain(metric.name)} ${say(metric, screen.soFar(metric.name))}`).join(" · ");

  function showNow(speak) {
    const [screen] = playback.screens;
    if (!screen.now) return;
    find("now-step").textContent = `${playback.step} / ${playback.horizon}`;
    for (const metric of axes()) find(`now-${metric.name}`).textContent = say(metric, screen.soFar(metric.name));
    run.measures.metrics.forEach((metric, index) => {
      const cells = find("metrics").rows[index].cells;
      cells[1].textContent = screen.report ? say(metric, screen.report.metrics[index]) : "–";
      cells[2].textContent = say(metric, screen.soFar(metric.name));
    });
    const time = playback.decisionTime();
    find("now-decision").textContent = time === null ? "–" : `${time.toFixed(2)} ms`;
    playback.screens.forEach((each, index) => { find(index ? "tally-compare" : "tally-run").textContent = tally(each); });
    find("play").textContent = playback.playing ? "Pause" : "Play";
    find("play").setAttribute("aria-pressed", String(playback.playing));
    if (speak) tell(`Step ${playback.step} of ${playback.horizon}: ${tally(screen)}.`);
  }

  async function begin() {
    const asked = conditions === null || find("agents").checkValidity() ? wanted() : conditions;
    try {
      const start = await request("api/start", { conditions: asked, episode });
      const changed = JSON.stringify(asked) !== JSON.stringify(conditions);
      conditions = asked;
      complain(null);
      playback.begin(start);
      if (changed) meter.restart();
    } catch (error) {
      complain(error);
    }
  }

  /** Conditions that the server refuses leave the old ones in place, with a word on why. */
  function changeConditions() {
    const field = find("agents");
    if (!field.checkValidity()) { complain(new Error(`Agents: ${field.validationMessage}`)); return; }
    begin();
  }

  function showMeasured(result) {
    for (const metric of axes()) {
      const field = find(`measured-${metric.name}`);
      field.textContent = result ? say(metric, result.means[metric.name]) : "…";
      field.title = result ? `± ${say(metric, result.widths[metric.name])}` : "";
    }
    find("measured-episodes").textContent = result ? String(result.episodes) : "0";
    find("measured").dataset.done = String(Boolean(result && result.done));
    find("measured").dataset.multipliers = JSON.stringify(multipliers());
    if (front) front.measured(result && result.means);
  }

  function showFront() {
    find("front").toggleAttribute("hidden", !run.front);
    find("front-title").textContent = run.has_multipliers ? "Where this λ lies" : "Where this policy lies";
    chooseConstraint(find("constraint"), run.front, showFront);
    const constraint = Number(find("constraint").value) || 0;
    front = run.front ? drawFront(find("front"), run.front, { onPick: pickPoint, constraint }) : null;
    const dot = run.has_multipliers ? "Filled dot: this λ on the run's own sweep. " : "";
    find("front-note").textContent = run.front
      ? `${dot}Ring: measured now over 200 fixed starts, under the conditions on the left.`
      : `Not swept yet: cgcmarl sweep ${run.name}`;
    showMultipliers();
  }

  function pickPoint(score) {
    for (const [name, value] of Object.entries(run.has_multipliers ? score.multipliers : {})) {
      slider(name).value = sliderPlace(value);
      slider(name).dispatchEvent(new Event("input"));
    }
  }

  function showCurves() {
    find("curves-card").hidden = run.curves.length === 0;
    find("curves").replaceChildren(...run.curves.map((panel) => {
      const figure = document.createElement("figure");
      element("h3", panel.title, figure);
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("class", "chart");
      drawCurves(svg, panel);
      figure.append(svg);
      return figure;
    }));
  }

  function showRun() {
    const training = run.steps < run.total_steps;
    find("title").textContent = `${titled(run.task)}, trained with ${run.agents} agents`;
    find("title").title = run.summary;
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
    const next = () => { episode = (episode + 1) % STARTS; begin(); };
    on("play", "click", toggle);
    on("step", "click", () => playback.stepOnce());
    on("restart", "click", restart);
    on("next", "click", next);
    on("speed", "input", () => {
      playback.speed = Number(find("speed").value);
      find("speed").setAttribute("aria-valuetext", `${playback.speed} steps per second`);
    });
    on("agents", "change", changeConditions);
    on("beside", "change", () => { playback.setScreens(screens()); restart(); });
    for (const name of ["graph", "trails"]) on(name, "change", () => { playback.options[name] = find(name).checked; });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, button, summary")) return;
      const act = { " ": toggle, s: () => playback.stepOnce(), r: restart, n: next }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
    setInterval(() => { find("now-frames").textContent = playback.framesPerSecond().toFixed(0); }, 500);
  }

  /** The run, and whoever is chosen to play beside it. */
  function screens() {
    const beside = JSON.parse(find("beside").value || "null");
    find("second").hidden = beside === null;
    find("live").classList.toggle("two", beside !== null);
    const found = [new Screen("run", find("screen-run"), run.measures.metrics)];
    if (beside === null) return found;
    find("name-compare").textContent = find("beside").selectedOptions[0].textContent;
    return [...found, new Screen(beside, find("screen-compare"), run.measures.metrics)];
  }

  function connectServer() {
    const weights = () => Object.values(multipliers());
    const server = {
      step: (screen, step) => request("api/step", { policy: screen.side, conditions, multipliers: weights(), episode, step, snapshot: screen.now.snapshot }),
      show: (screen, moved) => request("api/show", { conditions, snapshot: screen.now.snapshot, moved }),
    };
    playback = new Playback(server, screens(), {
      say: tell,
      changed: showNow,
      failed: complain,
      ended: () => showNow(true),
      finished: () => { if (find("loop").checked) { episode = (episode + 1) % STARTS; begin(); } else playback.pause(); },
    });
    const measure = (first, episodes, signal) => request("api/measure", { conditions, multipliers: weights(), first, episodes }, signal)
      .catch((error) => { if (error.status === 503) return null; throw error; });
    meter = new Meter(measure, run.measures.metrics.map((metric) => metric.name), showMeasured);
  }

  async function open() {
    run = await request("api/run");
    build();
    find("name-run").textContent = run.has_multipliers ? "trained policy" : run.algorithm;
    connectServer();
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
