/**
 * Lets contestants act in turns of a fixed order, so that each has the same number of turns. It waits for a contestant
 * that has not asked yet, until that leaves.
 */
export class Turns {
  #order;
  #asked = new Map();
  #busy = false;

  constructor(order) {
    this.#order = [...order];
  }

  /** Resolves after the contestant's turn, in which it runs `use`. */
  take(contestant, use) {
    return new Promise((resolve, reject) => {
      this.#asked.set(contestant, () => use().then(resolve, reject));
      this.#next();
    });
  }

  leave(contestant) {
    this.#order = this.#order.filter((id) => id !== contestant);
    this.#next();
  }

  #next() {
    const [contestant] = this.#order;
    const turn = this.#asked.get(contestant);
    if (this.#busy || !turn) return;
    this.#busy = true;
    this.#asked.delete(contestant);
    this.#order.push(this.#order.shift());
    turn().then(() => {
      this.#busy = false;
      this.#next();
    });
  }
}
