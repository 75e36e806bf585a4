// Names of BullMQ that have one here: types, errors, decorators and tokens.
import { Node, type TypeReferenceNode } from 'ts-morph';
import { isFromBull, originOf } from '../app/bull-imports.js';
import { kindOf } from '../app/kinds.js';
import type { Rewriter, Rule } from '../rewrite/rewriter.js';

const TYPES: Record<string, string> = {
  JobsOptions: 'EnqueueOptions',
  JobOptions: 'EnqueueOptions',
  BulkJobOptions: 'EnqueueOptions',
};

/** Converts the types of queues, jobs and options. */
export const types: Rule = (node, r) => {
  if (!Node.isTypeReference(node)) return undefined;
  const name = originOf(node.getTypeName())?.name;
  if (name === undefined) return undefined;
  if (name === 'Queue') return r.imports.type('JobQueue');
  if (name === 'Job') return jobType(node, r);
  const type = TYPES[name];
  if (type) return r.imports.type(type);
  return r.leave(node, `the type \`${name}\` has no counterpart`, 'the-parts');
};

function jobType(node: TypeReferenceNode, r: Rewriter): string {
  const kind = kindOfValue(node);
  if (kind === 'handle') return r.imports.type('JobHandle');
  const type = r.imports.type(kind === 'record' ? 'JobRecord' : 'Job');
  const [payload] = node.getTypeArguments();
  return payload ? `${type}<${r.text(payload)}>` : type;
}

/** Returns the kind of the value that has this type: that of a variable, or what a function returns. */
function kindOfValue(node: Node) {
  const owner = node.getFirstAncestor(
    (each) =>
      Node.isVariableDeclaration(each) || Node.isFunctionLikeDeclaration(each) || Node.isArrowFunction(each),
  );
  if (Node.isVariableDeclaration(owner)) return kindOf(owner.getInitializer());
  const isReturned =
    Node.isReturnTyped(owner) && owner.getReturnTypeNode()?.containsRange(node.getPos(), node.getEnd());
  if (!owner || !isReturned) return undefined;
  const returned = owner
    .getDescendants()
    .find((each) => Node.isReturnStatement(each) && kindOf(each.getExpression()));
  return Node.isReturnStatement(returned) ? kindOf(returned.getExpression()) : undefined;
}

/** Converts `undefined` beside the type of a job that was read: a missing one is null. */
export const missing: Rule = (node, r) => {
  if (!Node.isUnionTypeNode(node)) return undefined;
  const isRecord = node
    .getTypeNodes()
    .some((each) => isFromBull(Node.isTypeReference(each) ? each.getTypeName() : undefined, 'Job'));
  if (!isRecord || kindOfValue(node) !== 'record') return undefined;
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
  Worker: ['a worker of your own is a handler, or `startWorkers` of the core', 'the-parts'],
  Queue: ['a queue of your own is an injected one', 'the-parts'],
  DelayedError: ['this is `job.snooze`, or a `RetryLaterError`', 'calls'],
  RateLimitError: ['this is a `RateLimitedError`', 'calls'],
  WaitingChildrenError: ['children found at run time are `job.batch.add`', 'the-parts'],
};

/** Puts a TODO at what stays. */
export const leftovers: Rule = (node, r) => {
  const origin = Node.isIdentifier(node) ? originOf(node) : undefined;
  if (!origin || origin.name === '*') return undefined;
  const [text, section] = LEFT[origin.name] ?? [`\`${origin.name}\` has no counterpart of this name`, 'the-parts'];
  r.imports.keep(node.getText());
  return r.leave(node, text, section);
};
