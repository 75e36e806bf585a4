// The clock of the simulated server. It jumps ahead and back, as that of a virtual machine until NTP corrects it.
import type { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Random } from '../../chaos/random.js';

const MINUTE = 60_000;
const HOUR = 3_600_000;

export class ServerClock {
  /** The number of jumps to a wrong time. */
  jumps = 0;
  private aheadMs = 0;

  /** @param jumped called after each jump, with the new time of the server */
  constructor(
    private readonly world: VirtualClock,
    private readonly random: Random,
    private readonly jumped: (nowMs: number) => void,
  ) {}

  now = (): number => this.world.now() + this.aheadMs;

  /** Jumps to a wrong time. A shorter jump than a sweep's gap would let claims expire, which no server can tell. */
  jump(): void {
    const { random } = this;
    this.jumps++;
    const ms = random.between(2 * MINUTE, 2 * HOUR);
    this.moveTo(random.chance(0.6) ? ms : -ms);
  }

  correct(): void {
    this.moveTo(0);
  }

  private moveTo(aheadMs: number): void {
    if (aheadMs !== this.aheadMs) {
      this.aheadMs = aheadMs;
      this.jumped(this.now());
    }
  }
}
