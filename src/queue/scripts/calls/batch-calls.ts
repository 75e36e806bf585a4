import type {
  BatchMember,
  BatchMemberStatus,
  BatchNews,
  BatchPage,
  BatchRecord,
  EncodedBatch,
} from '../../model/batch.js';
import { parseJson } from '../../codec/parse-json.js';
import type { BatchVerbs, TendAnswer } from '../../store/verbs/batch-verbs.js';
import type { ScriptArgument, ScriptCall, ScriptName } from '../../transport/script-runner.js';
import { call } from '../script-call.js';
import type { QueueKeys } from '../queue-keys.js';

/** The most bytes of results of one call, beside its first. */
const MOST_BYTES = 1_048_576;

/** Builds the calls of `lua/batch`, one method per script, and decodes their replies; see the headers there. */
export class BatchCalls implements BatchVerbs {
  /** @param retention the retention arguments, which are the first of each script that ends jobs */
  constructor(
    private readonly keys: QueueKeys,
    private readonly retention: readonly ScriptArgument[],
  ) {}

  create({ id, failFast, resultTtlMs, followUps }: EncodedBatch): ScriptCall<'created' | 'exists'> {
    const each = followUps.flatMap(({ kind, name, payload, options }) => [kind, name, payload, options]);
    const args = [id, failFast ? '1' : '0', resultTtlMs, ...each];
    return this.call('batchCreate', args, (reply) => reply as 'created');
  }

  join(id: string, members: readonly string[]): ScriptCall<'joined' | 'stopped' | 'sealed' | 'no-batch'> {
    return this.call('batchJoin', [id, ...members], (reply) => reply as 'joined');
  }

  seal(id: string): ScriptCall<'sealed' | 'missing'> {
    return this.call('batchSeal', [id], (reply) => reply as 'sealed');
  }

  stop(id: string): ScriptCall<'stopped' | 'fired' | 'missing'> {
    return this.call('batchStop', [id], (reply) => reply as 'stopped');
  }

  status(id: string): ScriptCall<BatchRecord | null> {
    return this.call('batchStatus', [id], (reply) =>
      reply === null ? null : decodeBatch(this.keys.queue, id, reply as (string | number | null)[]),
    );
  }

  list(limit: number): ScriptCall<BatchRecord[]> {
    return this.call('batchList', [limit], (reply) =>
      (reply as [string, ...(string | number | null)[]][]).map(([id, ...fields]) =>
        decodeBatch(this.keys.queue, id, fields),
      ),
    );
  }

  results(id: string, offset: number, limit: number): ScriptCall<BatchPage> {
    return this.call('batchResults', [id, offset, limit, MOST_BYTES], (reply) => {
      const [beyond, ...pairs] = reply as [number, ...string[]];
      const members = pairsOf(pairs).map(([member, outcome]) => decodeMember(this.keys.queue, member, outcome));
      return Number(beyond) > 0 ? { members, next: offset + members.length } : { members };
    });
  }

  tend(limit: number, all: boolean): ScriptCall<TendAnswer | undefined> {
    return this.call('sweepTendBatches', [...this.retention, limit, all ? '1' : '0'], (reply) => {
      const [more, hasNews, ...toCancel] = (reply as [number, number, ...string[]] | null) ?? [0, 0];
      const answer = {
        more: Number(more) === 1,
        hasNews: Number(hasNews) === 1,
        toCancel: toCancel.map((member) => memberOf(this.keys.queue, member)),
      };
      return reply === null ? undefined : answer;
    });
  }

  news(limit: number): ScriptCall<BatchNews[]> {
    return this.call('batchOutbox', [limit, MOST_BYTES], (reply) =>
      pairsOf(reply as string[]).map(([place, text]) => decodeNews(place, text)),
    );
  }

  deliver(from: string, news: readonly BatchNews[]): ScriptCall<number> {
    const args = news.flatMap(({ batch, id, number, state, detail }) => [
      batch,
      `${from}|${id}`,
      number,
      state,
      detail,
    ]);
    return this.call('batchDeliver', args, Number);
  }

  acknowledge(news: readonly BatchNews[]): ScriptCall<number> {
    const args = news.flatMap(({ queue, batch, id, number }) => [`${queue}|${batch}|${id}`, number]);
    return this.call('batchAcknowledge', args, Number);
  }

  cancel(ids: readonly string[]): ScriptCall<void> {
    return this.call('batchCancel', [...this.retention, ...ids], () => undefined);
  }

  private call<Answer>(
    script: ScriptName,
    args: readonly ScriptArgument[],
    decode: (reply: unknown) => Answer,
  ): ScriptCall<Answer> {
    return call(script, this.keys.standard, args, decode);
  }
}

function pairsOf(flat: readonly string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!]);
}

/** A member of the batch's own queue is its id, one of another `queue|id`. */
function memberOf(queue: string, member: string): { queue: string; id: string } {
  const bar = member.indexOf('|');
  return bar < 0 ? { queue, id: member } : { queue: member.slice(0, bar), id: member.slice(bar + 1) };
}

function decodeMember(queue: string, member: string, outcome: string): BatchMember {
  const feed = outcome.indexOf('\n');
  const status = (feed < 0 ? 'open' : outcome.slice(0, feed)) as BatchMemberStatus;
  const detail = feed < 0 ? '' : outcome.slice(feed + 1);
  return {
    ...memberOf(queue, member),
    status,
    ...(status === 'completed' && detail !== '' && { result: parseJson(detail).value }),
    ...(status === 'failed' && { error: detail }),
  };
}

function decodeNews(place: string, text: string): BatchNews {
  const [queue, batch, ...id] = place.split('|');
  const [number, state, ...detail] = text.split('\n');
  return {
    queue: queue!,
    batch: batch!,
    id: id.join('|'),
    number: number!,
    state: state!,
    detail: detail.join('\n'),
  };
}

function decodeBatch(queue: string, id: string, reply: readonly (string | number | null)[]): BatchRecord {
  const [open, created, sealed, stopped, fired, ended, ...counts] = reply;
  const [total, completed, failed, cancelled, removed] = Array.from({ length: 5 }, (_, i) =>
    Number(counts[i] ?? 0),
  );
  return {
    id,
    queue,
    state: ended ? 'ended' : fired ? 'fired' : sealed ? 'sealed' : 'open',
    stopped: Boolean(stopped),
    total: total!,
    open: Number(open),
    completed: completed!,
    failed: failed!,
    cancelled: cancelled!,
    removed: removed!,
    createdAt: new Date(Number(created)),
    ...(sealed && { sealedAt: new Date(Number(sealed)) }),
    ...(fired && { firedAt: new Date(Number(fired)) }),
    ...(ended && { endedAt: new Date(Number(ended)) }),
  };
}
