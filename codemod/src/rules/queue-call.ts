// What the rules about queues share.
import { Node, type CallExpression, type ObjectLiteralExpression } from 'ts-morph';
import { presenceIn, settingIn } from '../app/queues.js';
import { isPortable, numberOf } from '../app/values.js';
import type { Rewriter } from '../rewrite/rewriter.js';
import { jobOptions, partsOf } from './job-options.js';

/** A call of a queue. */
export interface QueueCall {
  call: CallExpression;
  /** The new text of the queue. */
  queue: string;
  /** What stands between the queue and its member, `?.` if there may be no queue. */
  dot: '.' | '?.';
  arguments: Node[];
  /** The keys of the queues that it may be; undefined if they are unknown. */
  keys: readonly string[] | undefined;
}

/** The states by their old names. */
export const STATES: Record<string, string> = {
  wait: 'pending',
  waiting: 'pending',
  prioritized: 'pending',
  delayed: 'scheduled',
  active: 'processing',
  completed: 'completed',
  failed: 'failed',
};

/** The default job options that a handler takes over. */
export const OF_HANDLER = /^(maxAttempts|backoff|resultTtlMs|timeoutMs)\b/;

const ONCE = 'maxAttempts: 1';
const UNKNOWN_DEFAULTS =
  'the default options of this queue are not known here: if they have `attempts` or a `backoff`, set these';

/** Returns how often a handler tries a job that does not say so. The module has the defaults of the module. */
export function handlerDefaults(key: string, at: Node, r: Rewriter): string[] {
  const own = r.app.queues.ownDefaultsOf(key);
  if (own !== undefined && typeof own !== 'string') return handlerParts(own, r);
  const root = own === 'unknown' ? 'unknown' : r.app.queues.rootDefaults();
  if (root === 'none') return [ONCE];
  if (typeof root === 'string') {
    r.todo(at, UNKNOWN_DEFAULTS, 'the-codemod');
    return [ONCE];
  }
  return root.getProperty('attempts') ? [] : [ONCE];
}

/** Returns the options of a handler from default options of jobs. */
function handlerParts(object: ObjectLiteralExpression, r: Rewriter): string[] {
  if (!isPortable(object)) return object.getProperty('attempts') ? [] : [ONCE];
  const options = jobOptions(object, { keys: undefined, defaults: 'none', at: object, isQuiet: true }, r);
  const parts = partsOf(options).filter((part) => OF_HANDLER.test(part));
  return options.names.has('attempts') ? parts : [ONCE, ...parts];
}

/** Options that an enqueue says beside its own: those in front may be replaced by its own. */
export interface Beside {
  first: string[];
  last: string[];
}

/** Returns the default options that an enqueue repeats, because no handler of this app has them. */
export function producerDefaults(
  of: Pick<QueueCall, 'call' | 'keys'>,
  options: Node | undefined,
  r: Rewriter,
): Beside {
  const nothing: Beside = { first: [], last: [] };
  if (r.app.queues.hasHandler(of.keys)) return nothing;
  const attempts = presenceIn('attempts', options);
  const defaults = r.app.queues.defaultsOf(of.keys);
  const isReadable = defaults === 'none' || (defaults !== 'unknown' && isPortable(defaults));
  if (!isReadable) {
    if (attempts === 'present') return nothing;
    r.todo(of.call, UNKNOWN_DEFAULTS, 'the-codemod');
    return { first: attempts === 'maybe' ? [ONCE] : [], last: attempts === 'absent' ? [ONCE] : [] };
  }
  const parts = defaults === 'none' ? [ONCE] : handlerParts(defaults, r);
  const own = settingIn('attempts', options);
  const isOnce = typeof own !== 'string' && numberOf(own) === 1;
  const needed = parts.filter((part) => !isOnce || !part.startsWith('backoff'));
  const given = needed.map((part) => [part, presenceIn(OLD[/^\w+/.exec(part)![0]]!, options)] as const);
  const ofState = (state: 'absent' | 'maybe') => given.flatMap(([part, found]) => (found === state ? [part] : []));
  return { first: ofState('maybe'), last: ofState('absent') };
}

const OLD: Record<string, string> = {
  maxAttempts: 'attempts',
  backoff: 'backoff',
  resultTtlMs: 'removeOnComplete',
  timeoutMs: 'timeout',
};
