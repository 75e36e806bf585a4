// What is read of a job, and done with it.
import { Node, type CallExpression, type PropertyAccessExpression, type Statement } from 'ts-morph';
import { isFromBull } from '../app/bull-imports.js';
import { kindOf, type Kind } from '../app/kinds.js';
import { textOf, unwrapped } from '../app/values.js';
import { pair } from '../rewrite/properties.js';
import { REMOVED, type Rewriter, type Rule } from '../rewrite/rewriter.js';
import { STATES } from './queue-call.js';

type Member = (job: string) => string;
const field =
  (name: string): Member =>
  (job) =>
    `${job}.${name}`;
const time =
  (name: string): Member =>
  (job) =>
    `${job}.${name}.getTime()`;

const COMMON: Record<string, Member> = {
  id: field('id'),
  name: field('name'),
  data: field('payload'),
  queueName: field('queue'),
  timestamp: time('enqueuedAt'),
};
const RUNNING = { ...COMMON, log: field('log'), updateProgress: field('progress') };

const MEMBERS: Partial<Record<Kind, Record<string, Member>>> = {
  job: { ...RUNNING, attemptsMade: (job) => `(${job}.attempt - 1)`, processedOn: time('claimedAt') },
  // At an event the attempt is counted.
  ended: { ...COMMON, attemptsMade: field('attempt'), processedOn: time('claimedAt') },
  record: {
    ...COMMON,
    attemptsMade: field('attempts'),
    returnvalue: field('result'),
    failedReason: field('lastError'),
    progress: field('progress'),
  },
  handle: { id: field('id'), name: field('name'), queueName: field('queue') },
  // Both waiting and prioritized jobs are pending: a sum of the two would count them twice.
  counts: Object.fromEntries(
    Object.entries(STATES).flatMap(([old, status]) => (old === 'prioritized' ? [] : [[old, field(status)]])),
  ),
};

/** Converts members of jobs, of counts too. */
export const jobMembers: Rule = (node, r) => {
  if (!Node.isPropertyAccessExpression(node)) return undefined;
  if (isAttempts(node)) return `${r.text(node.getExpression().getFirstChildOrThrow())}.maxAttempts`;
  const kind = kindOf(node.getExpression());
  const members = kind && MEMBERS[kind];
  if (!members) return undefined;
  const name = node.getName();
  const sets = kind === 'job' && name === 'progress' && isCalledWithValue(node);
  const convert = sets ? field(name) : Object.hasOwn(members, name) ? members[name] : undefined;
  if (!convert) return r.leave(node, `\`${name}\` of a job has another name or place`, 'calls');
  const job = r.text(node.getExpression()) + (node.hasQuestionDotToken() ? '?' : '');
  const isNext = name === 'attemptsMade' && kind === 'job' && isPlusOne(node);
  return isNext ? `${job}.attempt` : convert(job);
};

/** Returns true for `job.progress(value)`, which sets it; without a value it is read. */
function isCalledWithValue(node: Node): boolean {
  const call = node.getParent();
  return Node.isCallExpression(call) && call.getExpression() === node && call.getArguments().length > 0;
}

/** Returns true for `job.opts.attempts` of a running job. */
function isAttempts(node: PropertyAccessExpression): boolean {
  const opts = node.getExpression();
  const isOfJob = Node.isPropertyAccessExpression(opts) && opts.getName() === 'opts';
  return node.getName() === 'attempts' && isOfJob && ['job', 'ended'].includes(kindOf(opts.getExpression()) ?? '');
}

function isPlusOne(node: Node): boolean {
  const sum = node.getParent();
  return Node.isBinaryExpression(sum) && sum.getText().replaceAll(' ', '').endsWith('.attemptsMade+1');
}

/** Counts attempts from 1: leaves the `+ 1` behind `attemptsMade` out, and compares with one more. */
export const nextAttempt: Rule = (node, r) => {
  if (!Node.isBinaryExpression(node)) return undefined;
  const [left, right] = [node.getLeft(), node.getRight()];
  const isAttempt = Node.isPropertyAccessExpression(left) && left.getName() === 'attemptsMade';
  if (!isAttempt || kindOf(left.getExpression()) !== 'job') return undefined;
  if (isPlusOne(left)) return r.text(left);
  const operator = node.getOperatorToken().getText();
  if (!/^([=!]==?|[<>]=?)$/.test(operator) || !Node.isNumericLiteral(right)) return undefined;
  const job = r.text(left.getExpression()) + (left.hasQuestionDotToken() ? '?' : '');
  return `${job}.attempt ${operator} ${right.getLiteralValue() + 1}`;
};

