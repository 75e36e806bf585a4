import type { QueueStats } from '../../queue/model/job.js';
import type { QueueView, VerdictView } from '../api/views.js';

/** A queue whose oldest job waits longer than this while little leaves is worth a look. */
const LONG_WAIT_MS = 60_000;

/** Says in words how a queue does. */
export function verdictOf(name: string, stats: QueueStats, rates: QueueView['rates']): VerdictView {
  const { pending, processing, workers, pausedAt, oldestPendingAgeMs } = stats;
  const waiting = `${count(pending)} waiting for ${age(oldestPendingAgeMs)}`;
  if (pausedAt) {
    return pending > 0
      ? { severity: 'warn', sentence: `\`${name}\` is paused: ${waiting}.`, remedy: 'Resume the queue.' }
      : { severity: 'idle', sentence: `\`${name}\` is paused.` };
  }
  if (pending > 0 && workers === 0) {
    return {
      severity: 'bad',
      sentence: `\`${name}\` is stuck: ${waiting}, no worker handles it.`,
      remedy: 'Start a worker, or look for a misspelled name.',
    };
  }
  if (stats.expiredClaims > 0 && oldestPendingAgeMs > LONG_WAIT_MS) {
    return {
      severity: 'bad',
      sentence: `\`${name}\` is stuck: ${count(stats.expiredClaims)} claims have expired and nobody takes them back.`,
      remedy: 'Look at the workers; one of them must run the sweep.',
    };
  }
  if (oldestPendingAgeMs > LONG_WAIT_MS && rates && rates.inPerS > rates.outPerS) {
    return {
      severity: 'warn',
      sentence: `\`${name}\` is falling behind: ${perS(rates.inPerS)} in, ${perS(rates.outPerS)} out, ${waiting}.`,
      remedy: 'Add workers or raise the concurrency.',
    };
  }
  return pending + processing === 0
    ? { severity: 'idle', sentence: `\`${name}\` is idle.` }
    : { severity: 'ok', sentence: `\`${name}\` flows.` };
}

/** One sentence for all queues: the worst of them, or that all do well. */
export function overallVerdict(queues: readonly QueueView[]): VerdictView {
  const of = (severity: VerdictView['severity']) => queues.filter(({ verdict }) => verdict.severity === severity);
  const worst = of('bad')[0] ?? of('warn')[0];
  const troubled = of('bad').length + of('warn').length;
  if (worst) {
    const more = troubled > 1 ? ` ${troubled - 1} more need a look.` : '';
    return { ...worst.verdict, sentence: worst.verdict.sentence + more };
  }
  if (queues.length === 0) {
    return {
      severity: 'idle',
      sentence: 'No queue yet.',
      remedy: 'A queue shows up once a handler is declared or a job enqueued.',
    };
  }
  const all = queues.length === 1 ? 'The queue' : `All ${queues.length} queues`;
  return of('ok').length > 0
    ? { severity: 'ok', sentence: `${all} ${queues.length === 1 ? 'flows' : 'flow'}.` }
    : { severity: 'idle', sentence: `${all} ${queues.length === 1 ? 'is' : 'are'} idle.` };
}

function count(n: number): string {
  return n.toLocaleString('en');
}

function perS(n: number): string {
  return `${n < 10 ? n.toFixed(1) : Math.round(n)}/s`;
}

function age(ms: number): string {
  const units: [number, string][] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ];
  const [size, unit] = units.find(([each]) => ms >= each) ?? [1, 'ms'];
  return `${Math.floor(ms / size)} ${unit}`;
}
