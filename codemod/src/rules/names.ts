// Names of BullMQ that have one here: types, errors, decorators and tokens.
import { Node, type TypeReferenceNode } from 'ts-morph';
import { isFromBull, originOf } from '../app/bull-imports.js';
import { kindOf } from '../app/kinds.js';
import type { Origin } from '../app/origins.js';
import { nameOf, textOf } from '../app/values.js';
import { REMOVED, type Rewriter, type Rule } from '../rewrite/rewriter.js';

const TYPES: Record<string, string> = {
  JobsOptions: 'EnqueueOptions',
  JobOptions: 'EnqueueOptions',
  BulkJobOptions: 'EnqueueOptions',
};

const OTHER_STATES =
  'the states have other names: `pending` (waiting), `scheduled` (delayed), `processing` (active)';

/** What to use in place of types that are left. */
const INSTEAD: Record<string, string> = {
  JobState: OTHER_STATES,
  JobType: OTHER_STATES,
  JobStatus: OTHER_STATES,
  JobId: 'an id is a `string`',
  QueueEvents: 'these events are `jobs.events`',
  FlowProducer: 'a flow is `after`, or a batch',
  FlowJob: 'a flow is `after`, or a batch',
  Worker: 'the worker belongs to the module: its handlers are `@JobHandler`',
  QueueOptions: 'the options of a queue are `QueueSettings`, in `queues` of the module',
  RegisterQueueOptions: 'queues need no registration',
  BullModuleOptions: 'the options of the module are `JobQueueModuleOptions`',
  BullRootModuleOptions: 'the options of the module are `JobQueueModuleOptions`',
  WorkerOptions: 'the options of a worker are those of `@JobHandler` or of the queue',
  RepeatOptions: 'when a schedule ticks is a `Recurrence`',
  ConnectionOptions: 'this is `RedisOptions` of ioredis',
};

/** Converts the types of queues, jobs and options. */
export const types: Rule = (node, r) => {
  if (!Node.isTypeReference(node)) return undefined;
  const name = originOf(node.getTypeName())?.name;
  if (name === undefined) return undefined;
  if (name === 'Queue') return queueType(node, r);
  if (name === 'Job') return jobType(node, r);
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
  if (type)
    return isPicked(node)
      ? r.leave(node, 'the options of a job have other names', 'options')
      : r.imports.type(type);
  const text = Object.hasOwn(INSTEAD, name) ? INSTEAD[name]! : `the type \`${name}\` has no counterpart`;
  return r.leave(node, text, 'the-parts');
};

/** Returns true for a type of which names are taken, as in `Pick` and `keyof`: these are other ones here. */
function isPicked(node: Node): boolean {
  const parent = node.getParent();
  if (Node.isTypeOperatorTypeNode(parent) || Node.isIndexedAccessTypeNode(parent)) return true;
  const isUtility = Node.isTypeReference(parent) && /^(Pick|Omit)$/.test(parent.getTypeName().getText());
  return isUtility || Node.isExpressionWithTypeArguments(parent);
}

function queueType(node: TypeReferenceNode, r: Rewriter): string {
  const owner = ownerOf(node);
  if (isPicked(node)) return r.leave(node, 'the members of a queue have other names', 'calls');
  if (isMock(node) || (owner && isStub(owner, r))) return r.leave(node, STAND_IN, 'the-parts');
  if (owner && (r.app.origins.isLeft(owner) || originsOf(owner, r).has('left'))) return keptType(node, r);
  return r.imports.type('JobQueue');
}

/** What a method of a queue resolves to. */
const RESULTS: Record<string, (r: Rewriter) => string> = {
  add: (r) => `${r.imports.type('JobHandle')}<any>`,
  addBulk: (r) => `${r.imports.type('JobHandle')}<any>[]`,
  getJob: (r) => `${r.imports.type('JobRecord')}<any, any> | null`,
};

/** The methods that resolve to a list of jobs. */
const LISTS = /^get(Jobs|Waiting|Active|Delayed|Completed|Failed)$/;

/** What `add` takes, in the order of BullMQ. */
const TAKEN_BY_ADD: ((r: Rewriter) => string)[] = [
  () => 'string',
  () => 'any',
  (r) => `${r.imports.type('EnqueueOptions')} | undefined`,
];

