// Recurring jobs: the option `repeat`, and job schedulers.
import { Node } from 'ts-morph';
import { objectOf, propertyValue, textOf, unwrapped } from '../app/values.js';
import { edited, objectText, pair, propertiesOf } from '../rewrite/properties.js';
import { REMOVED, type Rewriter } from '../rewrite/rewriter.js';
import { jobOptions, partsOf, type JobOptions } from './job-options.js';
import { producerDefaults, type QueueCall } from './queue-call.js';

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
  const object = options && unwrapped(options);
  const isLiteral = Node.isObjectLiteralExpression(object);
  const repeated = objectOf(options)?.getProperty('repeat');
  if (repeated === undefined) return undefined;
  const recurrence = isLiteral ? recurrenceOf(propertyValue(object, 'repeat'), r) : undefined;
  if (!isLiteral || recurrence === undefined || isUsed(of.call)) return null;
  const converted = jobOptions(object, placeOf(of, r), r);
  const beside = producerDefaults(of, object, r);
  const key = converted.id ?? (name ? r.text(name) : `'default'`);
  const rest = [
    ...(name ? [pair('name', r.text(name))] : []),
    ...(data ? [pair('payload', r.text(data))] : []),
    ...beside.first,
    ...scheduled(converted),
    ...beside.last,
  ];
  return `${of.queue}${of.dot}schedules.upsert(${key}, ${recurrence}, ${objectText(rest)})`;
}

const placeOf = (of: QueueCall, r: Rewriter) => ({
  keys: of.keys,
  defaults: r.app.queues.defaultsOf(of.keys),
  at: of.call,
});

function scheduled(options: JobOptions): string[] {
  return partsOf(options).filter((part) => OF_SCHEDULE.test(part) || part.startsWith('...'));
}

/** Returns true if something uses the job that a call makes. A schedule has none yet. */
export function isUsed(call: Node): boolean {
  const awaited = call.getParent();
  const outer = Node.isAwaitExpression(awaited) ? awaited : call;
  return !Node.isExpressionStatement(outer.getParent()) && !Node.isVoidExpression(outer.getParent());
}

/** Converts `upsertJobScheduler(id, repeat, template)`. */
export function scheduleCall(of: QueueCall, r: Rewriter): string | undefined {
  const [id, repeat, template] = of.arguments;
  const recurrence = recurrenceOf(repeat, r);
  if (!id || recurrence === undefined || isUsed(of.call)) return undefined;
  const object = template && unwrapped(template);
  if (object && !Node.isObjectLiteralExpression(object)) return undefined;
  const parts: string[] = [];
  const beside = producerDefaults(of, propertyValue(objectOf(object), 'opts'), r);
  for (const { name, value, initializer } of object ? propertiesOf(object, r) : []) {
    if (name !== 'opts') parts.push(name === 'data' ? pair('payload', value) : pair(name, value));
    const options = name === 'opts' && initializer ? unwrapped(initializer) : undefined;
    if (name === 'opts' && !Node.isObjectLiteralExpression(options)) return undefined;
    if (Node.isObjectLiteralExpression(options)) {
      parts.push(...beside.first, ...scheduled(jobOptions(options, placeOf(of, r), r)));
    }
  }
  if (!object?.getProperty('name')) parts.unshift(pair('name', r.text(id)));
  parts.push(...beside.last);
  return `${of.queue}${of.dot}schedules.upsert(${r.text(id)}, ${recurrence}, ${objectText(parts)})`;
}

/** Returns when a schedule ticks; undefined if an option has no counterpart. */
function recurrenceOf(given: Node | undefined, r: Rewriter): string | undefined {
  const object = given && unwrapped(given);
  if (!Node.isObjectLiteralExpression(object)) return undefined;
  const texts = new Map<Node, string>();
  for (const { name, value, initializer, node } of propertiesOf(object, r)) {
    if (name === 'immediately') {
      r.todo(object, '`immediately`: call `schedules.runNow` once', 'watch-out-for-these');
      texts.set(node, REMOVED);
    } else if (RECURRENCE[name] === undefined) return undefined;
    else texts.set(node, pair(RECURRENCE[name], isDate(name) ? dateOf(initializer, value) : value));
  }
  const cron = propertyValue(object, 'pattern') ?? propertyValue(object, 'cron');
  if (cron && !object.getProperty('tz') && !isSameInAllZones(textOf(cron))) {
    r.todo(
      object,
      'a cron counts in UTC here, and in the time zone of the process there: set `timeZone`',
      'watch-out-for-these',
    );
  }
  return edited(object, r, texts);
}

/** Returns true for a cron that ticks at the same instants in all time zones of whole hours. */
function isSameInAllZones(cron: string | undefined): boolean {
  const hours = cron?.trim().split(/\s+/).slice(-4) ?? [];
  return hours.length === 4 && hours.every((each) => each === '*');
}

const isDate = (name: string) => name === 'startDate' || name === 'endDate';

/** Returns a text of a date as a Date. */
function dateOf(initializer: Node | undefined, value: string): string {
  return textOf(initializer) === undefined ? value : `new Date(${value})`;
}
