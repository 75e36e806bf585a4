// What a value of BullMQ is. By declarations and not by types, so that BullMQ need not be installed.
import { Node, type Decorator, type Expression, type ParameterDeclaration, type TypeNode } from 'ts-morph';
import { isFromBull, originOf } from './bull-imports.js';
import { declarationsOf, textOf, unwrapped } from './values.js';

/**
 * `job` runs in a handler, `ended` is that of an event, `record` was read from a queue, `handle` was added. `counts` are
 * numbers by state.
 */
export type Kind = 'queue' | 'job' | 'ended' | 'record' | 'records' | 'handle' | 'counts';

/** The listeners of Bull, and whether the attempt is counted there. */
const LISTENERS: Record<string, Kind> = { OnQueueActive: 'job', OnQueueCompleted: 'job', OnQueueFailed: 'ended' };

const RESULTS: Record<string, Kind> = {
  add: 'handle',
  getJob: 'record',
  getJobCounts: 'counts',
  ...Object.fromEntries(
    ['getJobs', 'getWaiting', 'getActive', 'getDelayed', 'getCompleted', 'getFailed'].map((name) => [
      name,
      'records',
    ]),
  ),
};

/** Returns what an expression is, or undefined if it is nothing of BullMQ. */
export function kindOf(node: Node | undefined): Kind | undefined {
  const value = node && unwrapped(node);
  if (Node.isCallExpression(value)) {
    const called = value.getExpression();
    const isQueue = Node.isPropertyAccessExpression(called) && kindOf(called.getExpression()) === 'queue';
    return isQueue ? RESULTS[called.getName()] : undefined;
  }
  if (Node.isBinaryExpression(value) && ['??', '||'].includes(value.getOperatorToken().getText())) {
    return kindOf(value.getLeft()) ?? kindOf(value.getRight());
  }
  if (Node.isElementAccessExpression(value)) {
    return kindOf(value.getExpression()) === 'records' ? 'record' : undefined;
  }
  if (!Node.isIdentifier(value) && !Node.isPropertyAccessExpression(value)) return undefined;
  for (const declaration of declarationsOf(value)) {
    const kind = kindOfDeclaration(declaration);
    if (kind) return kind;
  }
  return undefined;
}

function kindOfDeclaration(node: Node): Kind | undefined {
  if (Node.isParameterDeclaration(node)) return kindOfParameter(node);
  if (Node.isPropertyDeclaration(node)) {
    return node.getDecorators().some((each) => isFromBull(each.getNameNode(), 'InjectQueue'))
      ? 'queue'
      : kindOfType(node.getTypeNode());
  }
  if (Node.isPropertySignature(node)) return kindOfType(node.getTypeNode());
  if (!Node.isVariableDeclaration(node)) return undefined;
  const loop = node.getParent().getParent();
  if (Node.isForOfStatement(loop)) return kindOf(loop.getExpression()) === 'records' ? 'record' : undefined;
  return kindOf(node.getInitializer()) ?? kindOfType(node.getTypeNode());
}

function kindOfParameter(node: ParameterDeclaration): Kind | undefined {
  if (node.getDecorators().some((each) => isFromBull(each.getNameNode(), 'InjectQueue'))) return 'queue';
  const owner = node.getParent();
  const isFirst = 'getParameters' in owner && owner.getParameters()[0] === node;
  if (Node.isMethodDeclaration(owner) && isFirst) {
    const kind = owner.getDecorators().map(kindAtEvent).find(Boolean);
    if (kind) return kind;
    const isRun = owner.getDecorators().some((each) => isFromBull(each.getNameNode(), 'Process'));
    if (isRun || isProcess(owner)) return 'job';
  }
  const call = owner.getParent();
  if (Node.isArrowFunction(owner) && isFirst && Node.isCallExpression(call)) {
    const called = call.getExpression();
    const of = Node.isPropertyAccessExpression(called) ? kindOf(called.getExpression()) : undefined;
    if (of === 'records') return 'record';
  }
  return kindOfType(node.getTypeNode());
}

/** Returns what the job of a listener is. BullMQ counts the attempt before all events but `active`. */
function kindAtEvent(decorator: Decorator): Kind | undefined {
  const name = originOf(decorator.getNameNode())?.name ?? '';
  if (name === 'OnWorkerEvent') return textOf(decorator.getArguments()[0]) === 'active' ? 'job' : 'ended';
  return Object.hasOwn(LISTENERS, name) ? LISTENERS[name] : undefined;
}

/** Returns true for the method of a processor that runs its jobs. */
export function isProcess(node: Node): boolean {
  const owner = node.getParent();
  if (!Node.isMethodDeclaration(node) || node.getName() !== 'process' || !Node.isClassDeclaration(owner))
    return false;
  const base = owner.getExtends();
  return (
    isFromBull(base?.getExpression(), 'WorkerHost') ||
    (base !== undefined && owner.getDecorators().some((each) => isFromBull(each.getNameNode(), 'Processor')))
  );
}

function kindOfType(type: TypeNode | undefined): Kind | undefined {
  if (Node.isUnionTypeNode(type)) return type.getTypeNodes().map(kindOfType).find(Boolean);
  if (!Node.isTypeReference(type)) return undefined;
  const name = originOf(type.getTypeName())?.name;
  return name === 'Queue' ? 'queue' : name === 'Job' ? 'job' : undefined;
}

/** Returns the declaration of a queue, which has its decorator. */
export function queueNameOf(queue: Expression): Node | undefined {
  for (const declaration of declarationsOf(unwrapped(queue))) {
    if (!Node.isParameterDeclaration(declaration) && !Node.isPropertyDeclaration(declaration)) continue;
    const decorator = declaration.getDecorators().find((each) => isFromBull(each.getNameNode(), 'InjectQueue'));
    if (decorator) return decorator.getArguments()[0];
  }
  return undefined;
}