/** Converts types that name a method of a queue, as `typeof queue.add` does: the result, and what `add` takes. */
export const methodTypes: Rule = (node, r) => {
  if (Node.isQualifiedName(node)) {
    const name = Node.isTypeQuery(node.getParent()) ? methodNamed(node.getParentOrThrow(), r) : undefined;
    return name !== undefined && name !== 'name'
      ? r.leave(node, 'the members of a queue have other names', 'calls')
      : undefined;
  }
  const [returned, taken] = [argumentOf(node, 'ReturnType'), parameterOf(node)];
  const awaited = argumentOf(argumentOf(node, 'Awaited'), 'ReturnType');
  const name = methodNamed(awaited ?? returned ?? taken?.of, r);
  if (name === undefined) return undefined;
  if (taken) return name === 'add' ? inList(node, TAKEN_BY_ADD[taken.index]?.(r)) : undefined;
  const list = LISTS.test(name) ? `${r.imports.type('JobRecord')}<any, any>[]` : undefined;
  const text = Object.hasOwn(RESULTS, name) ? RESULTS[name]!(r) : list;
  return text && (awaited ? inList(node, text) : `Promise<${text}>`);
};

/** Returns the name of the method that a type is. Undefined for one of a queue that stays BullMQ's. */
function methodNamed(node: Node | undefined, r: Rewriter): string | undefined {
  if (Node.isTypeQuery(node)) {
    const name = node.getExprName();
    if (!Node.isQualifiedName(name)) return undefined;
    const queue = nameOf(name.getLeft());
    return kindOf(queue) === 'queue' && !r.app.origins.isLeft(queue) ? name.getRight().getText() : undefined;
  }
  if (!Node.isIndexedAccessTypeNode(node)) return undefined;
  const [object, index] = [node.getObjectTypeNode(), node.getIndexTypeNode()];
  const isQueue = Node.isTypeReference(object) && isFromBull(object.getTypeName(), 'Queue');
  return isQueue && Node.isLiteralTypeNode(index) ? textOf(index.getLiteral()) : undefined;
}

/** Returns the type argument of a utility such as `Awaited`. */
function argumentOf(node: Node | undefined, utility: string): Node | undefined {
  const isIt = Node.isTypeReference(node) && node.getTypeName().getText() === utility;
  return isIt ? node.getTypeArguments()[0] : undefined;
}

/** Returns the function and the place of `Parameters<…>[n]`. */
function parameterOf(node: Node): { of: Node; index: number } | undefined {
  const of = Node.isIndexedAccessTypeNode(node) ? argumentOf(node.getObjectTypeNode(), 'Parameters') : undefined;
  return of && Node.isIndexedAccessTypeNode(node)
    ? { of, index: Number(node.getIndexTypeNode().getText()) }
    : undefined;
}

/** Returns a union in parentheses where it is the type of the elements of a list. */
function inList(node: Node, text: string | undefined): string | undefined {
  return text?.includes(' | ') && Node.isArrayTypeNode(node.getParent()) ? `(${text})` : text;
}

const STAND_IN = 'this stands in for a queue: `enqueue` is what `add` was, or test with nest-job-queue/testing';

/** Returns true for the type of an object that a test puts in the place of another. */
function isMock(node: Node): boolean {
  const parent = node.getParent();
  return (
    Node.isTypeReference(parent) &&
    /\b(Mocked|MockedObject|MockedClass|DeepMocked|Partial)$/.test(parent.getTypeName().getText())
  );
}

/** Returns true for a cast or a variable of an object that is no queue. */
function isStub(owner: Node, r: Rewriter): boolean {
  const origins = r.app.origins.of(owner);
  return !Node.isParameterDeclaration(owner) && origins.size === 1 && origins.has('stub');
}

/** Returns a type that stays one of BullMQ. */
function keptType(node: TypeReferenceNode, r: Rewriter): string {
  const [root, ...rest] = node.getTypeName().getText().split('.');
  r.give(node.getTypeName(), [r.imports.keep(root!), ...rest].join('.'));
  return r.copy(node);
}

const NAMES: Partial<Record<Origin, string>> = {
  running: 'Job',
  ended: 'Job',
  record: 'JobRecord',
  handle: 'JobHandle',
};

