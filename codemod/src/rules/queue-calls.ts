// Calls of a queue.
import { Node, SyntaxKind, type CallExpression, type Expression } from 'ts-morph';
import { kindOf, queueNameOf } from '../app/kinds.js';
import { objectOf, textOf, unwrapped } from '../app/values.js';
import { objectText, pair, propertiesOf } from '../rewrite/properties.js';
import { indentOf, type Rewriter, type Rule } from '../rewrite/rewriter.js';
import { jobOptions, spreadOf } from './job-options.js';
import { STATES, defaultAttempts, type QueueCall } from './queue-call.js';
import { scheduleCall, scheduleOf } from './schedules.js';

/** The largest page of a list. Without a range BullMQ lists all jobs, and a list here the first 50. */
const MOST = 1_000;
const LARGEST_PAGE = 'limit: 1_000';

type Converter = (of: QueueCall, r: Rewriter) => string | undefined;

const listed =
  (status: string): Converter =>
  (of, r) => {
    const [start, end] = of.arguments;
    return `${of.queue}.list('${status}', ${page(start, end, r)})`;
  };

/** Converts `getJobSchedulers(start, end)` and its older form. */
const schedules: Converter = (of, r) => {
  const [start, end] = of.arguments;
  return `${of.queue}.schedules.list(${page(start, end, r)})`;
};

const counted =
  (status: string): Converter =>
  ({ call, queue }) =>
    Node.isAwaitExpression(call.getParent())
      ? `${queue}.stats()).${status}`
      : `${queue}.stats().then((stats) => stats.${status})`;

const CALLS: Record<string, Converter> = {
  add,
  addBulk,
  upsertJobScheduler: scheduleCall,
  removeJobScheduler: (of, r) => `${of.queue}.schedules.remove(${argument(of, 0, r)})`,
  getJobSchedulers: schedules,
  getRepeatableJobs: schedules,
  removeRepeatableByKey: (of, r) => {
    const [key] = of.arguments;
    const isKey = Node.isPropertyAccessExpression(key) && key.getName() === 'key';
    return isKey ? `${of.queue}.schedules.remove(${r.text(key.getExpression())}.id)` : undefined;
  },
  getJob: (of, r) => `${of.queue}.get(${argument(of, 0, r)})`,
  getJobs: (of, r) => {
    const [types, start, end] = of.arguments;
    const only =
      Node.isArrayLiteralExpression(types) && types.getElements().length === 1 ? types.getElements()[0] : types;
    const status = STATES[textOf(only) ?? ''];
    return status && `${of.queue}.list('${status}', ${page(start, end, r)})`;
  },
  getWaiting: listed('pending'),
  getDelayed: listed('scheduled'),
  getActive: listed('processing'),
  getCompleted: listed('completed'),
  getFailed: listed('failed'),
  getJobCounts: ({ call, queue }, r) => {
    if (!isReadByName(call)) r.todo(call, '`stats()` has other names, and more fields', 'calls');
    return `${queue}.stats()`;
  },
  getWaitingCount: counted('pending'),
  getDelayedCount: counted('scheduled'),
  getActiveCount: counted('processing'),
  getCompletedCount: counted('completed'),
  getFailedCount: counted('failed'),
  isPaused: ({ call, queue }) =>
    Node.isAwaitExpression(call.getParent())
      ? `${queue}.stats()).pausedAt !== null`
      : `${queue}.stats().then((stats) => stats.pausedAt !== null)`,
  remove: (of, r) => `${of.queue}.remove(${argument(of, 0, r)})`,
  pause: (of) => (of.arguments.length === 0 ? `${of.queue}.pause()` : undefined),
  resume: (of) => (of.arguments.length === 0 ? `${of.queue}.resume()` : undefined),
  close: ({ queue }) => `${queue}.close()`,
  clean,
  drain: (of) => (of.arguments.length === 0 ? `${of.queue}.clean('pending')` : undefined),
  obliterate: ({ queue }) => `${queue}.purge({ confirm: ${queue}.name, everything: true })`,
  retryJobs: (of) => (of.arguments.length === 0 ? `${of.queue}.deadLetters.redriveAll()` : undefined),
  setGlobalConcurrency: (of, r) => `${of.queue}.limits.change({ maxRunning: ${argument(of, 0, r)} })`,
};