/** Converts a comparison of a job's state with one of the old names. */
export const stateComparisons: Rule = (node, r) => {
  if (!Node.isBinaryExpression(node)) return undefined;
  const call = unwrapped(node.getLeft());
  const called = Node.isCallExpression(call) ? call.getExpression() : undefined;
  const isState = Node.isPropertyAccessExpression(called) && called.getName() === 'getState';
  const status = STATES[textOf(node.getRight()) ?? ''];
  if (!isState || !status || kindOf(called.getExpression()) !== 'record') return undefined;
  return `${r.text(call)} ${node.getOperatorToken().getText()} '${status}'`;
};

/** Converts `{ data }` of a job that is taken apart. */
export const jobPatterns: Rule = (node, r) => {
  if (!Node.isBindingElement(node)) return undefined;
  const pattern = node.getParent();
  const owner = pattern.getParent();
  const isOfJob = Node.isParameterDeclaration(owner)
    ? isJobType(owner)
    : Node.isVariableDeclaration(owner) && kindOf(owner.getInitializer()) === 'job';
  if (!isOfJob) return undefined;
  const name = node.getPropertyNameNode()?.getText() ?? node.getName();
  if (name === 'id' || name === 'name') return undefined;
  if (name !== 'data') return r.leave(node, `\`${name}\` of a job has another name or place`, 'calls');
  return `payload: ${r.text(node.getNameNode())}`;
};

function isJobType(owner: Node): boolean {
  const type = Node.isParameterDeclaration(owner) ? owner.getTypeNode() : undefined;
  return Node.isTypeReference(type) && isFromBull(type.getTypeName(), 'Job');
}

/** Converts calls of a job that was read or added. */
export const jobCalls: Rule = (node, r) => {
  if (Node.isAwaitExpression(node)) {
    const text = Node.isCallExpression(node.getExpression()) ? jobCalls(node.getExpression(), r) : undefined;
    if (text === undefined) return undefined;
    // A state is known without a further call.
    if (text.endsWith('.status')) return text;
    if (!text.startsWith('(')) return `await ${text}`;
    return Node.isIfStatement(node.getParent()) ? text.slice(1, -1) : text;
  }
  if (!Node.isCallExpression(node)) return undefined;
  const called = node.getExpression();
  if (!Node.isPropertyAccessExpression(called)) return undefined;
  const kind = kindOf(called.getExpression());
  const text =
    kind === 'handle' ? handleCall(called, node, r) : kind === 'record' ? recordCall(called, node, r) : undefined;
  if (text !== undefined) r.converted(node, `job.${called.getName()}`);
  return text;
};

function handleCall(called: PropertyAccessExpression, node: CallExpression, r: Rewriter): string | undefined {
  const name = called.getName();
  if (name !== 'waitUntilFinished' && name !== 'finished') return undefined;
  const timeout = name === 'finished' ? undefined : node.getArguments()[1];
  return `${r.text(called.getExpression())}.result(${timeout ? `{ timeoutMs: ${r.text(timeout)} }` : ''})`;
}

const IS_STATE: Record<string, string> = {
  isCompleted: 'completed',
  isFailed: 'failed',
  isDelayed: 'scheduled',
  isActive: 'processing',
  isWaiting: 'pending',
};

function recordCall(called: PropertyAccessExpression, node: CallExpression, r: Rewriter): string | undefined {
  const job = r.text(called.getExpression());
  const name = called.getName();
  const status = `${job}${called.hasQuestionDotToken() ? '?' : ''}.status`;
  if (name === 'getState') return status;
  if (IS_STATE[name]) return `(${status} === '${IS_STATE[name]}')`;
  const queue = sourceOf(called.getExpression());
  if (!queue) return undefined;
  const of = r.text(queue);
  const list = node.getArguments().map((each) => r.text(each));
  const calls: Record<string, string> = {
    remove: `${of}.remove(${job}.id)`,
    promote: `${of}.promote(${job}.id)`,
    retry: `${of}.deadLetters.redrive(${job}.id)`,
    update: `${of}.update(${job}.id, ${list[0]})`,
    updateData: `${of}.update(${job}.id, ${list[0]})`,
    changeDelay: `${of}.reschedule(${job}.id, { delayMs: ${list[0]} })`,
  };
  return Object.hasOwn(calls, name) ? calls[name] : undefined;
}

