// Calls of a queue.
import { Node, SyntaxKind, type CallExpression, type PropertyAccessExpression } from 'ts-morph';
import { kindOf } from '../app/kinds.js';
import { optionExpressions } from '../app/option-sources.js';
import { isNamed } from '../app/queues.js';
import { numberOf, propertyValue, textOf, unwrapped } from '../app/values.js';
import { edited, objectText, pair, propertiesOf, separatorOf } from '../rewrite/properties.js';
import { REMOVED, type Rewriter, type Rule } from '../rewrite/rewriter.js';
import { jobOptions, partsOf, spreadOf, type OptionPlace } from './job-options.js';
import { STATES, producerDefaults, type QueueCall } from './queue-call.js';
import { isIgnored, reads, withoutValue } from './results.js';
import { scheduleCall, scheduleOf } from './schedules.js';

/** The largest page of a list. Without a range BullMQ lists all jobs, and a list here the first 50. */
const MOST = 1_000;
const LARGEST_PAGE = 'limit: 1_000';

/** Returns the new text of a call; undefined if it has no counterpart, or what it needs is not known. */
type Converter = (of: QueueCall, r: Rewriter) => string | undefined;

const member = (of: QueueCall, text: string): string => `${of.queue}${of.dot}${text}`;

const listed =
  (status: string): Converter =>
  (of, r) => {
    const [start, end] = of.arguments;
    return list(of, status, page(of, start, end, r), r);
  };

/** Returns the list of a state. */
function list(of: QueueCall, status: string, options: string, r: Rewriter): string {
  const types = reads(of.call, /^(?!id$|length$|name$)/, r) ? '<any, any>' : '';
  return member(of, `list${types}('${status}', ${options})`);
}

/** Converts `getJobSchedulers(start, end)` and its older form. */
const schedules: Converter = (of, r) => {
  const [start, end] = of.arguments;
  const offset = offsetOf(start, r);
  return member(of, `schedules.list(${rangeText(offset, limitOf(offset, end, r))})`);
};

/** Reads a figure of the statistics. */
const figure =
  (read: (stats: string) => string, name = 'stats'): Converter =>
  (of) => {
    const isSimple = !/\bstats\b.*\bstats\b/.test(read('stats'));
    const isAwaited = Node.isAwaitExpression(of.call.getParent()) && of.dot === '.' && isSimple;
    return isAwaited
      ? read(`${AWAITED}${of.queue}.stats())`)
      : member(of, `stats().then((${name}) => ${read(name)})`);
  };

/** Begins a text that has the `await` inside. */
const AWAITED = '\u0000await ';

const counted = (status: string): Converter => figure((stats) => `${stats}.${status}`);

const simple =
  (text: string): Converter =>
  (of) =>
    of.arguments.length === 0 ? withoutValue(of.call, member(of, text)) : undefined;

const ready: Converter = (of) => member(of, 'stats()');

