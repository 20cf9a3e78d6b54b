// Measures the policy at the sliders' multipliers over fixed start states, a few episodes at a time.
"use strict";
(() => {
  const EPISODES = 200;
  const AT_ONCE = 25;
  const SETTLE = 350;

  const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

  /** Half the width of a 95 % interval of the mean. */
  function halfWidth(numbers) {
    if (numbers.length < 2) return 1;
    const middle = mean(numbers);
    const variance = numbers.reduce((sum, x) => sum + (x - middle) ** 2, 0) / (numbers.length - 1);
    return 1.96 * Math.sqrt(variance / numbers.length);
  }

  /** Means and half widths of every metric, by name. */
  function summary(names, scores) {
    const columns = names.map((name, index) => [name, scores.map((score) => score[index])]);
    return {
      episodes: scores.length, done: scores.length >= EPISODES,
      means: Object.fromEntries(columns.map(([name, column]) => [name, mean(column)])),
      widths: Object.fromEntries(columns.map(([name, column]) => [name, halfWidth(column)])),
    };
  }

  /** Waits until the sliders rest, then measures until enough episodes are in or one moves again. */
  class Meter {
    constructor(ask, names, show) { Object.assign(this, { ask, names, show, turn: 0, asked: new AbortController() }); }

    restart() {
      const turn = ++this.turn;
      // The server stops computing what nobody wants to know any more.
      this.asked.abort();
      this.asked = new AbortController();
      this.show(null);
      setTimeout(() => { if (turn === this.turn) this.run(turn).catch(() => {}); }, SETTLE);
    }

    async run(turn) {
      const scores = [];
      while (scores.length < EPISODES && turn === this.turn) {
        const episodes = Math.min(AT_ONCE, EPISODES - scores.length);
        const answer = await this.ask(scores.length, episodes, this.asked.signal);
        if (turn !== this.turn) return;
        if (answer === null) { await new Promise((done) => setTimeout(done, 300)); continue; }
        scores.push(...answer.episodes);
        this.show(summary(this.names, scores));
      }
    }
  }

  Object.assign(window.cgcmarl, { Meter });
})();
