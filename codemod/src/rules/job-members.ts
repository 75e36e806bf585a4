// What is read of a job, and done with it. A member has a new form for each origin of the job.
import { Node, SyntaxKind, type CallExpression, type PropertyAccessExpression, type Statement } from 'ts-morph';
import { isFromBull } from '../app/bull-imports.js';
import { kindOf } from '../app/kinds.js';
import { assignmentsTo, type Origin } from '../app/origins.js';
import { declarationsOf, nameOf, textOf, unwrapped } from '../app/values.js';
import { pair } from '../rewrite/properties.js';
import { REMOVED, type Rewriter, type Rule } from '../rewrite/rewriter.js';
import { STATES } from './queue-call.js';
import { isIgnored } from './results.js';

/** The origins of a job that have a form here. */
export type Role = Exclude<Origin, 'left' | 'stub' | 'unknown'>;

type Member = (job: string) => string;
const field =
  (name: string): Member =>
  (job) =>
    `${job}.${name}`;
const time =
  (name: string): Member =>
  (job) =>
    `${job}.${name}.getTime()`;

const SAME: Record<string, Member> = { id: field('id'), name: field('name'), queueName: field('queue') };
const COMMON: Record<string, Member> = { ...SAME, data: field('payload'), timestamp: time('enqueuedAt') };
const RUNNING = { ...COMMON, log: field('log'), updateProgress: field('progress'), processedOn: time('claimedAt') };

const MEMBERS: Record<Role, Record<string, Member>> = {
  running: { ...RUNNING, attemptsMade: (job) => `(${job}.attempt - 1)` },
  // At an event the attempt is counted.
  ended: { ...RUNNING, attemptsMade: field('attempt') },
  record: {
    ...COMMON,
    attemptsMade: field('attempts'),
    returnvalue: field('result'),
    failedReason: field('lastError'),
    progress: field('progress'),
    processedOn: (job) => `${job}.claimedAt?.getTime()`,
    finishedOn: (job) => `(${job}.completedAt ?? ${job}.failedAt)?.getTime()`,
  },
  handle: SAME,
};

/** What to use in place of members that are left. */
const INSTEAD: Record<string, string> = {
  token: 'a handler gets no token: `job.fence` fences its own writes',
  queue: '`queue` is the name of the queue here: the queue itself is injected',
  opts: 'of the options `job.maxAttempts` is kept, and of a record `priority` and `group`',
  progress: 'the last value of `progress` is that of `get(id)`; for later attempts there is `job.lastCheckpoint`',
  failedReason: 'this is the `error` of the event, and `lastError` of a record: pass it on',
  returnvalue: 'this is the `result` of the event, and of a record',
  stacktrace: 'this is the `error` of the event, and `attemptLog` of a record',
  finishedOn: 'this is `completedAt` or `failedAt` of a record',
  getState: 'this is the `status` of a record, read anew by `get(id)`, with other names',
  updateData: 'this is `update(id, payload)` of the queue; for later attempts there is `job.checkpoint(value)`',
  update: 'this is `update(id, payload)` of the queue; for later attempts there is `job.checkpoint(value)`',
  extendLock: 'the worker extends the claim: delete this',
  getChildrenValues: 'these are `job.batch.members()` in a follow-up',
  moveToDelayed: 'this is `throw new RetryLaterError(ms)`, or `return job.snooze(ms)`',
  moveToWaitingChildren:
    'a follow-up of the batch runs after its jobs; within a handler `job.waitFor(name)` waits for a signal',
  moveToFailed: 'throw an error: `NonRetryableError` ends all attempts',
  moveToCompleted: 'return the result',
  discard: 'throw a `NonRetryableError` where the job must not be tried again',
  waitUntilFinished: 'this is `result()` of the handle that `enqueue` returned, or `result(id)` of the queue',
  finished: 'this is `result()` of the handle that `enqueue` returned, or `result(id)` of the queue',
  changePriority: 'this is `setPriority(id, priority)` of the queue, the other way round',
  changeDelay: 'this is `reschedule(id, { delayMs })` of the queue',
  remove: 'this is `remove(id)` of the queue',
  retry: 'this is `deadLetters.redrive(id)` of the queue',
  promote: 'this is `promote(id)` of the queue',
};

