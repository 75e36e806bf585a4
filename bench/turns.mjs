/**
 * Lets the contestants that stand side by side do something one after the other, in the order in which they asked. Who asks
 * again as soon as its turn is over has the next one when each other has had its own.
 */
export class Turns {
  #last = Promise.resolve();

  take(use) {
    const turn = this.#last.then(use);
    this.#last = turn.catch(() => {}); // its caller hears of it, not who comes next
    return turn;
  }

  /** Resolves when each contestant has had the turns that it asked for by now. */
  others() {
    return this.take(() => {});
  }
}
