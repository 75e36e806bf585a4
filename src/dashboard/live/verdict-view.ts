import { READ_DEAD_LETTERS } from '../../inspect/flow-rules.js';
import { LOOK_AT_GROUPS } from '../../inspect/limit-rules.js';
import type { QueueVerdict } from '../../inspect/queue-signs.js';
import { worstFirst, worstOf } from '../../inspect/verdict.js';
import { outboxSentence, type OutboxVerdict } from '../../inspect/servers/outbox-verdict.js';
import type { ServerVerdict } from '../../inspect/servers/server-verdict.js';
import type { QueueVerdictView, QueueView, VerdictView } from '../views/views.js';

/** The views of a queue in which a next step is taken. */
const REMEDY_VIEWS: ReadonlyMap<string, NonNullable<VerdictView['remedyView']>> = new Map([
  [LOOK_AT_GROUPS, 'groups'],
  [READ_DEAD_LETTERS, 'failed'],
]);

/** Returns the verdict on a queue, in the words of health and the command line. */
export function verdictView(verdict: QueueVerdict): VerdictView {
  const remedy = verdict.next === undefined ? {} : { remedy: asSentence(verdict.next) };
  const view = verdict.next === undefined ? undefined : REMEDY_VIEWS.get(verdict.next);
  const idle = verdict.state === 'idle' ? { isIdle: true as const } : {};
  const { severity, state } = verdict;
  return { severity, state, ...idle, sentence: sentenceOf(verdict), ...remedy, ...(view && { remedyView: view }) };
}

/** Returns the view of an unreadable queue. */
export function unreadableView(verdict: QueueVerdict, isOther: boolean): QueueVerdictView {
  return { name: verdict.queue, verdict: verdictView(verdict), ...(isOther && { isOther: true as const }) };
}

/** Returns the worse of two verdicts, that on Redis where both are as bad. */
export function worseFact(server: ServerVerdict | null, outbox: OutboxVerdict | null): ServerVerdict | null {
  if (!outbox || outbox.severity === 'ok' || (server && worstOf([server, outbox]) === server.severity)) {
    return server;
  }
  const words = outboxSentence(outbox);
  return { ...outbox, summary: words.slice(0, 1).toUpperCase() + words.slice(1) };
}

/** Returns one sentence for Redis and all queues: the worse verdict, or that on Redis where both are as bad. */
export function overallVerdict(server: ServerVerdict | null, queues: readonly QueueVerdictView[]): VerdictView {
  const ofQueues = queuesVerdict(queues);
  if (!server || server.severity === 'ok') {
    return ofQueues;
  }
  const { severity } = server;
  if (ofQueues.severity !== severity && worstOf([ofQueues, server]) === ofQueues.severity) {
    return ofQueues;
  }
  const remedy = server.next === undefined ? {} : { remedy: asSentence(server.next) };
  return { severity, sentence: `${server.summary}.`, ...remedy };
}

/** Returns one sentence for all queues: the worst verdict, or that all are well. */
function queuesVerdict(queues: readonly QueueVerdictView[]): VerdictView {
  const of = (severity: VerdictView['severity']) => queues.filter(({ verdict }) => verdict.severity === severity);
  const worst = of('critical')[0] ?? of('warning')[0];
  if (worst) {
    const others = of('critical').length + of('warning').length - 1;
    return { ...worst.verdict, ...(others > 0 && { more: others }) };
  }
  const dying = queues.find(({ verdict }) => verdict.severity === 'notice' && verdict.remedyView === 'failed');
  if (dying) {
    return dying.verdict;
  }
  if (queues.length === 0) {
    return {
      severity: 'ok',
      isIdle: true,
      sentence: 'No queue yet.',
      remedy: 'A queue shows up once a handler is declared or a job enqueued.',
    };
  }
  const flows = of('ok').some(({ verdict }) => !verdict.isIdle);
  const all = queues.length === 1 ? 'The queue' : `All ${queues.length} queues`;
  const verb = queues.length === 1 ? (flows ? 'flows' : 'is idle') : flows ? 'flow' : 'are idle';
  return { severity: 'ok', ...(!flows && { isIdle: true }), sentence: `${all} ${verb}.` };
}

/** Compares two queues: the worse verdict first, then where more jobs wait for longer, then by name. */
export function worstQueueFirst(a: QueueView, b: QueueView): number {
  return (
    worstFirst(a.verdict, b.verdict) ||
    Number(a.isOther ?? false) - Number(b.isOther ?? false) ||
    backlogOf(b) - backlogOf(a) ||
    a.name.localeCompare(b.name)
  );
}

/** Returns the size of a backlog in coarse steps, so that rows stand still while figures change. */
function backlogOf({ verdict, depths, oldestPendingAgeMs }: QueueView): number {
  return verdict.severity === 'ok'
    ? 0
    : Math.floor(Math.log2(1 + depths.pending * (oldestPendingAgeMs / 1_000)) / 3);
}

function sentenceOf({ queue, summary }: QueueVerdict): string {
  return `\`${queue}\` is ${summary}.`;
}

function asSentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}