function jobType(node: TypeReferenceNode, r: Rewriter): string {
  if (isPicked(node))
    return r.leave(node, 'the fields of a job have other names: those of `Job`, or of a `JobRecord`', 'calls');
  const owner = ownerOf(node);
  const origins = [...(owner ? originsOf(owner, r) : [])].filter((each) => each !== 'stub');
  if (origins.includes('left')) return keptType(node, r);
  const found = origins.map((each) => (typeof each === 'string' ? NAMES[each] : undefined));
  if (found.length === 0 || found.includes(undefined)) {
    return r.leave(
      node,
      'a job is a `Job` in its handler, a `JobRecord` when it was read, and a `JobHandle` when it was added: which it is here is not known',
      'calls',
    );
  }
  const [list, only] = [node.getTypeArguments(), new Set(found).size === 1 ? found[0]! : undefined];
  if (only === 'Job' && list.length > 0) {
    r.give(node.getTypeName(), r.imports.type(only));
    for (const each of list.slice(1)) r.give(each, REMOVED);
    return r.copy(node);
  }
  return [...new Set(found)].map((name) => r.imports.type(name!) + argumentsOf(name!, node, r)).join(' | ');
}

/** Returns the type arguments. Where BullMQ has none, payload and result are of any type. */
function argumentsOf(name: string, node: TypeReferenceNode, r: Rewriter): string {
  const [payload, result] = node.getTypeArguments().map((each) => r.text(each));
  if (name === 'Job') return `<${payload ?? 'any'}>`;
  return name === 'JobHandle' ? `<${result ?? 'any'}>` : `<${payload ?? 'any'}, ${result ?? 'any'}>`;
}

/** Returns the origins of what a declaration holds, a function returns, or a type is used for. */
function originsOf(owner: Node, r: Rewriter): ReadonlySet<Origin | Node> {
  if (Node.isTypeAliasDeclaration(owner)) {
    const uses = r.app.usesOf(owner, owner.getName()).map((each) => ownerOf(each));
    return new Set(uses.flatMap((each) => (each ? [...originsOf(each, r)] : ['unknown' as const])));
  }
  const isFunction =
    Node.isFunctionDeclaration(owner) ||
    Node.isMethodDeclaration(owner) ||
    Node.isArrowFunction(owner) ||
    Node.isFunctionExpression(owner);
  return isFunction ? r.app.origins.ofResults(owner) : r.app.origins.of(owner);
}

/** Returns the declaration, the function or the cast that a type belongs to. */
function ownerOf(node: Node): Node | undefined {
  let inner = node;
  for (let each = node.getParent(); each; each = each.getParent()) {
    const isValue =
      Node.isParameterDeclaration(each) ||
      Node.isVariableDeclaration(each) ||
      Node.isPropertyDeclaration(each) ||
      Node.isGetAccessorDeclaration(each) ||
      Node.isAsExpression(each) ||
      Node.isTypeAliasDeclaration(each);
    if (isValue) return each;
    if (Node.isReturnTyped(each))
      return each.getReturnTypeNode() === inner && !Node.isFunctionTypeNode(each) ? each : undefined;
    const isElsewhere = Node.isExpression(each) && !Node.isNewExpression(each);
    if (Node.isStatement(each) || Node.isPropertySignature(each) || isElsewhere) return undefined;
    inner = each;
  }
  return undefined;
}

/** Converts `undefined` beside the type of a job that was read: a missing one is null. */
export const missing: Rule = (node, r) => {
  if (!Node.isUnionTypeNode(node)) return undefined;
  const isOfJob = node
    .getTypeNodes()
    .some((each) => isFromBull(Node.isTypeReference(each) ? each.getTypeName() : undefined, 'Job'));
  const owner = isOfJob ? ownerOf(node) : undefined;
  const origins = owner ? [...originsOf(owner, r)] : [];
  if (origins.length !== 1 || origins[0] !== 'record') return undefined;
  const kept = node.getTypeNodes().map((each) => (each.getText() === 'undefined' ? 'null' : r.text(each)));
  return [...new Set(kept)].join(' | ');
};