/** Returns the forms of a job. Undefined for one that stays one of BullMQ, or whose origin is unknown. */
export function rolesOf(job: Node, r: Rewriter): Role[] | undefined {
  const origins = [...r.app.origins.of(job)].filter((each) => each !== 'stub');
  const isKnown =
    origins.length > 0 && origins.every((each) => typeof each === 'string' && Object.hasOwn(MEMBERS, each));
  return isKnown ? (origins as Role[]) : undefined;
}

/** Returns true if code says at a declaration what the job is: its type has the TODO then. */
function isAnnotated(job: Node): boolean {
  return declarationsOf(unwrapped(job)).some((each) => Node.isTyped(each) && each.getTypeNode() !== undefined);
}

/** Converts members of jobs. */
export const jobMembers: Rule = (node, r) => {
  if (!Node.isPropertyAccessExpression(node) || kindOf(node.getExpression()) !== 'job') return undefined;
  const owner = node.getExpression();
  if (r.app.origins.of(owner).has('left')) return undefined;
  const roles = rolesOf(owner, r);
  const name = node.getName();
  if (roles === undefined) {
    if (isAnnotated(owner) || Object.hasOwn(SAME, name)) return undefined;
    return r.leave(
      node,
      'it is not known here where this job comes from, a handler, a queue or an enqueue: its members depend on that',
      'calls',
    );
  }
  const job = r.text(owner) + (node.hasQuestionDotToken() ? '?' : '');
  const isSet = name === 'progress' && isCalledWithValue(node);
  const texts = new Set(roles.map((role) => memberText(isSet ? 'updateProgress' : name, role, job)));
  const [text] = texts;
  if (texts.size !== 1 || text === undefined) return r.leave(node, `\`${name}\`${insteadOf(name, roles)}`, 'calls');
  const isNext = name === 'attemptsMade' && roles[0] === 'running' && isPlusOne(node);
  return isNext ? `${job}.attempt` : text;
};

/** Converts `typeof job.data`. */
export const jobMemberTypes: Rule = (node, r) => {
  if (!Node.isQualifiedName(node)) return undefined;
  const left = node.getLeft();
  const owner = nameOf(left);
  const isOfJob = node.getFirstAncestor((each) => !Node.isQualifiedName(each))?.isKind(SyntaxKind.TypeQuery);
  if (!isOfJob || kindOf(owner) !== 'job' || r.app.origins.of(owner).has('left')) return undefined;
  const roles = rolesOf(owner, r) ?? [];
  const name = node.getRight().getText();
  const texts = new Set(roles.map((role) => memberText(name, role, r.text(left))));
  const [text] = texts;
  const isName = texts.size === 1 && text !== undefined && /^[\w.]+$/.test(text);
  return isName ? text : r.leave(node, `\`${name}\`${insteadOf(name, roles)}`, 'calls');
};

function memberText(name: string, role: Role, job: string): string | undefined {
  return Object.hasOwn(MEMBERS[role], name) ? MEMBERS[role][name]!(job) : undefined;
}

function insteadOf(name: string, roles: readonly Role[]): string {
  if (roles.length > 1)
    return `: this code gets jobs of several kinds (${roles.join(', ')}), which have other members`;
  return Object.hasOwn(INSTEAD, name) ? `: ${INSTEAD[name]}` : ' of a job has no counterpart of this name';
}

/** Returns true for `job.progress(value)`, which sets it; without a value it is read. */
function isCalledWithValue(node: Node): boolean {
  const call = node.getParent();
  return Node.isCallExpression(call) && call.getExpression() === node && call.getArguments().length > 0;
}

/** Converts `job.opts.attempts`. */
export const jobOptionMembers: Rule = (node, r) => {
  if (!Node.isPropertyAccessExpression(node) || node.getName() !== 'attempts') return undefined;
  const opts = node.getExpression();
  if (!Node.isPropertyAccessExpression(opts) || opts.getName() !== 'opts' || kindOf(opts.getExpression()) !== 'job')
    return undefined;
  const roles = rolesOf(opts.getExpression(), r);
  if (!roles || roles.includes('handle')) return undefined;
  return `${r.text(opts.getExpression())}${opts.hasQuestionDotToken() ? '?.' : '.'}maxAttempts`;
};