/** Converts the calls and members of queues. */
export const queueCalls: Rule = (node, r) => {
  if (Node.isParenthesizedExpression(node) && Node.isAwaitExpression(node.getExpression())) {
    const inner = r.text(node.getExpression());
    return inner.startsWith('(') && !inner.endsWith('null') ? inner : undefined;
  }
  const awaited = Node.isAwaitExpression(node) ? node.getExpression() : undefined;
  if (Node.isCallExpression(awaited)) {
    // The figure of the stats is read from the awaited ones.
    const text = queueCall(awaited, r);
    return text === undefined
      ? undefined
      : text.includes('.stats()).')
        ? inParentheses(node, `(await ${text}`)
        : `await ${text}`;
  }
  if (Node.isCallExpression(node)) return queueCall(node, r);
  const isMember = Node.isPropertyAccessExpression(node) && kindOf(node.getExpression()) === 'queue';
  if (!isMember || node.getName() === 'name') return undefined;
  return r.leave(node, `\`${node.getName()}\` of a queue has no counterpart of this name`, 'calls');
};

function queueCall(node: CallExpression, r: Rewriter): string | undefined {
  const called = node.getExpression();
  if (!Node.isPropertyAccessExpression(called) || kindOf(called.getExpression()) !== 'queue') return undefined;
  const name = called.getName();
  const of: QueueCall = {
    call: node,
    queue: r.text(called.getExpression()),
    arguments: node.getArguments(),
    queueName: textOf(queueNameOf(called.getExpression())),
  };
  const text = CALLS[name]?.(of, r);
  if (text === undefined) return r.leave(node, `\`${name}\` needs another call`, 'calls');
  r.converted(node, `queue.${name}`);
  return text;
}

/** Returns a comparison in parentheses where it is a part of a larger expression. */
function inParentheses(node: Node, text: string): string {
  const parent = node.getParent();
  const isWhole = [
    Node.isVariableDeclaration(parent),
    Node.isReturnStatement(parent),
    Node.isParenthesizedExpression(parent),
    Node.isPropertyAssignment(parent),
    Node.isIfStatement(parent),
  ].includes(true);
  return text.endsWith('null') && !isWhole ? `(${text})` : text;
}

function argument(of: QueueCall, index: number, r: Rewriter): string {
  const node = of.arguments[index];
  return node ? r.text(node) : 'undefined';
}