const CALLS: Record<string, Converter> = {
  add,
  addBulk,
  upsertJobScheduler: scheduleCall,
  removeJobScheduler: (of, r) => ignored(of, `schedules.remove(${argument(of, 0, r)})`),
  getJobSchedulers: schedules,
  getRepeatableJobs: schedules,
  removeRepeatableByKey: (of, r) => {
    const [key] = of.arguments;
    const isKey =
      Node.isPropertyAccessExpression(key) && key.getName() === 'key' && kindOf(key.getExpression()) === 'schedule';
    return isKey ? ignored(of, `schedules.remove(${r.text(key.getExpression())}.id)`) : undefined;
  },
  removeRepeatable: (of, r) => {
    const [name, , id] = of.arguments;
    const key = id ?? name;
    return key && isNamed(key) ? ignored(of, `schedules.remove(${r.text(key)})`) : undefined;
  },
  getJob: (of, r) =>
    member(
      of,
      `get${reads(of.call, /^(data|returnvalue|progress)$/, r) ? '<any, any>' : ''}(${argument(of, 0, r)})`,
    ),
  getJobs,
  getWaiting: listed('pending'),
  getDelayed: listed('scheduled'),
  getActive: listed('processing'),
  getCompleted: listed('completed'),
  getFailed: listed('failed'),
  getJobCounts: (of, r) => {
    if (!isReadByName(of.call)) r.todo(of.call, '`stats()` has other names, and more fields', 'calls');
    return member(of, 'stats()');
  },
  getWaitingCount: counted('pending'),
  getDelayedCount: counted('scheduled'),
  getActiveCount: counted('processing'),
  getCompletedCount: counted('completed'),
  getFailedCount: counted('failed'),
  count: figure((stats) => `${stats}.pending + ${stats}.scheduled`),
  isPaused: figure((stats) => `${stats}.pausedAt !== null`),
  remove: (of, r) => ignored(of, `remove(${argument(of, 0, r)})`),
  pause: simple('pause()'),
  resume: simple('resume()'),
  close: (of) => {
    const text = member(of, 'close()');
    const isPlain = isIgnored(of.call) || Node.isAwaitExpression(of.call.getParent());
    return isPlain ? text : `Promise.resolve(${text})`;
  },
  clean,
  drain,
  empty: simple(`clean('pending')`),
  obliterate: (of, r) => {
    r.todo(
      of.call,
      'schedules, limits and counters stay; `everything: true` deletes them too, of a queue without live workers',
      'calls',
    );
    return withoutValue(of.call, member(of, `purge({ confirm: ${of.queue}.name })`));
  },
  retryJobs: simple('deadLetters.redriveAll()'),
  setGlobalConcurrency: (of, r) =>
    withoutValue(of.call, member(of, `limits.change({ maxRunning: ${argument(of, 0, r)} })`)),
  setGlobalRateLimit: (of, r) =>
    withoutValue(
      of.call,
      member(of, `limits.change({ rateLimit: { limit: ${argument(of, 0, r)}, periodMs: ${argument(of, 1, r)} } })`),
    ),
  waitUntilReady: ready,
  isReady: (of) => (isIgnored(of.call) ? ready(of, undefined as never) : undefined),
};

/** What to use in place of members that are left. */
const INSTEAD: Record<string, string> = {
  client: 'the connection of a queue is `redisClientOf(queue)` of nest-job-queue/core',
  opts: 'the connection is that of the module, and `redisClientOf(queue)` of nest-job-queue/core',
  on: 'errors of the connection are in the log of Nest; other events are `jobs.events`',
  once: 'errors of the connection are in the log of Nest; other events are `jobs.events`',
  off: 'events are `jobs.events`',
  getMetrics: 'these figures are `history.read()`',
  getWorkers: 'these are `workers()`, with other fields',
  getJobLogs: 'these lines are the `log` of `get(id)`',
  getJobState: 'this is the `status` of `get(id)`, with other names',
  rateLimit:
    'a queue rests while it is paused: `pause({ forMs })`; in a handler `throw new RateLimitedError({ retryAfterMs })`',
  getGlobalConcurrency: 'this is `maxRunning` of `limits`',
  promoteJobs: 'each job has `promote(id)`',
  process: 'a function that runs jobs is a handler: `@JobHandler`',
  trimEvents: 'there is no stream of events to trim: delete this',
  removeJobs: 'jobs are removed one by one, `remove(id)`, or by state, `clean(status)`',
  getJobs:
    'a list has one state, and one order: pending and scheduled jobs come first to last, ended ones newest first',
  clean: '`clean(status, { olderThanMs, limit })` has the status first, and returns how many it deleted',
  getJobScheduler: 'this is `schedules.get(id)`, with other fields',
  upsertJobScheduler:
    '`schedules.upsert(id, recurrence, options)` makes no job at once, and takes `{ cron, everyMs, timeZone }`',
  remove: '`remove(id)` returns another value',
  add: 'this is `enqueue(payload, { name, … })`',
  addBulk: 'this is `enqueueMany([{ name, payload, … }])`',
};

