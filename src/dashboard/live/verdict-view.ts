import type { QueueVerdict } from '../../inspect/queue-signs.js';
import type { Remedy } from '../../inspect/rule.js';
import { outboxSentence, type OutboxVerdict } from '../../inspect/outbox-verdict.js';
import {
  type ServerVerdict,
  LOOK_AT_REDIS,
  NO_EVICTION,
  RAISE_MEMORY,
  USE_THE_MASTER,
} from '../../inspect/server-verdict.js';
import { GRANT, UPGRADE } from '../../inspect/unreadable.js';
import { worstOf } from '../../inspect/verdict.js';
import { asCommand, capitalised } from '../../inspect/words.js';
import type { QueueVerdictView, VerdictView } from '../views/views.js';

/** Returns the verdict on a queue, in the words of health and the command line. */
export function verdictView(verdict: QueueVerdict & { remedy?: Remedy }): VerdictView {
  const idle = verdict.state === 'idle' ? { isIdle: true as const } : {};
  const { queue, severity, state } = verdict;
  return { queue, severity, state, ...idle, sentence: sentenceOf(verdict), ...remedyOf(verdict, queue) };
}

/** Returns the next step in words, and where it is taken. */
function remedyOf(
  { next, remedy }: { next?: string; remedy?: Remedy },
  queue?: string,
): Pick<VerdictView, 'remedy' | 'remedyAt'> {
  const at = remedy ?? (next === undefined ? undefined : commandFor(next, queue));
  return next === undefined ? {} : { remedy: asSentence(next), ...(at && { remedyAt: at }) };
}

export function unreadableView(verdict: QueueVerdict, isOther: boolean): QueueVerdictView {
  return { name: verdict.queue, verdict: verdictView(verdict), ...(isOther && { isOther: true as const }) };
}

/** Returns the verdict on the outbox as a row of the table. */
export function outboxView(outbox: OutboxVerdict): VerdictView {
  return {
    severity: outbox.severity,
    sentence: asSentence(outboxSentence(outbox)),
    ...remedyOf(stepAtOutbox(outbox)),
  };
}

/** Returns a next step without the commands in it. The page of the outbox has a button for each. */
function stepAtOutbox({ next }: OutboxVerdict): { next?: string; remedy?: Remedy } {
  return next === undefined ? {} : { next: next.split(': `')[0]!, remedy: { at: 'outbox' } };
}

/** Returns the worse of two verdicts, that on Redis where both are as bad. */
export function worseFact(
  server: ServerVerdict | null,
  outbox: OutboxVerdict | null,
): (ServerVerdict & { remedy?: Remedy }) | null {
  if (!outbox || outbox.severity === 'ok' || (server && worstOf([server, outbox]) === server.severity)) {
    return server;
  }
  return { severity: outbox.severity, summary: capitalised(outboxSentence(outbox)), ...stepAtOutbox(outbox) };
}

/**
 * Returns one sentence for Redis and all queues: the worse verdict, or that on Redis where both are as bad. `more` counts the
 * queues that need a look beside it.
 */
export function overallVerdict(
  server: (ServerVerdict & { remedy?: Remedy }) | null,
  queues: readonly QueueVerdictView[],
): VerdictView {
  const ofQueues = queuesVerdict(queues);
  if (!server || server.severity === 'ok') {
    return ofQueues;
  }
  const { severity } = server;
  if (ofQueues.severity !== severity && worstOf([ofQueues, server]) === ofQueues.severity) {
    return ofQueues;
  }
  const more = queues.filter(({ verdict }) => needsALook(verdict)).length;
  return { severity, sentence: `${server.summary}.`, ...(more > 0 && { more }), ...remedyOf(server) };
}

/** Returns one sentence for all queues: the worst verdict, or how many are well and how many are held back. */
function queuesVerdict(queues: readonly QueueVerdictView[]): VerdictView {
  const of = (severity: VerdictView['severity']) => queues.filter(({ verdict }) => verdict.severity === severity);
  const worst = of('critical')[0] ?? of('warning')[0];
  if (worst) {
    const others = queues.filter(({ verdict }) => needsALook(verdict)).length - 1;
    return { ...worst.verdict, ...(others > 0 && { more: others }) };
  }
  const dying = queues.find(({ verdict }) => verdict.severity === 'notice' && leadsToDead(verdict));
  if (dying) {
    return dying.verdict;
  }
  if (queues.length === 0) {
    return {
      severity: 'ok',
      isIdle: true,
      sentence: 'No queue yet.',
      remedy: 'A queue shows up once a handler is declared or a job enqueued.',
      remedyAt: { at: 'command', command: asCommand('enqueue', 'email', '{"to":"ada@example.com"}') },
    };
  }
  const [held, well] = [of('notice'), of('ok')];
  return held[0] && queues.length === 1 ? held[0].verdict : calmVerdict(well, held.length);
}

/** Returns the sentence where no queue needs action. A pause or a limit holds some of them back. */
function calmVerdict(well: readonly QueueVerdictView[], held: number): VerdictView {
  const all = well.length + held;
  const flows = well.some(({ verdict }) => !verdict.isIdle);
  const verb = well.length === 1 ? (flows ? 'flows' : 'is idle') : flows ? 'flow' : 'are idle';
  if (held === 0) {
    const sentence = `${all === 1 ? 'The queue' : `All ${all} queues`} ${verb}.`;
    return { severity: 'ok', ...(!flows && { isIdle: true }), sentence };
  }
  const others = `${held} ${held === 1 ? 'is' : 'are'} held back.`;
  const sentence =
    well.length === 0 ? `All ${all} queues are held back.` : `${well.length} of ${all} queues ${verb}, ${others}`;
  return { severity: 'notice', sentence };
}

function needsALook({ severity }: VerdictView): boolean {
  return severity === 'critical' || severity === 'warning';
}

function leadsToDead({ remedyAt }: VerdictView): boolean {
  return remedyAt?.at === 'jobs' && remedyAt.state === 'failed';
}

function sentenceOf({ queue, summary }: QueueVerdict): string {
  return `\`${queue}\` is ${summary}.`;
}

function asSentence(words: string): string {
  return `${capitalised(words).replace(/\.$/, '')}.`;
}

/** The commands that help with a next step outside the queues. */
const COMMANDS: Readonly<Record<string, string>> = {
  [USE_THE_MASTER]: 'redis-cli INFO replication',
  [LOOK_AT_REDIS]: 'redis-cli INFO persistence',
  [NO_EVICTION]: 'redis-cli CONFIG SET maxmemory-policy noeviction',
  [RAISE_MEMORY]: 'redis-cli INFO memory',
  [UPGRADE]: 'npm install nest-job-queue@latest',
  [GRANT]: 'redis-cli ACL LIST',
};

/** A command in the words of a next step, in backticks. */
const NAMED = /`((?:npx )?nest-job-queue [^`]+|TYPE [^`]+)`/;

/** Returns the command that helps with the next step of Redis or an unreadable queue. */
function commandFor(next: string, queue = ''): Remedy | undefined {
  const command = COMMANDS[next] ?? NAMED.exec(next)?.[1];
  return command === undefined
    ? undefined
    : {
        at: 'command',
        command: command
          .replace(/^TYPE /, 'redis-cli TYPE ')
          .replace(/^nest-job-queue /, 'npx nest-job-queue ')
          .replace('<queue>', queue),
      };
}