/** Converts the counts of a queue, by state. Both waiting and prioritized jobs are pending. */
export const countMembers: Rule = (node, r) => {
  if (Node.isBindingElement(node)) {
    const owner = node.getParent().getParent();
    const from = Node.isVariableDeclaration(owner) ? owner.getInitializer() : undefined;
    if (kindOf(from) !== 'counts') return undefined;
    const name = node.getPropertyNameNode()?.getText() ?? node.getName();
    return isCount(name)
      ? pairOf(STATES[name]!, node.getName())
      : r.leave(node, `\`${name}\` is no figure of \`stats()\``, 'calls');
  }
  if (!Node.isPropertyAccessExpression(node) || kindOf(node.getExpression()) !== 'counts') return undefined;
  const name = node.getName();
  if (!isCount(name)) return r.leave(node, `\`${name}\` is no figure of \`stats()\``, 'calls');
  return `${r.text(node.getExpression())}${node.hasQuestionDotToken() ? '?.' : '.'}${STATES[name]}`;
};

const isCount = (name: string): boolean => name !== 'prioritized' && Object.hasOwn(STATES, name);

/** Returns a part of a pattern. */
function pairOf(name: string, local: string): string {
  return name === local ? name : `${name}: ${local}`;
}

const OF_SCHEDULE: Record<string, string> = {
  id: 'id',
  key: 'id',
  name: 'name',
  pattern: 'cron',
  cron: 'cron',
  tz: 'timeZone',
  every: 'everyMs',
};

/** Converts members of the recurring jobs of a queue. */
export const scheduleMembers: Rule = (node, r) => {
  if (!Node.isPropertyAccessExpression(node) || kindOf(node.getExpression()) !== 'schedule') return undefined;
  const name = node.getName();
  const job = r.text(node.getExpression()) + (node.hasQuestionDotToken() ? '?.' : '.');
  if (name === 'next') return `${job}nextAt?.getTime()`;
  return Object.hasOwn(OF_SCHEDULE, name)
    ? job + OF_SCHEDULE[name]
    : r.leave(node, `\`${name}\` of a schedule has another name or place`, 'calls');
};

function isPlusOne(node: Node): boolean {
  const sum = node.getParent();
  return Node.isBinaryExpression(sum) && sum.getText().replaceAll(' ', '').endsWith('.attemptsMade+1');
}

/** Counts attempts from 1: leaves the `+ 1` behind `attemptsMade` out, and compares with one more. */
export const nextAttempt: Rule = (node, r) => {
  if (!Node.isBinaryExpression(node)) return undefined;
  const [left, right] = [node.getLeft(), node.getRight()];
  const isAttempt =
    Node.isPropertyAccessExpression(left) &&
    left.getName() === 'attemptsMade' &&
    kindOf(left.getExpression()) === 'job';
  const roles = isAttempt ? rolesOf(left.getExpression(), r) : undefined;
  if (!isAttempt || roles?.join() !== 'running') return undefined;
  if (isPlusOne(left)) return r.text(left);
  const operator = node.getOperatorToken().getText();
  if (!/^([=!]==?|[<>]=?)$/.test(operator) || !Node.isNumericLiteral(right)) return undefined;
  const job = r.text(left.getExpression()) + (left.hasQuestionDotToken() ? '?' : '');
  return `${job}.attempt ${operator} ${right.getLiteralValue() + 1}`;
};

/** Converts a comparison of a job's state with one of the old names. */
export const stateComparisons: Rule = (node, r) => {
  if (Node.isCaseClause(node)) {
    const owner = node.getFirstAncestorByKind(SyntaxKind.SwitchStatement);
    const status =
      owner && isOurState(owner.getExpression(), r) ? STATES[textOf(node.getExpression()) ?? ''] : undefined;
    if (status === undefined) return undefined;
    r.give(node.getExpression(), `'${status}'`);
    return r.copy(node);
  }
  if (!Node.isBinaryExpression(node) || !/^[=!]==?$/.test(node.getOperatorToken().getText())) return undefined;
  const status = STATES[textOf(node.getRight()) ?? ''];
  if (status === undefined || !isOurState(node.getLeft(), r)) return undefined;
  const left = unwrapped(node.getLeft());
  const text = Node.isCallExpression(left)
    ? recordCall(left.getExpression() as PropertyAccessExpression, left, r)
    : undefined;
  if (text !== undefined) r.converted(left, 'job.getState');
  return `${text ?? r.text(node.getLeft())} ${node.getOperatorToken().getText()} '${status}'`;
};