/** Converts the calls and members of queues. */
export const queueCalls: Rule = (node, r) => {
  if (Node.isParenthesizedExpression(node) && Node.isAwaitExpression(node.getExpression())) {
    const inner = r.text(node.getExpression());
    return inner.startsWith('(') && !/null$| \+ /.test(inner) ? inner : undefined;
  }
  const awaited = Node.isAwaitExpression(node) ? node.getExpression() : undefined;
  if (Node.isCallExpression(awaited)) {
    const text = queueCall(awaited, r);
    if (text === undefined) return undefined;
    // The figure of the stats is read from the awaited ones.
    return text.startsWith(AWAITED) ? inParentheses(node, text.replaceAll(AWAITED, '(await ')) : `await ${text}`;
  }
  if (Node.isCallExpression(node)) return queueCall(node, r);
  if (!Node.isPropertyAccessExpression(node) || kindOf(node.getExpression()) !== 'queue') return undefined;
  if (node.getName() === 'name' || r.app.origins.isLeft(node.getExpression())) return undefined;
  return r.leave(node, instead(node.getName()), 'calls');
};

function instead(name: string): string {
  return `\`${name}\`${Object.hasOwn(INSTEAD, name) ? `: ${INSTEAD[name]}` : ' of a queue has no counterpart of this name'}`;
}

function queueCall(node: CallExpression, r: Rewriter): string | undefined {
  const called = node.getExpression();
  if (!Node.isPropertyAccessExpression(called) || kindOf(called.getExpression()) !== 'queue') return undefined;
  const queue = called.getExpression();
  if (r.app.origins.isLeft(queue)) return undefined;
  const name = called.getName();
  const of = callOf(node, called, r);
  const isReadable = of.arguments.every((each) => !Node.isSpreadElement(each));
  const text = isReadable && Object.hasOwn(CALLS, name) ? CALLS[name]!(of, r) : undefined;
  if (text === undefined) {
    // Its options stay those of BullMQ too.
    for (const each of optionExpressions(node)) r.give(each, each.getText());
    return r.leave(node, instead(name), 'calls');
  }
  r.converted(node, `queue.${name}`);
  return text;
}

function callOf(call: CallExpression, called: PropertyAccessExpression, r: Rewriter): QueueCall {
  return {
    call,
    queue: r.text(called.getExpression()),
    dot: called.hasQuestionDotToken() ? '?.' : '.',
    arguments: call.getArguments(),
    keys: r.app.queues.keysOf(called.getExpression()),
  };
}

/** Returns a comparison or sum in parentheses where it is a part of a larger expression. */
function inParentheses(node: Node, text: string): string {
  const parent = node.getParent();
  const isWhole = [
    Node.isVariableDeclaration(parent),
    Node.isReturnStatement(parent),
    Node.isParenthesizedExpression(parent),
    Node.isPropertyAssignment(parent),
    Node.isIfStatement(parent),
  ].includes(true);
  return / !== null$| \+ /.test(text) && !isWhole ? `(${text})` : text;
}

/** Returns a call whose value is another one than in BullMQ; undefined if code takes it. */
function ignored(of: QueueCall, text: string): string | undefined {
  return isIgnored(of.call) ? member(of, text) : undefined;
}

function argument(of: QueueCall, index: number, r: Rewriter): string {
  const node = of.arguments[index];
  return node ? r.text(node) : 'undefined';
}

function offsetOf(start: Node | undefined, r: Rewriter): string {
  return start === undefined || start.getText() === 'undefined' ? '0' : r.text(start);
}

const rangeText = (offset: string, limit: string): string =>
  offset === '0' ? `{ ${limit} }` : `{ offset: ${offset}, ${limit} }`;

