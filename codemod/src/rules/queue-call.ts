// What the rules about queues share.
import type { CallExpression, Node } from 'ts-morph';
import type { Rewriter } from '../rewrite/rewriter.js';
import { jobOptions } from './job-options.js';

/** A call of a queue; `queue` is its new text. */
export interface QueueCall {
  call: CallExpression;
  queue: string;
  arguments: Node[];
  /** The name of the queue, if it is known. */
  queueName: string | undefined;
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

/** Returns how often a job of a queue is tried if it does not say so. */
export function defaultAttempts(queue: string | undefined, r: Rewriter): string[] {
  const registered = r.app.defaultsOf(queue);
  if (registered) {
    const { parts, names } = jobOptions(registered, r, true);
    const ofAttempts = parts.filter((part) => OF_HANDLER.test(part));
    return names.has('attempts') ? ofAttempts : ['maxAttempts: 1', ...ofAttempts];
  }
  return r.app.rootDefaults?.getProperty('attempts') ? [] : ['maxAttempts: 1'];
}