/** Returns true for the state of a job that is a record here. */
function isOurState(node: Node, r: Rewriter): boolean {
  const call = callOfState(node);
  const called = call?.getExpression();
  if (!Node.isPropertyAccessExpression(called) || rolesOf(called.getExpression(), r)?.join() !== 'record')
    return false;
  return recordCall(called, call!, r) !== undefined;
}

/** Returns the call that an expression has its state from. */
function callOfState(node: Node): CallExpression | undefined {
  const value = unwrapped(node);
  if (Node.isCallExpression(value)) {
    const called = value.getExpression();
    const isAsked = Node.isPropertyAccessExpression(called) && called.getName() === 'getState';
    return isAsked && kindOf(called.getExpression()) === 'job' ? value : undefined;
  }
  const [declaration] = Node.isIdentifier(value) ? declarationsOf(value) : [];
  const initializer = Node.isVariableDeclaration(declaration) ? declaration.getInitializer() : undefined;
  return initializer && callOfState(initializer);
}

/** Returns true if code does more with a state than compare it with names. */
function escapes(call: CallExpression, r: Rewriter): boolean {
  const awaited = call.getParent();
  let value: Node = Node.isAwaitExpression(awaited) ? awaited : call;
  while (Node.isParenthesizedExpression(value.getParent())) value = value.getParent()!;
  const parent = value.getParent();
  const name = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
  if (!Node.isIdentifier(name)) return !isCompared(value);
  return !r.app.usesOf(parent!, name.getText()).every(isCompared);
}

function isCompared(node: Node): boolean {
  const parent = node.getParent();
  if (Node.isSwitchStatement(parent)) return true;
  return Node.isBinaryExpression(parent) && parent.getLeft() === node && textOf(parent.getRight()) !== undefined;
}

/** Converts `{ data }` of a job that is taken apart. */
export const jobPatterns: Rule = (node, r) => {
  if (!Node.isBindingElement(node) || !Node.isObjectBindingPattern(node.getParent())) return undefined;
  const owner = node.getParent().getParent();
  const from = Node.isParameterDeclaration(owner)
    ? owner
    : Node.isVariableDeclaration(owner)
      ? owner.getInitializer()
      : undefined;
  if (from === undefined || kindOf(from) !== 'job' || r.app.origins.of(from).has('left')) return undefined;
  const roles = rolesOf(from, r);
  if (roles === undefined) return undefined;
  const name = node.getPropertyNameNode()?.getText() ?? node.getName();
  if (name === 'id' || name === 'name') return undefined;
  if (name !== 'data' || roles.includes('handle'))
    return r.leave(node, `\`${name}\`${insteadOf(name, roles)}`, 'calls');
  return `payload: ${r.text(node.getNameNode())}${node.getInitializer() ? ` = ${r.text(node.getInitializer()!)}` : ''}`;
};

/** Converts calls of a job that was read or added. */
export const jobCalls: Rule = (node, r) => {
  if (Node.isAwaitExpression(node)) {
    const text = Node.isCallExpression(node.getExpression()) ? jobCalls(node.getExpression(), r) : undefined;
    if (text === undefined) return undefined;
    // A state is known without a further call.
    if (text.endsWith('.status')) return text;
    if (!text.startsWith('(')) return `await ${text}`;
    if (text.includes(' && '))
      return Node.isExpressionStatement(node.getParent()) ? `await ${text}` : `(await ${text})`;
    return Node.isIfStatement(node.getParent()) ? text.slice(1, -1) : text;
  }
  if (!Node.isCallExpression(node)) return undefined;
  const called = node.getExpression();
  if (!Node.isPropertyAccessExpression(called) || kindOf(called.getExpression()) !== 'job') return undefined;
  const roles = rolesOf(called.getExpression(), r)?.join();
  const text =
    roles === 'handle' ? handleCall(called, node, r) : roles === 'record' ? recordCall(called, node, r) : undefined;
  if (text !== undefined) {
    r.converted(node, `job.${called.getName()}`);
    if (called.getName() === 'getState' && escapes(node, r)) {
      r.todo(
        node,
        'the states have other names: `pending` (waiting), `scheduled` (delayed), `processing` (active)',
        'calls',
      );
    }
  }
  return text;
};