/** Returns the options of a list from the old first and last index. */
function page(of: QueueCall, start: Node | undefined, end: Node | undefined, r: Rewriter): string {
  const offset = offsetOf(start, r);
  const limit = limitOf(offset, end, r);
  if (limit === LARGEST_PAGE)
    r.todo(of.call, 'a list has at most 1,000 jobs: read further pages with `offset`', 'calls');
  return rangeText(offset, limit);
}

/** Returns the option `limit` for the old last index. */
function limitOf(offset: string, end: Node | undefined, r: Rewriter): string {
  if (end === undefined || ['-1', 'undefined'].includes(end.getText())) return LARGEST_PAGE;
  const first = Number(offset.replaceAll('_', ''));
  if (Number.isInteger(first) && Node.isNumericLiteral(end)) {
    const count = end.getLiteralValue() - first + 1;
    return count < MOST ? `limit: ${count}` : LARGEST_PAGE;
  }
  return `limit: ${r.text(end)}${offset === '0' ? '' : ` - ${offset}`} + 1`;
}

/** The states that a list has from the first to the last job. The others come newest first. */
const FIRST_TO_LAST = ['pending', 'scheduled', 'processing'];

/** Converts `getJobs(types, start, end, asc)`. */
function getJobs(of: QueueCall, r: Rewriter): string | undefined {
  const [types, start, end, asc] = of.arguments;
  const value = types && unwrapped(types);
  const names = Node.isArrayLiteralExpression(value) ? value.getElements() : value ? [value] : [];
  const statuses = [...new Set(names.map((each) => STATES[textOf(each) ?? '']))];
  const isAscending = asc?.getText() === 'true';
  if (statuses.length === 0 || statuses.includes(undefined)) return undefined;
  if (asc && !/^(true|false|undefined)$/.test(asc.getText())) return undefined;
  const isWhole = end === undefined || end.getText() === '-1';
  const texts: string[] = [];
  for (const status of statuses) {
    const isTurned = FIRST_TO_LAST.includes(status!) !== isAscending;
    if (isTurned && !isWhole) return undefined;
    texts.push(list(of, status!, page(of, start, end, r), r) + (isTurned ? '.then((list) => list.reverse())' : ''));
  }
  if (of.dot === '?.' && texts.length > 1) return undefined;
  return texts.length === 1 ? texts[0] : `Promise.all([${texts.join(', ')}]).then((lists) => lists.flat())`;
}

/** Returns true if code reads the counts of a call by their names only, which are converted. */
function isReadByName(call: CallExpression): boolean {
  let value: Node = call;
  for (let parent = value.getParent(); parent && unwrapped(parent) === call; parent = value.getParent())
    value = parent;
  const parent = value.getParent();
  if (Node.isExpressionStatement(parent) || isOwnerOfName(value)) return true;
  const name = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
  if (Node.isObjectBindingPattern(name)) return name.getElements().every((each) => !each.getDotDotDotToken());
  const scope = parent?.getFirstAncestor((each) => Node.isBlock(each) || Node.isSourceFile(each));
  if (!Node.isIdentifier(name) || !scope) return false;
  return scope
    .getDescendantsOfKind(SyntaxKind.Identifier)
    .filter((each) => each !== name && each.getText() === name.getText())
    .every((each) => isOwnerOfName(each) || isMemberName(each));
}

/** Returns true for `counts` in `counts.waiting`. */
function isOwnerOfName(node: Node): boolean {
  const parent = node.getParent();
  return Node.isPropertyAccessExpression(parent) && parent.getExpression() === node;
}

/** Returns true for `counts` in `other.counts`. */
function isMemberName(node: Node): boolean {
  const parent = node.getParent();
  return Node.isPropertyAccessExpression(parent) && parent.getNameNode() === node;
}

