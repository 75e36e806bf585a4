// The options of a worker, which become those of a queue.
import { Node, type ObjectLiteralExpression } from 'ts-morph';
import type { Processor } from '../app/processor.js';
import { isPortable, objectOf, propertyValue } from '../app/values.js';
import { pair, propertiesOf, type Property } from '../rewrite/properties.js';
import type { Rewriter } from '../rewrite/rewriter.js';

const DROPPED = [
  'removeOnComplete',
  'removeOnFail',
  'stalledInterval',
  'drainDelay',
  'runRetryDelay',
  'skipStalledCheck',
  'skipLockRenewal',
  'metrics',
  'name',
];

/** The options of processors in a file of their own. */
const SANDBOX = ['useWorkerThreads', 'workerForkOptions', 'workerThreadsOptions'];

/**
 * Returns the options for the decorator of a class. They are none where the module has them, because several handlers
 * share the queue.
 */
export function workerOptions(processor: Processor, r: Rewriter): string[] {
  const parts = processor.options ? queueOptions(processor.options, r, processor.node) : [];
  const all =
    processor.options?.getProperty('concurrency') || processor.bullMethods().length > 0
      ? parts
      : ['concurrency: 1', ...parts];
  if (!processor.isShared()) return all;
  if (!r.app.canSetQueues() || processor.queueName === undefined || !isSettable(processor)) {
    r.todo(
      processor.node,
      `set in the module: queues: { … { concurrency: ${processor.concurrency() ?? '…'} } }`,
      'the-parts',
    );
  }
  return [];
}

function isSettable(processor: Processor): boolean {
  return (
    processor.concurrency() !== undefined &&
    processor.queueOptions().every((each) => Node.isPropertyAssignment(each) && isPortable(each.getInitializer()!))
  );
}

/** Returns the entries of `queues` of a module: those of each queue that handlers share. */
export function queueSettings(r: Rewriter): string[] {
  const entries: string[] = [];
  for (const processor of r.app.processors.values()) {
    if (!processor.isShared() || processor.queueName === undefined || !isSettable(processor)) continue;
    const name = /^[A-Za-z_]\w*$/.test(processor.queueName) ? processor.queueName : `'${processor.queueName}'`;
    const others = processor.options ? queueOptions(processor.options, r) : [];
    const parts = [
      `concurrency: ${processor.concurrency()}`,
      ...others.filter((part) => !part.startsWith('concurrency')),
    ];
    entries.push(`${name}: { ${parts.join(', ')} }`);
  }
  return entries;
}

/** Returns the options of a queue from those of a worker. `at` gets a TODO for each that has no counterpart. */
export function queueOptions(object: ObjectLiteralExpression, r: Rewriter, at?: Node): string[] {
  return propertiesOf(object, r).flatMap((property) => queueOption(property, r, at));
}

function queueOption(property: Property, r: Rewriter, at?: Node): string[] {
  const { name, value, initializer, node } = property;
  if (name === 'concurrency') return [pair('concurrency', value)];
  if (name === 'lockDuration') return [pair('visibilityMs', value)];
  if (name === 'limiter') return rateLimit(initializer, r, at);
  if (name === 'maxStalledCount') {
    const count = Node.isNumericLiteral(initializer) ? String(initializer.getLiteralValue() + 1) : `${value} + 1`;
    return [`maxCrashes: ${count}`];
  }
  const settings = objectOf(initializer);
  if (name === 'settings' && settings) return queueOptions(settings, r, at);
  if (at && DROPPED.includes(name)) r.dropped(node, `\`${name}\` is dropped`);
  else if (at && SANDBOX.includes(name))
    r.todo(at, 'code in a file of its own is the option `thread`', 'the-parts');
  else if (at) r.todo(at, `the option \`${name || node.getText()}\` has no counterpart here`, 'options');
  return [];
}

function rateLimit(limiter: Node | undefined, r: Rewriter, at?: Node): string[] {
  const object = objectOf(limiter);
  const [max, duration] = [propertyValue(object, 'max'), propertyValue(object, 'duration')];
  if (max && duration && object!.getProperties().length === 2) {
    return [`rateLimit: { limit: ${r.text(max)}, periodMs: ${r.text(duration)} }`];
  }
  if (at) r.todo(at, 'this `limiter` is `rateLimit: { limit, periodMs }`, or one of groups', 'options');
  return [];
}
