// Listeners of a worker's events.
import { Node, type ParameterDeclaration } from 'ts-morph';
import { originOf } from '../app/bull-imports.js';
import { objectOf, propertyValue, textOf } from '../app/values.js';
import { REMOVED, type Rewriter, type Rule } from '../rewrite/rewriter.js';

/** The events by their old names: the new one, and what comes after the job. */
const EVENTS: Record<string, { type: string; second?: string }> = {
  active: { type: "'started'" },
  completed: { type: "'completed'", second: 'result' },
  failed: { type: "['retry', 'failed']", second: 'error' },
  OnQueueActive: { type: "'started'" },
  OnQueueCompleted: { type: "'completed'", second: 'result' },
  OnQueueFailed: { type: "['retry', 'failed']", second: 'error' },
};

/** Converts listeners, their parameters included. */
export const listeners: Rule = (node, r) => {
  if (!Node.isMethodDeclaration(node)) return undefined;
  const decorator = node
    .getDecorators()
    .find((each) => /^On(WorkerEvent|Queue\w+)$/.test(originOf(each.getNameNode())?.name ?? ''));
  if (!decorator) return undefined;
  const [argument] = decorator.getArguments();
  const name = originOf(decorator.getNameNode())!.name;
  const event = EVENTS[name === 'OnWorkerEvent' ? (textOf(argument) ?? '') : name];
  const [job, second, ...more] = node.getParameters();
  const processor = r.app.processors.get(node.getParent() as never);
  const isTaken = [job, second].every((each) => each === undefined || Node.isIdentifier(each.getNameNode()));
  const hasMore = more.length > 0 || (second !== undefined && event?.second === undefined);
  if (!event || !processor || !isTaken || hasMore) {
    return r.leave(node, `this listener needs another event than those of \`@OnJobEvent\``, 'the-parts');
  }
  r.imports.value('OnJobEvent');
  const queue = processor.queue ? r.text(processor.queue) : "'default'";
  const only = name === 'OnWorkerEvent' ? undefined : propertyValue(objectOf(argument), 'name');
  const filter = [`queue: ${queue}`, ...(only ? [`name: ${r.text(only)}`] : [])].join(', ');
  r.give(decorator, `@OnJobEvent(${event.type}, { ${filter} })`);
  r.converted(decorator, `@${name}`);
  if (job) giveParameters(job, second, event.second, r);
  return r.copy(node);
};

/** Returns a part of the event, under the name that the parameter had. */
function named(name: string, parameter: ParameterDeclaration): string {
  return parameter.getName() === name ? name : `${name}: ${parameter.getName()}`;
}

/** Gives the method one parameter, the event, in place of the job and what came after it. */
function giveParameters(
  job: ParameterDeclaration,
  second: ParameterDeclaration | undefined,
  field: string | undefined,
  r: Rewriter,
): void {
  const payload = payloadOf(job, r);
  const type = `${r.imports.type('WorkerEvent')}${payload ? `<${payload}>` : ''}`;
  const names = [named('job', job), ...(second && field ? [named(field, second)] : [])];
  const secondType = second?.getTypeNode()?.getText();
  const own = secondType && field ? ` & { ${field}: ${secondType} }` : '';
  r.give(job, `{ ${names.join(', ')} }: ${type}${own}`);
  if (second) r.give(second, REMOVED);
}

/** Returns the type of the payload that a parameter names. */
function payloadOf(job: ParameterDeclaration, r: Rewriter): string | undefined {
  const type = job.getTypeNode();
  const reference = Node.isUnionTypeNode(type)
    ? type.getTypeNodes().find((each) => Node.isTypeReference(each))
    : type;
  const [payload] = Node.isTypeReference(reference) ? reference.getTypeArguments() : [];
  return payload && r.text(payload);
}
