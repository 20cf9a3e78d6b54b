// Measures the policy at the slider's multiplier over fixed start states, a few episodes at a time.
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

  /** Waits until the slider rests, then measures until enough episodes are in or it moves again. */
  class Meter {
    constructor(ask, show) { Object.assign(this, { ask, show, turn: 0, asked: new AbortController() }); }

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
        const [coverage, collisions] = [0, 1].map((column) => scores.map((score) => score[column]));
        this.show({
          episodes: scores.length, done: scores.length >= EPISODES,
          coverage: mean(coverage), coverageWidth: halfWidth(coverage),
          collisions: mean(collisions), collisionsWidth: halfWidth(collisions),
        });
      }
    }
  }

  Object.assign(window.cgcmarl, { Meter });
})();