function handleCall(called: PropertyAccessExpression, node: CallExpression, r: Rewriter): string | undefined {
  const name = called.getName();
  if (name !== 'waitUntilFinished' && name !== 'finished') return undefined;
  const timeout = name === 'finished' ? undefined : node.getArguments()[1];
  const dot = called.hasQuestionDotToken() ? '?.' : '.';
  return `${r.text(called.getExpression())}${dot}result(${timeout ? `{ ${pair('timeoutMs', r.text(timeout))} }` : ''})`;
}

const IS_STATE: Record<string, string> = {
  isCompleted: 'completed',
  isFailed: 'failed',
  isDelayed: 'scheduled',
  isActive: 'processing',
  isWaiting: 'pending',
};

/** The calls of a queue with the id of a job. */
const OF_QUEUE: Record<string, (id: string, list: readonly string[]) => string> = {
  remove: (id) => `remove(${id})`,
  promote: (id) => `promote(${id})`,
  retry: (id) => `deadLetters.redrive(${id})`,
  update: (id, [data]) => `update(${id}, ${data})`,
  updateData: (id, [data]) => `update(${id}, ${data})`,
  changeDelay: (id, [delay]) => `reschedule(${id}, { delayMs: ${delay} })`,
  finished: (id) => `result<any>(${id})`,
  waitUntilFinished: (id, [, ttl]) => `result<any>(${id}${ttl ? `, { timeoutMs: ${ttl} }` : ''})`,
};

function recordCall(called: PropertyAccessExpression, node: CallExpression, r: Rewriter): string | undefined {
  const owner = called.getExpression();
  const job = r.text(owner);
  const name = called.getName();
  const isOptional = called.hasQuestionDotToken();
  const status = `${job}${isOptional ? '?' : ''}.status`;
  if (name === 'getState' || Object.hasOwn(IS_STATE, name)) {
    if (isReadInLoop(owner, node)) return undefined;
    return name === 'getState' ? status : `(${status} === '${IS_STATE[name]}')`;
  }
  const queue = sourceOf(owner);
  if (!queue || !Object.hasOwn(OF_QUEUE, name) || (name === 'retry' && node.getArguments().length > 0))
    return undefined;
  const list = node.getArguments().map((each) => r.text(each));
  const text = `${r.text(queue)}.${OF_QUEUE[name]!(`${job}.id`, list)}`;
  const isResult = /^(finished|waitUntilFinished)$/.test(name);
  const valued = isResult || isIgnored(node) ? text : `${text}.then(() => undefined)`;
  if (!isOptional) return valued;
  return Node.isIdentifier(owner) ? `(${job} && ${valued})` : undefined;
}

/** Returns true if a loop asks a job again and again that is read outside of it. */
function isReadInLoop(job: Node, call: Node): boolean {
  const loop = call.getFirstAncestor(
    (each) => Node.isIterationStatement(each) || Node.isFunctionLikeDeclaration(each) || Node.isArrowFunction(each),
  );
  if (!Node.isIterationStatement(loop)) return false;
  return !declarationsOf(unwrapped(job)).every((each) => each.getAncestors().includes(loop));
}

