import type { OutputStream } from './host-process.js';
import { count } from '../inspect/words.js';

const WIDTH = 24;
const EVERY_MS = 200;

/** A bar on the terminal for work that takes long. On a pipe, and with `--json`, there is none. */
export class Progress {
  constructor(
    private readonly stream: OutputStream,
    private readonly isSilent: boolean,
  ) {}

  /**
   * Shows a bar until the work is done.
   *
   * @param total the total number; undefined if it is unknown
   * @param done returns how many are done; its failure does not affect the work
   */
  async during<Reply>(
    work: Promise<Reply>,
    verb: string,
    total: number | undefined,
    done: () => number | Promise<number>,
  ): Promise<Reply> {
    if (this.isSilent || !this.stream.isTTY) {
      return work;
    }
    let isOver = false;
    const timer = setInterval(() => {
      Promise.resolve(done()).then(
        (value) => isOver || this.draw(verb, value, total),
        () => undefined, // the work itself reports the error
      );
    }, EVERY_MS);
    return work.finally(() => {
      isOver = true;
      clearInterval(timer);
      this.stream.write('\r\u001B[K');
    });
  }

  private draw(verb: string, done: number, total: number | undefined): void {
    const bar = total === undefined ? '' : `${barOf(done / Math.max(1, total))} `;
    const of = total === undefined ? '' : ` of ${count(total)}`;
    this.stream.write(`\r${bar}${verb} ${count(done)}${of}\u001B[K`);
  }
}

function barOf(share: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
  return '▮'.repeat(full) + '▯'.repeat(WIDTH - full);
}