function add(of: QueueCall, r: Rewriter): string | undefined {
  const [first] = of.arguments;
  const hasName = isNamed(first);
  if (hasName === undefined) return undefined;
  const [name, data, options, ...more] = hasName ? of.arguments : [undefined, ...of.arguments];
  if (more.length > 0) return undefined;
  const schedule = scheduleOf(of, { name, data, options }, r);
  // Left as it is: without its `repeat` it would be another job.
  if (schedule === null) return undefined;
  if (schedule !== undefined) return schedule;
  const front = name ? [pair('name', r.text(name))] : [];
  if (data && isText(data)) return ofText(of, data, options, front, r);
  const text = enqueueOptions(of, options, front, r);
  const payload = data === undefined || data.getText() === 'undefined' ? '{}' : r.text(data);
  // The call keeps its lines and comments.
  if (name) r.give(name, data ? REMOVED : payload);
  if (data) r.give(data, payload);
  if (options) r.give(options, text);
  else if (text !== '{}') r.give(data ?? name!, `${payload}, ${text}`);
  return renamedCall(of, `enqueue${resultTypes(of, r)}`, r);
}

function isText(data: Node): boolean {
  const type = data.getType();
  return type.isString() || type.isStringLiteral() || type.isTemplateLiteral();
}

/** Returns the enqueue of a payload that is a text, which `enqueue` does not take beside options. */
function ofText(
  of: QueueCall,
  data: Node,
  options: Node | undefined,
  front: readonly string[],
  r: Rewriter,
): string {
  const text = enqueueOptions(of, options, [...front, pair('payload', r.text(data))], r);
  const call = member(of, `enqueueMany${resultTypes(of, r)}([${text}])`);
  return isIgnored(of.call) ? call : `${call}.then(([job]) => job!)`;
}

/** Returns the types of a call whose result code may wait for: BullMQ has any there. */
function resultTypes(of: QueueCall, r: Rewriter): string {
  if (isIgnored(of.call)) return '';
  const owner = of.call.getFirstAncestor((each) => Node.isReturnTyped(each));
  const declared = Node.isReturnTyped(owner) ? owner.getReturnTypeNode()?.getText() : undefined;
  return r.app.awaitsResults() || /\bJob</.test(declared ?? '') ? '<any>' : '';
}

/** Returns a call with another name. */
function renamedCall(of: QueueCall, name: string, r: Rewriter): string {
  const called = of.call.getExpression();
  if (Node.isPropertyAccessExpression(called)) {
    r.give(called.getNameNode(), name);
    r.give(called, r.copy(called));
  }
  return r.copy(of.call);
}

/** Returns the options of an enqueue as text, with others in front. A queue without a handler here says how often its jobs are tried. */
function enqueueOptions(of: QueueCall, options: Node | undefined, first: readonly string[], r: Rewriter): string {
  const place = placeOf(of, r);
  const value = options && unwrapped(options);
  const beside = producerDefaults(of, options, r);
  const front = [...first, ...beside.first];
  if (value === undefined || value.getText() === 'undefined') return objectText([...front, ...beside.last]);
  if (!Node.isObjectLiteralExpression(value))
    return objectText([...front, spreadOf(value, place, r), ...beside.last]);
  const converted = jobOptions(value, place, r);
  return edited(value, r, converted.texts, { first: front, last: [...converted.more, ...beside.last] });
}

function placeOf(of: QueueCall, r: Rewriter): OptionPlace {
  return { keys: of.keys, defaults: r.app.queues.defaultsOf(of.keys), at: of.call };
}

function addBulk(of: QueueCall, r: Rewriter): string | undefined {
  const [given, ...more] = of.arguments;
  if (given === undefined || more.length > 0) return undefined;
  if (!r.app.bulkLists.has(of.call)) return bulkOfTyped(of, given, r);
  return renamedCall(of, `enqueueMany${resultTypes(of, r)}`, r);
}

