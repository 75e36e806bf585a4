// Checks that the workers of a fleet, which look in turn, find each job whose wake was lost. The bounds are those of
// docs/internals/architecture.md.
import type { TurnedWorker } from '../processes/turned-worker.js';
import { Since } from './since.js';
import type { SimulatedServer } from './simulated-server.js';

/** The time that the calls of a look and of its claim take, in ms. */
const CALLS_MS = 300;

/** Once each worker has the list of the live ones, the fleet looks each second. */
const LONGEST_MS = 1_000 + CALLS_MS;

/** Each worker looks once in ten turns at the latest, whatever it knows of the others. */
const LONGEST_ROUND_MS = 10_000 + CALLS_MS;

/** A dead worker is listed for 30 s. The others get the list each 20 s. */
const KNOWN_AFTER_MS = 52_000;

export class TurnCheck {
  private readonly waiting = new Since();
  private readonly up = new Since();
  private names = '';
  private changedAtMs = 0;

  constructor(
    private readonly server: SimulatedServer,
    private readonly workers: () => readonly TurnedWorker[],
  ) {}

  /** Looks at the queues after a step. Returns the jobs that wait for too long. */
  look(): string[] {
    const now = this.server.now();
    const up = this.workers().filter(({ isUp }) => isUp);
    const queues = this.server.queues.filter(({ name }) => name.startsWith('turned-'));
    const ids = new Set(queues.flatMap(({ pending }) => pending));
    this.waiting.keep(ids);
    ids.forEach((id) => this.waiting.note(id, true, now));
    this.up.keep(new Set(up.map(({ name }) => name)));
    up.forEach(({ name }) => this.up.note(name, true, now));
    const names = up.map(({ name }) => name).join(' ');
    if (names !== this.names) {
      [this.names, this.changedAtMs] = [names, now];
    }
    const upSince = Math.min(...up.map(({ name }) => this.up.of(name)));
    const isKnown = now - this.changedAtMs > KNOWN_AFTER_MS;
    return [...ids]
      .filter((id) => now - Math.max(this.waiting.of(id), upSince) > (isKnown ? LONGEST_MS : LONGEST_ROUND_MS))
      .map((id) => `turns: ${id} waits, and nobody of ${names} looks`);
  }
}
