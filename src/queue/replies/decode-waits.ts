import type { JobSignal, JobWait, WaitReply, WaitState } from '../model/signal.js';
import { UnexpectedReply } from '../store/unexpected-reply.js';
import { listOf, textOf, wholeNumberOf } from './check-reply.js';
import { decodeKnownDate } from './decode-date.js';

/** Decodes the reply of `lua/attempt/wait.lua`. */
export function decodeWaitReply(reply: unknown): WaitReply {
  const [is, detail] = listOf(reply);
  switch (is) {
    case 'lost':
    case 'waits':
    case 'over':
      return { is };
    case 'answered':
      return { is, data: textOf(detail) };
    case 'open':
      return { is, leftMs: detail === '' ? undefined : wholeNumberOf(detail) };
    default:
      throw new UnexpectedReply('lost, waits, over, answered or open', is);
  }
}

/** Decodes the waits of a job's hash. */
export function decodeWaits(text: string): JobWait[] {
  return linesOf(text).map(([name = '', kind, since, until, state = '']) => ({
    name,
    kind: kind === 'sleep' ? kind : 'signal',
    since: decodeKnownDate(since),
    ...(until && { until: decodeKnownDate(until) }),
    state: stateOf(state),
  }));
}

/** Returns the state of a wait. The scripts take any other text as an end without a signal. */
function stateOf(stored: string): WaitState {
  return stored === '' ? 'open' : stored === 'answered' ? stored : 'over';
}

/** Decodes the signals of a job's hash, without their data. */
export function decodeSignals(text: string): JobSignal[] {
  return linesOf(text).map(([name = '', at]) => ({ name, at: decodeKnownDate(at) }));
}

function linesOf(text: string): string[][] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'));
}