/** Converts names that stand for themselves. */
export const names: Rule = (node, r) => {
  if (Node.isIdentifier(node)) {
    const name = originOf(node)?.name;
    if (name === 'UnrecoverableError') {
      r.converted(node, 'UnrecoverableError');
      return r.imports.value('NonRetryableError');
    }
    const parent = node.getParent();
    const isTest = Node.isBinaryExpression(parent) && parent.getOperatorToken().getText() === 'instanceof';
    if (isTest && name === 'DelayedError') return r.imports.value('RetryLaterError');
    if (isTest && name === 'RateLimitError') return r.imports.value('RateLimitedError');
    return name === 'getQueueToken' ? r.imports.value('getQueueToken') : undefined;
  }
  if (Node.isDecorator(node) && isFromBull(node.getNameNode(), 'InjectQueue')) {
    const [queue] = node.getArguments();
    r.converted(node, '@InjectQueue');
    return `@${r.imports.value('InjectQueue')}(${queue ? r.text(queue) : "'default'"})`;
  }
  return undefined;
};

/** The names without a counterpart of their own, and where to read on. */
const LEFT: Record<string, [string, 'the-parts' | 'calls']> = {
  FlowProducer: ['a flow is `after`, or a batch', 'the-parts'],
  InjectFlowProducer: ['a flow is `after`, or a batch', 'the-parts'],
  QueueEvents: ['these events are `jobs.events`', 'the-parts'],
  QueueEventsHost: ['these events are `jobs.events`', 'the-parts'],
  QueueEventsListener: ['these events are `jobs.events`', 'the-parts'],
  OnQueueEvent: ['these events are `jobs.events`', 'the-parts'],
  Worker: ['a worker of your own is a handler, or a `Worker` of nest-job-queue/core', 'the-parts'],
  Queue: ['a queue of your own is an injected one, or a `JobQueue` of nest-job-queue/core', 'the-parts'],
  Job: ['a job is read by `get(id)` of its queue', 'calls'],
  DelayedError: ['`return job.snooze(ms)`, or throw a `RetryLaterError(ms)`', 'calls'],
  RateLimitError: [
    'throw a `RateLimitedError({ retryAfterMs })`: the queue rests for that time; with `limit` all queues of a limit that they share',
    'calls',
  ],
  WaitingChildrenError: [
    'children found at run time are `job.batch.add`, and a follow-up runs after them; `job.waitFor(name)` waits for a signal',
    'the-parts',
  ],
};

/** Puts a TODO at what stays. */
export const leftovers: Rule = (node, r) => {
  const origin = Node.isIdentifier(node) ? originOf(node) : undefined;
  if (!origin || (origin.name === '*' && !Node.isNewExpression(node.getParent()))) return undefined;
  const parent = node.getParent();
  const isRateLimit =
    origin.name === 'Worker' && Node.isPropertyAccessExpression(parent) && parent.getName() === 'RateLimitError';
  const name = isRateLimit ? 'RateLimitError' : origin.name === '*' ? 'Queue' : origin.name;
  const [text, section] = LEFT[name] ?? [`\`${name}\` has no counterpart of this name`, 'the-parts'];
  r.leave(node, text, section);
  return r.imports.keep(node.getText());
};

/** Puts a TODO at a provider that stands in for a queue. */
export const standIns: Rule = (node, r) => {
  if (!Node.isPropertyAssignment(node) || !/^(useValue|useFactory|useClass)$/.test(node.getName()))
    return undefined;
  const object = node.getParent();
  const provide = Node.isObjectLiteralExpression(object) ? object.getProperty('provide') : undefined;
  const token = Node.isPropertyAssignment(provide) ? provide.getInitializer() : undefined;
  const isQueue = Node.isCallExpression(token) && isFromBull(token.getExpression(), 'getQueueToken');
  if (isQueue) {
    r.todo(node, STAND_IN, 'the-parts');
  }
  return undefined;
};

/** Puts a TODO at bull-board, which shows no queues of this library. */
export const boards: Rule = (node, r) => {
  if (
    !Node.isIdentifier(node) ||
    !/^(BullBoardModule|createBullBoard|BullBoardInstance|InjectBullBoard)$/.test(node.getText())
  )
    return undefined;
  const isImported = node
    .getSourceFile()
    .getImportDeclarations()
    .some(
      (each) =>
        each.getModuleSpecifierValue().startsWith('@bull-board/') && each.getText().includes(node.getText()),
    );
  if (!isImported || Node.isImportSpecifier(node.getParent())) return undefined;
  return r.leave(
    node,
    'bull-board does not show these queues: the dashboard is `JobQueueDashboardModule` of nest-job-queue/dashboard',
    'the-parts',
  );
};
