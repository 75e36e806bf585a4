// Recurring jobs: the option `repeat`, and job schedulers.
import { Node } from 'ts-morph';
import { objectOf, textOf } from '../app/values.js';
import { pair, propertiesOf } from '../rewrite/properties.js';
import type { Rewriter } from '../rewrite/rewriter.js';
import { jobOptions } from './job-options.js';
import { defaultAttempts, type QueueCall } from './queue-call.js';

interface Added {
  name: Node | undefined;
  data: Node | undefined;
  options: Node | undefined;
}

const RECURRENCE: Record<string, string> = {
  pattern: 'cron',
  cron: 'cron',
  every: 'everyMs',
  tz: 'timeZone',
  limit: 'limit',
  startDate: 'startAt',
  endDate: 'endAt',
};

/** The options that the jobs of a schedule take. */
const OF_SCHEDULE = /^(backoff|maxAttempts|priority|resultTtlMs|timeoutMs)\b/;

/** Returns the schedule that an `add` with `repeat` makes: undefined without `repeat`, null if it has no counterpart. */
export function scheduleOf(of: QueueCall, { name, data, options }: Added, r: Rewriter): string | null | undefined {
  const object = objectOf(options);
  if (object === undefined || !object.getProperty('repeat')) return undefined;
  const { parts, repeat, id, names } = jobOptions(object, r);
  const recurrence = recurrenceOf(objectOf(repeat?.initializer), r);
  if (recurrence === undefined) return null;
  const own = parts.filter((part) => OF_SCHEDULE.test(part));
  const isKnown = names.has('attempts') || r.app.hasHandler(of.queueName);
  const rest = [
    ...(name ? [pair('name', r.text(name))] : []),
    ...(data ? [pair('payload', r.text(data))] : []),
    ...own,
    ...(isKnown ? [] : defaultAttempts(of.queueName, r)),
  ];
  const key = id ?? (name ? r.text(name) : `'default'`);
  return `${of.queue}.schedules.upsert(${key}, ${recurrence}, { ${rest.join(', ')} })`;
}

/** Converts `upsertJobScheduler(id, repeat, template)`. */
export function scheduleCall(of: QueueCall, r: Rewriter): string | undefined {
  const [id, repeat, template] = of.arguments;
  const recurrence = recurrenceOf(objectOf(repeat), r);
  if (!id || recurrence === undefined) return undefined;
  const parts: string[] = [];
  const object = objectOf(template);
  if (template && !object) return undefined;
  let isKnown = r.app.hasHandler(of.queueName);
  for (const { name, value, initializer } of object ? propertiesOf(object, r) : []) {
    if (name === 'opts') {
      const options = objectOf(initializer);
      if (options) {
        const converted = jobOptions(options, r);
        isKnown ||= converted.names.has('attempts');
        parts.push(...converted.parts);
      }
    } else parts.push(name === 'data' ? pair('payload', value) : pair(name, value));
  }
  if (!object?.getProperty('name')) parts.unshift(pair('name', r.text(id)));
  if (!isKnown) parts.push(...defaultAttempts(of.queueName, r));
  return `${of.queue}.schedules.upsert(${r.text(id)}, ${recurrence}, { ${parts.join(', ')} })`;
}

/** Returns when a schedule ticks; undefined if an option has no counterpart. */
function recurrenceOf(object: ReturnType<typeof objectOf>, r: Rewriter): string | undefined {
  if (object === undefined) return undefined;
  const parts: string[] = [];
  for (const { name, value, initializer, node } of propertiesOf(object, r)) {
    if (name === 'immediately') r.todo(node, '`immediately`: call `schedules.runNow` once', 'watch-out-for-these');
    else if (RECURRENCE[name] === undefined) return undefined;
    else parts.push(pair(RECURRENCE[name], isDate(name) ? dateOf(initializer, value) : value));
  }
  const isCron = object.getProperty('pattern') ?? object.getProperty('cron');
  if (isCron && !object.getProperty('tz'))
    r.dropped(object, 'the cron counts in UTC; add a `timeZone` if it is another');
  return `{ ${parts.join(', ')} }`;
}

const isDate = (name: string) => name === 'startDate' || name === 'endDate';

/** Returns a text of a date as a Date. */
function dateOf(initializer: Node | undefined, value: string): string {
  return textOf(initializer) === undefined ? value : `new Date(${value})`;
}
