// Listeners of a worker's events.
import { Node, type Identifier, type MethodDeclaration, type ParameterDeclaration } from 'ts-morph';
import { originOf } from '../app/bull-imports.js';
import { objectOf, propertyValue, textOf } from '../app/values.js';
import { pair } from '../rewrite/properties.js';
import { REMOVED, type Rewriter, type Rule } from '../rewrite/rewriter.js';

type Part = 'result' | 'error';

interface Event {
  type: string;
  /** The second argument of the listener, after the job. */
  second?: Part;
}

/** The events by their old names. */
const EVENTS: Record<string, Event> = {
  active: { type: "'started'" },
  completed: { type: "'completed'", second: 'result' },
  failed: { type: "['retry', 'failed']", second: 'error' },
  OnQueueActive: { type: "'started'" },
  OnQueueCompleted: { type: "'completed'", second: 'result' },
  OnQueueFailed: { type: "['retry', 'failed']", second: 'error' },
};

/** What to use in place of events that are left. */
const INSTEAD: Record<string, string> = {
  error: 'errors of a worker are in the log of Nest: delete this',
  stalled: '`stalled` is the event `reclaimed` of `jobs.events`',
  progress: '`progress` is an event of `jobs.events`',
  drained: 'no event says that a queue is empty: `stats()` does',
  ready: 'the module connects: delete this',
  closed: 'the module closes its workers: delete this',
};

/** What is read of the job of an event, and is a part of the event here. */
const PARTS: Record<string, { part: Part; text: (name: string) => string }> = {
  failedReason: { part: 'error', text: (name) => `${name}.message` },
  returnvalue: { part: 'result', text: (name) => name },
};

/** Converts listeners, their parameters included. */
export const listeners: Rule = (node, r) => {
  if (!Node.isMethodDeclaration(node)) return undefined;
  const decorator = node
    .getDecorators()
    .find((each) => /^On(WorkerEvent|Queue\w+)$/.test(originOf(each.getNameNode())?.name ?? ''));
  if (!decorator) return undefined;
  const [argument] = decorator.getArguments();
  const decorated = originOf(decorator.getNameNode())!.name;
  const name = decorated === 'OnWorkerEvent' ? (textOf(argument) ?? '') : decorated;
  const event = Object.hasOwn(EVENTS, name) ? EVENTS[name] : undefined;
  if (!event)
    return r.leave(
      node,
      INSTEAD[name] ?? 'this listener needs another event than those of `@OnJobEvent`',
      'the-parts',
    );
  const processor = r.app.processors.get(node.getParent() as never);
  if (!processor) {
    return r.leave(
      node,
      'a listener in a class without `@Processor`: `@OnJobEvent` names the queue, in the class of each handler',
      'the-parts',
    );
  }
  const [job, second, ...more] = node.getParameters();
  const isTaken = [job, second].every((each) => each === undefined || Node.isIdentifier(each.getNameNode()));
  const unused = [...more, ...(event.second ? [] : [second])].filter((each) => each !== undefined);
  if (!isTaken || unused.some((each) => usesIn(node, each).length > 0)) {
    return r.leave(node, 'a listener gets `{ job, result, error }` here', 'the-parts');
  }
  r.imports.value('OnJobEvent');
  const queue = processor.queue ? r.text(processor.queue) : "'default'";
  const only = decorated === 'OnWorkerEvent' ? undefined : propertyValue(objectOf(argument), 'name');
  const filter = [`queue: ${queue}`, ...(only ? [`name: ${r.text(only)}`] : [])].join(', ');
  r.give(decorator, `@OnJobEvent(${event.type}, { ${filter} })`);
  r.converted(decorator, `@${decorated}`);
  for (const each of unused) r.give(each, REMOVED);
  if (job) giveParameters(node, job, event.second ? second : undefined, event.second, r);
  return r.copy(node);
};

function usesIn(method: MethodDeclaration, parameter: ParameterDeclaration): Identifier[] {
  const name = parameter.getName();
  return method.getDescendants().filter((each): each is Identifier => {
    return Node.isIdentifier(each) && each.getText() === name && each.getParent() !== parameter && isValue(each);
  });
}

/** Returns false for the name of a member. */
function isValue(node: Identifier): boolean {
  const parent = node.getParent();
  return (
    !(Node.isPropertyAccessExpression(parent) && parent.getNameNode() === node) &&
    !Node.isPropertyAssignment(parent)
  );
}

/** Gives the method one parameter, the event, in place of the job and what came after it. */
function giveParameters(
  method: MethodDeclaration,
  job: ParameterDeclaration,
  second: ParameterDeclaration | undefined,
  part: Part | undefined,
  r: Rewriter,
): void {
  const payload = payloadOf(job, r);
  const local = second?.getName() ?? freeName(method, part);
  const isRead = part !== undefined && local !== undefined && readsPart(method, job, part, local, r);
  const names = [pair('job', job.getName()), ...(part && local && (second || isRead) ? [pair(part, local)] : [])];
  const type = second?.getTypeNode();
  const own = type ? r.text(type) : part === 'error' ? 'Error' : 'any';
  const has = names.length > 1 && (type !== undefined || isRead) ? ` & { ${part}: ${own} }` : '';
  r.give(job, `{ ${names.join(', ')} }: ${r.imports.type('WorkerEvent')}<${payload}>${has}`);
  if (second) r.give(second, REMOVED);
}

/** Returns a name for a part of the event that the method does not have yet. */
function freeName(method: MethodDeclaration, part: Part | undefined): string | undefined {
  const names = method
    .getDescendants()
    .filter((each): each is Identifier => Node.isIdentifier(each) && isValue(each));
  const taken = new Set(names.map((each) => each.getText()));
  return [part, `${part}OfJob`].find((each) => each !== undefined && !taken.has(each));
}

/** Gives what is read of the job, and is a part of the event, its new text. Returns true if there is some. */
function readsPart(
  method: MethodDeclaration,
  job: ParameterDeclaration,
  part: Part,
  local: string,
  r: Rewriter,
): boolean {
  let isRead = false;
  for (const use of usesIn(method, job)) {
    const parent = use.getParent();
    const found = Node.isPropertyAccessExpression(parent) ? PARTS[parent.getName()] : undefined;
    if (found?.part !== part) continue;
    r.give(parent, found.text(local));
    isRead = true;
  }
  return isRead;
}

/** Returns the type of the payload that a parameter names. */
function payloadOf(job: ParameterDeclaration, r: Rewriter): string {
  const type = job.getTypeNode();
  const reference = Node.isUnionTypeNode(type)
    ? type.getTypeNodes().find((each) => Node.isTypeReference(each))
    : type;
  const [payload] = Node.isTypeReference(reference) ? reference.getTypeArguments() : [];
  return payload ? r.text(payload) : 'any';
}