/** Returns the queue that a job was read from. It must be one alone, with the same name where the job is used. */
function sourceOf(job: Node): Node | undefined {
  const queues = queuesBehind(job);
  const [first] = queues;
  if (first === undefined || new Set(queues.map((each) => each?.getText())).size !== 1) return undefined;
  if (/^this\.#?\w+$/.test(first.getText())) return ownerOf(first) === ownerOf(job) ? first : undefined;
  const scopes = job.getAncestors();
  const declared = declarationsOf(unwrapped(first)).map((each) => each.getFirstAncestorOrThrow(isScope));
  return declared.some((each) => scopes.includes(each)) ? first : undefined;
}

const ownerOf = (node: Node): Node | undefined => node.getFirstAncestorByKind(SyntaxKind.ClassDeclaration);

const isScope = (node: Node): boolean =>
  Node.isBlock(node) ||
  Node.isSourceFile(node) ||
  Node.isFunctionLikeDeclaration(node) ||
  Node.isArrowFunction(node);

function queuesBehind(job: Node): (Node | undefined)[] {
  const value = unwrapped(job);
  if (Node.isCallExpression(value)) {
    const called = value.getExpression();
    if (!Node.isPropertyAccessExpression(called)) return [undefined];
    const owner = called.getExpression();
    if (kindOf(owner) === 'queue') return [owner];
    return /^(filter|find|at|pop|shift|slice)$/.test(called.getName()) ? queuesBehind(owner) : [undefined];
  }
  if (Node.isElementAccessExpression(value)) return queuesBehind(value.getExpression());
  if (Node.isBinaryExpression(value)) return [...queuesBehind(value.getLeft()), ...queuesBehind(value.getRight())];
  const [declaration] = Node.isIdentifier(value) ? declarationsOf(value) : [];
  if (Node.isParameterDeclaration(declaration)) {
    const call = declaration.getParent().getParent();
    const called = Node.isCallExpression(call) ? call.getExpression() : undefined;
    return Node.isPropertyAccessExpression(called) ? queuesBehind(called.getExpression()) : [undefined];
  }
  if (!Node.isVariableDeclaration(declaration)) return [undefined];
  const loop = declaration.getParent().getParent();
  if (Node.isForOfStatement(loop)) return queuesBehind(loop.getExpression());
  const values = [declaration.getInitializer(), ...assignmentsTo(declaration)].filter((each) => each !== undefined);
  return values.length === 0 ? [undefined] : values.flatMap((each) => queuesBehind(each));
}

/** Removes the call before a throw that says the same: `discard`, `moveToDelayed`, `rateLimit`. */
export const endings: Rule = (node, r) => {
  if (Node.isReturnStatement(node)) return discarded(node, r);
  if (Node.isExpressionStatement(node)) return endingOf(node, r) && isEnded(node) ? REMOVED : undefined;
  if (!Node.isThrowStatement(node)) return undefined;
  const before = node.getPreviousSibling();
  const call = before && endingOf(before, r);
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

/** Converts `return job.discard()`: the attempt ends well, so nothing is tried again. */
function discarded(node: Node, r: Rewriter): string | undefined {
  const value = Node.isReturnStatement(node) ? node.getExpression() : undefined;
  const call = value && unwrapped(value);
  const called = Node.isCallExpression(call) ? call.getExpression() : undefined;
  const isDiscard =
    Node.isPropertyAccessExpression(called) &&
    called.getName() === 'discard' &&
    kindOf(called.getExpression()) === 'job';
  if (!isDiscard || rolesOf(called.getExpression(), r)?.join() !== 'running') return undefined;
  r.converted(node, 'job.discard');
  return 'return;';
}

/** Returns the call of a statement that ends an attempt together with the throw behind it. */
function endingOf(statement: Node, r: Rewriter): CallExpression | undefined {
  const value = Node.isExpressionStatement(statement) ? unwrapped(statement.getExpression()) : undefined;
  const called = Node.isCallExpression(value) ? value.getExpression() : undefined;
  if (!Node.isCallExpression(value) || !Node.isPropertyAccessExpression(called)) return undefined;
  const next = statement.getNextSibling();
  const isJob =
    kindOf(called.getExpression()) === 'job' && rolesOf(called.getExpression(), r)?.join() === 'running';
  const isDiscard = isJob && called.getName() === 'discard';
  const isDelay = isJob && called.getName() === 'moveToDelayed' && throwsError(next, 'DelayedError');
  const isOfWorker = called.getName() === 'rateLimit' && called.getExpression().getText() === 'this.worker';
  const isRest = isOfWorker && value.getArguments().length === 1 && throwsError(next, 'RateLimitError');
  return isDiscard || isDelay || isRest ? value : undefined;
}

/** Returns true for `throw new RateLimitError()`, and its older form `throw Worker.RateLimitError()`. */
function throwsError(node: Node | undefined, name: string): boolean {
  const thrown = Node.isThrowStatement(node) ? node.getExpression() : undefined;
  if (Node.isNewExpression(thrown)) return isFromBull(thrown.getExpression(), name);
  const called = Node.isCallExpression(thrown) ? thrown.getExpression() : undefined;
  const isError = Node.isPropertyAccessExpression(called) && called.getName() === name;
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
