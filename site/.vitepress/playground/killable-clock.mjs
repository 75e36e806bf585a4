// The clock of one worker in the playground. When it is killed, none of its tasks runs any more, as after a SIGKILL.
export class KillableClock {
  #dead = false;
  #timers = new Set();

  now = () => Date.now();
  monotonic = () => performance.now();
  random = () => Math.random();

  constructor(randomId) {
    this.randomId = randomId;
  }

  get isDead() {
    return this.#dead;
  }

  soon(task) {
    void Promise.resolve().then(() => this.#run(task));
  }

  afterReads(task) {
    this.setTimeout(task, 0);
  }

  setTimeout(task, ms) {
    const timer = { unref: () => timer };
    timer.end = () => clearTimeout(id);
    const id = setTimeout(() => {
      this.#timers.delete(timer);
      this.#run(task);
    }, ms);
    this.#timers.add(timer);
    return timer;
  }

  setInterval(task, ms) {
    const timer = { unref: () => timer };
    const id = setInterval(() => this.#run(task), ms);
    timer.end = () => clearInterval(id);
    this.#timers.add(timer);
    return timer;
  }

  clear(timer) {
    timer?.end();
    this.#timers.delete(timer);
  }

  kill() {
    this.#dead = true;
    for (const timer of this.#timers) timer.end();
    this.#timers.clear();
  }

  #run(task) {
    if (!this.#dead) task();
  }
}
