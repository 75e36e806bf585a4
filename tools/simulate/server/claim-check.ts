// Checks I2 and I5 for the claims of a queue, before and after each call.
import type { QueueView } from '#memory/server/observed-server.js';

interface Seen {
  status: string;
  token: string;
  fence: number;
  claimEnd: number | undefined;
}

/** Calls by which a process ends one of its own claims. */
const ENDS_OWN = new Set(['attemptComplete', 'attemptFail', 'attemptRelease']);

export class ClaimCheck {
  /** The tokens that each process was handed. */
  private readonly tokens = new Map<string, string>();
  /** The claims of each queue after the last call. */
  private readonly known = new WeakMap<QueueView, Map<string, Seen>>();

  constructor(private readonly violations: Set<string>) {}

  /**
   * Returns the claimed jobs: only of these a call may change the token.
   *
   * @param isUnchanged whether no command ran since the last call
   */
  before(queue: QueueView, isUnchanged: boolean): Map<string, Seen> {
    const known = isUnchanged ? this.known.get(queue) : undefined;
    return known ?? new Map(queue.claims.members().map((id) => [id, seen(queue, id)]));
  }

  after(queue: QueueView, before: ReadonlyMap<string, Seen>, script: string, process: string): void {
    const claimed = new Map(queue.claims.members().map((id) => [id, seen(queue, id)]));
    this.known.set(queue, claimed);
    for (const id of new Set([...before.keys(), ...claimed.keys()])) {
      const now = claimed.get(id) ?? seen(queue, id);
      const was = before.get(id) ?? { status: '', token: '', fence: 0, claimEnd: undefined };
      if (now.fence < was.fence && now.status !== '') {
        this.violations.add(`I2: the fence of ${id} went back in ${script}`);
      }
      if (now.token === was.token) {
        continue;
      }
      if (was.token === '' || script === 'attemptClaim') {
        this.tokens.set(`${id} ${now.token}`, process);
        if (script !== 'attemptClaim') {
          this.violations.add(`I2: ${script} gave ${id} a token`);
        }
      } else if (ENDS_OWN.has(script)) {
        if (this.tokens.get(`${id} ${was.token}`) !== process) {
          this.violations.add(`I2: ${script} of ${process} ended a claim of another on ${id}`);
        }
      } else if (script === 'sweepReclaim') {
        if (was.claimEnd === undefined || was.claimEnd > queue.now) {
          this.violations.add(
            `I5: the claim of ${id} was reclaimed ${was.claimEnd! - queue.now} ms before its end`,
          );
        }
      } else {
        this.violations.add(`I2: ${script} ended the claim of ${id}`);
      }
    }
  }
}

function seen(queue: QueueView, id: string): Seen {
  return {
    status: queue.jobField(id, 'status') ?? '',
    token: queue.jobField(id, 'claim_token') ?? '',
    fence: Number(queue.jobField(id, 'fence') ?? 0),
    claimEnd: queue.claims.score(id),
  };
}
