// What a value of BullMQ is: by its type, else by its decorator or its place. The declarations beside give it the type.
import { Node, type Decorator, type ParameterDeclaration, type Type } from 'ts-morph';
import { isFromBull, originOf } from './bull-imports.js';
import { DECLARATIONS } from './declarations.js';
import { declarationsOf, textOf, unwrapped } from './values.js';

/** `counts` are numbers by state, `schedule` is one of the recurring jobs of a queue. */
export type Kind = 'queue' | 'job' | 'options' | 'counts' | 'schedule' | 'worker';

const KINDS: Record<string, Kind> = {
  Queue: 'queue',
  Job: 'job',
  JobsOptions: 'options',
  BulkJobOptions: 'options',
  JobCounts: 'counts',
  RepeatableJob: 'schedule',
  Worker: 'worker',
};

/** What a queue without a type returns. */
const RESULTS: Record<string, Kind> = { add: 'job', getJob: 'job', getJobCounts: 'counts' };

/** Returns what an expression is, or undefined if it is nothing of BullMQ, a list or a promise. */
export function kindOf(node: Node | undefined): Kind | undefined {
  if (node === undefined) return undefined;
  return kindOfType(node.getType()) ?? kindWithoutType(node);
}

/** Returns what the values of a type are. */
export function kindOfType(type: Type): Kind | undefined {
  const name = declaredName(type.getNonNullableType());
  return name !== undefined && Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
}

/** Returns the name of a type of BullMQ. */
function declaredName(type: Type): string | undefined {
  const symbol = type.getSymbol();
  const isOurs = symbol
    ?.getDeclarations()
    .some((each) => each.getSourceFile().getFilePath().endsWith(DECLARATIONS));
  return isOurs ? symbol!.getName() : undefined;
}

/** Returns what an expression is whose type nothing says. */
function kindWithoutType(node: Node): Kind | undefined {
  const value = unwrapped(node);
  if (Node.isCallExpression(value)) {
    const called = value.getExpression();
    const isCallOfQueue =
      Node.isAwaitExpression(node) &&
      Node.isPropertyAccessExpression(called) &&
      kindWithoutType(called.getExpression()) === 'queue';
    return isCallOfQueue ? RESULTS[called.getName()] : undefined;
  }
  if (!Node.isIdentifier(value) && !Node.isPropertyAccessExpression(value)) return undefined;
  if (!value.getType().isAny()) return undefined;
  for (const declaration of declarationsOf(value)) {
    if (isInjectedQueue(declaration)) return 'queue';
    if (Node.isParameterDeclaration(declaration) && handledBy(declaration)) return 'job';
    const initializer = Node.isVariableDeclaration(declaration) ? declaration.getInitializer() : undefined;
    const kind = initializer && kindWithoutType(initializer);
    if (kind) return kind;
  }
  return undefined;
}

/** Returns the decorator of a parameter or property that is an injected queue. */
function injection(node: Node): Decorator | undefined {
  const isDecorated = Node.isParameterDeclaration(node) || Node.isPropertyDeclaration(node);
  return isDecorated
    ? node.getDecorators().find((each) => isFromBull(each.getNameNode(), 'InjectQueue'))
    : undefined;
}

/** Returns true for a parameter or property with `@InjectQueue`. */
export function isInjectedQueue(node: Node): boolean {
  return injection(node) !== undefined;
}

/** Returns the name of the queue that a parameter or property is injected with. */
export function injectedName(node: Node): Node | undefined {
  return injection(node)?.getArguments()[0];
}

/** Who gives a parameter its job: the worker that runs it, or an event of the worker. */
export type Giver = 'running' | 'ended';

/** Returns what gives the first parameter of a method its job; undefined for any other parameter. */
export function handledBy(node: ParameterDeclaration): Giver | undefined {
  const method = node.getParent();
  if (!Node.isMethodDeclaration(method) || method.getParameters()[0] !== node) return undefined;
  if (isProcess(method)) return 'running';
  for (const decorator of method.getDecorators()) {
    const name = originOf(decorator.getNameNode())?.name;
    if (name === 'Process' || name === 'OnQueueActive' || name === 'OnQueueCompleted') return 'running';
    // BullMQ counts the attempt before all events but `active`.
    if (name === 'OnWorkerEvent') return textOf(decorator.getArguments()[0]) === 'active' ? 'running' : 'ended';
    if (name === 'OnQueueFailed') return 'ended';
  }
  return undefined;
}

/** Returns true for the method of a processor that runs its jobs. */
export function isProcess(node: Node): boolean {
  const owner = node.getParent();
  if (!Node.isMethodDeclaration(node) || node.getName() !== 'process' || !Node.isClassDeclaration(owner))
    return false;
  const isDecorated = owner.getDecorators().some((each) => isFromBull(each.getNameNode(), 'Processor'));
  for (let each: typeof owner | undefined = owner; each; each = each.getBaseClass()) {
    const base = each.getExtends()?.getExpression();
    if (isFromBull(base, 'WorkerHost')) return true;
    if (base !== undefined && isDecorated && each.getBaseClass() === undefined) return true;
  }
  return false;
}
