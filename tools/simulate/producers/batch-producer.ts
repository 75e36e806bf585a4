// A producer of batches with follow-ups, their members in groups. Some batches stop with their first bad end, or are
// cancelled.
import { SimulatedProcess } from '../processes/process.js';
import { FAILING, MOST_ATTEMPTS } from '../release.js';

export const GROUPS = ['a', 'b', 'c'] as const;

/** A follow-up in another queue. */
const ELSEWHERE = { queue: 'mixed', maxAttempts: 3, resultTtlMs: 1 } as const;

const elsewhereId = (batch: string) => `@batch-of:limited ${batch}:finally`;

interface Member {
  payload: number | string;
  id: string;
  group: string;
  delayMs?: number;
}

export class BatchProducer extends SimulatedProcess {
  protected override async work(): Promise<void> {
    const { random, history, parts } = this.world;
    for (let count = 0; !this.world.isEnding; count++) {
      const id = `${this.name}-${count}`;
      const members = this.members(id);
      for (const member of members) {
        const { payload, group, delayMs } = member;
        const inOrder = delayMs === undefined && !parts.has('batches') && !this.world.isOfLimits(group);
        const isFinal = payload === FAILING;
        history.sent(member.id, 'limited', MOST_ATTEMPTS, { isFinal, ...(inOrder && { group }) });
      }
      history.follow.batch(
        id,
        members.map((member) => member.id),
        parts.has('batches'),
      );
      if (parts.has('elsewhere')) {
        // It may be forgotten at once. So only its mark keeps a second one away.
        history.sent(elsewhereId(id), 'mixed', ELSEWHERE.maxAttempts, { hasOwnLimit: true, removed: true });
      }
      await this.untilAnswered(() => this.enqueue(id, members));
      members.forEach((member) => history.acknowledged(member.id));
      history.follow.sealed(id);
      await this.sleep(random.between(1, parts.has('limits') ? 2_000 : 1_000));
    }
  }

  private members(id: string): Member[] {
    const { random, parts } = this.world;
    const isVaried = parts.has('batches');
    return Array.from({ length: random.between(0, 3) }, (_, i) => ({
      payload: isVaried && random.chance(0.2) ? FAILING : i,
      id: `${id}-${i}`,
      group: random.pick(GROUPS),
      ...(isVaried && random.chance(0.3) && { delayMs: random.between(1, 5_000) }),
    }));
  }

  /** Enqueues a batch. All jobs have their own ids, so a repeat adds none twice. */
  private async enqueue(id: string, members: readonly Member[]): Promise<void> {
    const { random, history, parts } = this.world;
    const isVaried = parts.has('batches');
    const name = 'limited';
    const last = parts.has('elsewhere') ? ELSEWHERE : { name };
    const followUps = { ...(isVaried && { then: { name }, onFailure: { name } }), finally: last };
    const batch = this.queues.limited.batch({ id, ...followUps, failFast: isVaried && random.chance(0.5) });
    await batch.addMany(name, members);
    if (isVaried && random.chance(0.1)) {
      history.follow.cancels(id);
      await batch.cancel();
    }
    await batch.seal();
  }
}