/** Returns the queue that a job was read from. */
function sourceOf(job: Node): Node | undefined {
  const [declaration] = Node.isIdentifier(job) ? (job.getSymbol()?.getDeclarations() ?? []) : [];
  if (!Node.isVariableDeclaration(declaration)) return undefined;
  const loop = declaration.getParent().getParent();
  const source = Node.isForOfStatement(loop) ? loop.getExpression() : declaration.getInitializer();
  const value = source && unwrapped(source);
  if (Node.isIdentifier(value)) return sourceOf(value);
  const called = Node.isCallExpression(value) ? value.getExpression() : undefined;
  return Node.isPropertyAccessExpression(called) ? called.getExpression() : undefined;
}

/** Removes the call before a throw that says the same: `discard`, `moveToDelayed`, `rateLimit`. */
export const endings: Rule = (node, r) => {
  if (Node.isExpressionStatement(node)) return endingOf(node) && isEnded(node) ? REMOVED : undefined;
  if (!Node.isThrowStatement(node)) return undefined;
  const before = node.getPreviousSibling();
  const call = before && endingOf(before);
  if (!call) return undefined;
  const [at] = call.getArguments();
  const name = (call.getExpression() as PropertyAccessExpression).getName();
  r.converted(call, name === 'rateLimit' ? 'worker.rateLimit' : `job.${name}`);
  if (name === 'rateLimit') {
    return `throw new ${r.imports.value('RateLimitedError')}({ ${pair('retryAfterMs', r.text(at!))} });`;
  }
  if (name === 'discard') return `throw ${finalError(node.getExpression(), r)};`;
  return `throw new ${r.imports.value('RetryLaterError')}(${at ? fromNow(at, r) : '0'});`;
};

/** Returns the call of a statement that ends an attempt together with the throw behind it. */
function endingOf(statement: Node): CallExpression | undefined {
  const value = Node.isExpressionStatement(statement) ? unwrapped(statement.getExpression()) : undefined;
  const called = Node.isCallExpression(value) ? value.getExpression() : undefined;
  if (!Node.isCallExpression(value) || !Node.isPropertyAccessExpression(called)) return undefined;
  const isOfJob =
    ['discard', 'moveToDelayed'].includes(called.getName()) && kindOf(called.getExpression()) === 'job';
  const isOfWorker = called.getName() === 'rateLimit' && called.getExpression().getText() === 'this.worker';
  const isRest = isOfWorker && value.getArguments().length === 1 && throwsRateLimit(statement.getNextSibling());
  return isOfJob || isRest ? value : undefined;
}

/** Returns true for `throw new RateLimitError()`, and its older form `throw Worker.RateLimitError()`. */
function throwsRateLimit(node: Node | undefined): boolean {
  const thrown = Node.isThrowStatement(node) ? node.getExpression() : undefined;
  if (Node.isNewExpression(thrown)) return isFromBull(thrown.getExpression(), 'RateLimitError');
  const called = Node.isCallExpression(thrown) ? thrown.getExpression() : undefined;
  const isError = Node.isPropertyAccessExpression(called) && called.getName() === 'RateLimitError';
  return isError && isFromBull(called.getExpression(), 'Worker');
}

function isEnded(statement: Statement): boolean {
  return Node.isThrowStatement(statement.getNextSibling());
}

/** Returns the time from now of an instant: `Date.now() + ms` is that many ms. */
function fromNow(at: Node, r: Rewriter): string {
  const isSum = Node.isBinaryExpression(at) && at.getOperatorToken().getText() === '+';
  if (isSum && at.getLeft().getText() === 'Date.now()') return r.text(at.getRight());
  return `${r.text(at)} - Date.now()`;
}

/** Returns an error that is not retried, with the message of another. */
function finalError(thrown: Node, r: Rewriter): string {
  const error = r.imports.value('NonRetryableError');
  if (Node.isNewExpression(thrown))
    return `new ${error}(${thrown
      .getArguments()
      .map((each) => r.text(each))
      .join(', ')})`;
  return `new ${error}(String(${r.text(thrown)}), { cause: ${r.text(thrown)} })`;
}