/** Converts the jobs of `addBulk`, wherever they are made. */
export const bulkItems: Rule = (item, r) => {
  const call = Node.isObjectLiteralExpression(item) ? r.app.bulkItems.get(item) : undefined;
  const called = call?.getExpression();
  if (!Node.isObjectLiteralExpression(item) || !Node.isPropertyAccessExpression(called)) return undefined;
  const of = callOf(call!, called, r);
  const texts = new Map<Node, string>();
  const opts = propertyValue(item, 'opts');
  const value = opts && unwrapped(opts);
  const beside = producerDefaults(of, opts, r);
  for (const property of propertiesOf(item, r)) {
    if (property.name === 'data') texts.set(property.node, pair('payload', property.value));
    if (property.name !== 'opts') continue;
    const isLiteral = Node.isObjectLiteralExpression(value);
    const own = isLiteral ? partsOf(jobOptions(value, placeOf(of, r), r)) : [spreadOf(opts!, placeOf(of, r), r)];
    const parts = [...beside.first, ...own];
    texts.set(property.node, parts.length === 0 ? REMOVED : parts.join(separatorOf(item)));
  }
  const last = item.getProperty('data') ? [] : ['payload: {}'];
  return edited(item, r, texts, { last: [...(opts ? [] : beside.first), ...last, ...beside.last] });
};

/** Converts a list whose type says what its elements have. The options of a type of BullMQ have their new names. */
function bulkOfTyped(of: QueueCall, given: Node, r: Rewriter): string | undefined {
  const element = given.getType().getNonNullableType().getArrayElementType();
  if (!element || element.isAny() || !element.isObject()) return undefined;
  const properties = element.getProperties();
  const has = (name: string) => properties.find((each) => each.getName() === name);
  const opts = has('opts');
  const isTyped = !opts || kindOf(opts.getDeclarations()[0]) === 'options';
  if (!has('name') || !has('data') || !isTyped || opts?.getDeclarations()[0]?.getSourceFile().isDeclarationFile())
    return undefined;
  const beside = producerDefaults(of, given, r);
  const names = ['name', 'data', ...(opts ? ['opts'] : [])].join(', ');
  const parts = ['name', 'payload: data', ...beside.first, ...(opts ? ['...opts'] : []), ...beside.last];
  return member(
    of,
    `enqueueMany${resultTypes(of, r)}(${r.text(given)}.map(({ ${names} }) => (${objectText(parts)})))`,
  );
}

/** Converts `clean(grace, limit, type)`, and Bull's `clean(grace, type, limit)`. */
function clean(of: QueueCall, r: Rewriter): string | undefined {
  const [grace, ...others] = of.arguments;
  if (!grace || !isIgnored(of.call)) return undefined;
  let [status, limit] = ['completed', ''];
  for (const each of others) {
    const name = textOf(each);
    const type = each.getType().getNonNullableType();
    if (name !== undefined && STATES[name]) status = STATES[name];
    else if (type.isNumber() || type.isNumberLiteral())
      limit = numberOf(each) === 0 ? '' : `, limit: ${r.text(each)}`;
    else if (each.getText() !== 'undefined') return undefined;
  }
  if (status === 'processing') return undefined;
  return member(of, `clean('${status}', { olderThanMs: ${r.text(grace)}${limit} })`);
}

function drain(of: QueueCall, r: Rewriter): string | undefined {
  const [delayed] = of.arguments;
  const waiting = member(of, `clean('pending')`);
  if (delayed === undefined || delayed.getText() === 'false') return withoutValue(of.call, waiting);
  const both = `Promise.all([${waiting}, ${member(of, `clean('scheduled')`)}])`;
  if (delayed.getText() === 'true') return withoutValue(of.call, both);
  if (!Node.isIdentifier(delayed)) return undefined;
  return withoutValue(
    of.call,
    `Promise.all([${waiting}, ${r.text(delayed)} ? ${member(of, `clean('scheduled')`)} : 0])`,
  );
}
