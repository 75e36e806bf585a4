/**
 * Lets contestants that stand side by side do something one after the other, always in the same order, so that each has as many
 * turns as the others. Who has not asked yet is waited for, until it leaves.
 */
export class Turns {
  #order;
  #asked = new Map();
  #busy = false;

  constructor(order) {
    this.#order = [...order];
  }

  /** Resolves when the contestant has had its turn, in which it does `use`. */
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
