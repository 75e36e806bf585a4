// Checks I2 and I5 for the claims of a queue, before and after each call.
import type { MemoryQueue } from '#memory/state/memory-queue.js';

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

  constructor(private readonly violations: Set<string>) {}

  /** Returns the claimed jobs: only of these a call may change the token. */
  before(queue: MemoryQueue): Map<string, Seen> {
    return new Map(queue.claims.members().map((id) => [id, seen(queue, id)]));
  }

  after(queue: MemoryQueue, before: Map<string, Seen>, script: string, process: string): void {
    for (const id of new Set([...before.keys(), ...queue.claims.members()])) {
      const now = seen(queue, id);
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

function seen(queue: MemoryQueue, id: string): Seen {
  const job = queue.jobs.get(id);
  return {
    status: job?.status ?? '',
    token: job?.claim_token ?? '',
    fence: Number(job?.fence ?? 0),
    claimEnd: queue.claims.score(id),
  };
}