/** Returns the options of a list from the old first and last index. */
function page(start: Node | undefined, end: Node | undefined, r: Rewriter): string {
  const offset = start === undefined || start.getText() === 'undefined' ? '0' : r.text(start);
  const limit = limitOf(offset, end, r);
  return offset === '0' ? `{ ${limit} }` : `{ offset: ${offset}, ${limit} }`;
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

/** Returns true if code reads the counts of a call by their names only, which are converted. */
function isReadByName(call: CallExpression): boolean {
  let value: Node = call;
  for (let parent = value.getParent(); parent && unwrapped(parent) === call; parent = value.getParent())
    value = parent;
  const parent = value.getParent();
  if (Node.isExpressionStatement(parent) || isOwnerOfName(value)) return true;
  const name = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
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
  const [name, data, options] = isUnnamed(of) ? [undefined, ...of.arguments] : of.arguments;
  if (of.arguments.length === 0 || of.arguments.some((each) => Node.isSpreadElement(each))) return undefined;
  const schedule = scheduleOf(of, { name, data, options }, r);
  // Left as it is: without its `repeat` it would be another job.
  if (schedule === null) return undefined;
  if (schedule !== undefined) return schedule;
  const parts = [...(name ? [pair('name', r.text(name))] : []), ...optionParts(of, options, r)];
  const payload = data ? r.text(data) : '{}';
  const text = objectText(parts, Node.isObjectLiteralExpression(options) ? options : undefined, indentOf(of.call));
  return `${of.queue}.enqueue(${payload}${parts.length > 0 ? `, ${text}` : ''})`;
}

/** Returns true for Bull's `add(data, options)`: its first argument is data. */
function isUnnamed({ arguments: list }: QueueCall): boolean {
  const [first, second] = list;
  if (list.length >= 3 || textOf(first) !== undefined) return false;
  if (list.length === 1 || objectOf(first) !== undefined) return true;
  // With two arguments the second is the data, unless it has options of a job.
  const names =
    objectOf(second)
      ?.getProperties()
      .map((each) => (Node.hasName(each) ? each.getName() : '')) ?? [];
  return names.some((name) =>
    ['attempts', 'jobId', 'delay', 'backoff', 'removeOnComplete', 'repeat'].includes(name),
  );
}

/** Returns the options of an enqueue. A queue without a handler here says that there is one attempt. */
function optionParts(of: QueueCall, options: Node | undefined, r: Rewriter): string[] {
  const object = objectOf(options);
  const isLiteral = object !== undefined && object === (options && unwrapped(options));
  const isName = options !== undefined && !isLiteral;
  const { parts, names } = isLiteral ? jobOptions(object, r) : { parts: [] as string[], names: new Set<string>() };
  if (isName) parts.push(spreadOf(options, r, of.call));
  const isKnown = names.has('attempts') || names.has('') || isName || r.app.hasHandler(of.queueName);
  if (!isKnown) parts.push(...defaultAttempts(of.queueName, r));
  if (names.has('priority') && r.app.mixesPriorities(of.queueName)) {
    r.todo(of.call, 'jobs of this queue without a priority ran first, and run last here', 'options');
  }
  return parts;
}

function addBulk(of: QueueCall, r: Rewriter): string | undefined {
  const [list] = of.arguments;
  const items = itemsOf(list);
  if (items === undefined) return undefined;
  const texts = new Map(items.map((item) => [item as Node, item && bulkItem(of, item, r)]));
  return `${of.queue}.enqueueMany(${r.replacing(list!, texts)})`;
}

/** Returns the objects of a list of jobs: an array, or a map whose function returns an object. */
function itemsOf(list: Node | undefined): Expression[] | undefined {
  if (Node.isArrayLiteralExpression(list)) {
    return list.getElements().every((each) => Node.isObjectLiteralExpression(each))
      ? list.getElements()
      : undefined;
  }
  if (!Node.isCallExpression(list)) return undefined;
  const [made] = list.getArguments();
  const body = Node.isArrowFunction(made) ? made.getBody() : undefined;
  const item = Node.isParenthesizedExpression(body) ? body.getExpression() : undefined;
  return Node.isObjectLiteralExpression(item) ? [item] : undefined;
}

function bulkItem(of: QueueCall, item: Expression, r: Rewriter): string {
  if (!Node.isObjectLiteralExpression(item)) return r.text(item);
  const parts: string[] = [];
  let options: Node | undefined;
  for (const { name, value, initializer } of propertiesOf(item, r)) {
    if (name === 'opts') options = initializer;
    else parts.push(name === 'data' ? `payload: ${value}` : name === '' ? value : pair(name, value));
  }
  if (!item.getProperty('data')) parts.push('payload: {}');
  return objectText([...parts, ...optionParts(of, options, r)], item, indentOf(item));
}

function clean(of: QueueCall, r: Rewriter): string | undefined {
  const [grace, second, third] = of.arguments;
  const [limit, type] = textOf(second) === undefined ? [second, third] : [third, second];
  const status = type ? STATES[textOf(type) ?? ''] : 'completed';
  if (!grace || !status || status === 'processing') return undefined;
  const isAll = limit === undefined || limit.getText() === '0';
  return `${of.queue}.clean('${status}', { olderThanMs: ${r.text(grace)}${isAll ? '' : `, limit: ${r.text(limit)}`} })`;
}
