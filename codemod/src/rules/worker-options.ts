// The options of a worker, which become those of a queue.
import { Node, type ObjectLiteralExpression } from 'ts-morph';
import type { Processor } from '../app/processor.js';
import { settingIn } from '../app/queues.js';
import { isPortable, numberOf, objectOf, propertyValue } from '../app/values.js';
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

/** What to use in place of options that are left. */
const INSTEAD: Record<string, string> = {
  autorun:
    "`autorun: false`: `worker: 'manual'` of the module starts the workers with `jobs.startWorkers()`, and `worker: false` starts none",
  telemetry: '`telemetry` is nest-job-queue/tracing',
  useWorkerThreads: 'code in a file of its own is the option `thread`',
  workerForkOptions: 'code in a file of its own is the option `thread`',
  workerThreadsOptions: 'code in a file of its own is the option `thread`',
  connection: 'the connection is that of the module; another one has a name, and is the option `connection`',
  prefix: '`prefix` is an option of the module',
  settings: 'a `backoffStrategy` is `backoff: (attempt, error, job) => ms` of the handler',
};

/**
 * Returns the options for the decorator of a class. They are none where the module has them, because several handlers
 * share the queue.
 */
export function workerOptions(processor: Processor, r: Rewriter): string[] {
  if (processor.hasHiddenOptions) {
    r.todo(
      processor.node,
      'the options of this worker cannot be read here: `concurrency` is 1 there without one, and 10 here',
      'options',
    );
    return [];
  }
  const parts = processor.options ? queueOptions(processor.options, r, processor.node) : [];
  const others = parts.filter((part) => !/^concurrency\b/.test(part));
  const concurrency = pair('concurrency', concurrencyText(processor, r));
  if (!processor.isShared()) return [concurrency, ...others];
  const lost = r.app.queues.canSetQueues() && isSettable(processor) ? [] : [concurrency, ...others];
  if (lost.length > 0) {
    const name = processor.queueName === undefined ? '…' : `'${processor.queueName}'`;
    r.todo(
      processor.node,
      `set in the module: queues: { ${name}: { ${lost.join(', ').replace(/\s+/g, ' ')} } }`,
      'the-parts',
    );
  }
  return [];
}

/** Returns how many jobs ran at once, as text. With methods of Bull it is their sum. */
function concurrencyText(processor: Processor, r: Rewriter): string {
  const sum = processor.concurrency();
  if (sum !== undefined) {
    const found = processor.options ? settingIn('concurrency', processor.options) : 'absent';
    return typeof found === 'string' ? String(sum) : valueText(found, 'concurrency', processor.options!, r);
  }
  if (processor.bullMethods().length === 0)
    return valueText(processor.concurrencies()[0]!, 'concurrency', processor.options!, r);
  return processor
    .concurrencies()
    .map((each) => (each ? r.text(each) : '1'))
    .join(' + ');
}

/** Returns the text of a value. That of another file is read from its constant. */
function valueText(value: Node, name: string, object: ObjectLiteralExpression, r: Rewriter): string {
  if (value.getSourceFile() === r.file || isPortable(value)) return r.text(value);
  return `${constantName(object, r)}.${name}`;
}

/** Returns the name that this file has for a constant of another file. */
function constantName(object: ObjectLiteralExpression, r: Rewriter): string {
  const declaration = object.getFirstAncestor(
    (each) => Node.isVariableDeclaration(each) || Node.isPropertyDeclaration(each),
  );
  const own = Node.isVariableDeclaration(declaration) ? r.app.usesOf(declaration, declaration.getName()) : [];
  return own.find((each) => each.getSourceFile() === r.file)?.getText() ?? object.getText();
}

function isSettable(processor: Processor): boolean {
  return (
    processor.queueName !== undefined &&
    processor.concurrency() !== undefined &&
    !processor.hasHiddenOptions &&
    processor.queueOptions().every((each) => Node.isPropertyAssignment(each) && isPortable(each.getInitializer()!))
  );
}

/** Returns the entries of `queues` of a module: those of each queue that handlers share. */
export function queueSettings(r: Rewriter): string[] {
  const entries: string[] = [];
  for (const processor of r.app.processors.values()) {
    if (!processor.isShared() || !isSettable(processor)) continue;
    const name = /^[A-Za-z_]\w*$/.test(processor.queueName!) ? processor.queueName : `'${processor.queueName}'`;
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
  return propertiesOf(object, r).flatMap((property) => queueOption(property, object, r, at));
}

function queueOption(property: Property, object: ObjectLiteralExpression, r: Rewriter, at?: Node): string[] {
  const { name, initializer, node } = property;
  const value = initializer ? valueText(initializer, name, object, r) : property.value;
  if (name === 'concurrency') return [pair('concurrency', value)];
  if (name === 'lockDuration') return [pair('visibilityMs', value)];
  if (name === 'limiter') return rateLimit(initializer, r, at);
  if (name === 'maxStalledCount') {
    const count = numberOf(initializer);
    return [
      `maxCrashes: ${count !== undefined && Node.isNumericLiteral(initializer) ? count + 1 : `${value} + 1`}`,
    ];
  }
  const settings = objectOf(initializer);
  const isOfBull = settings
    ?.getProperties()
    .every((each) => Node.hasName(each) && /^(lock|stalled|maxStalled|guard|retry|drain)/.test(each.getName()));
  if (name === 'settings' && settings && isOfBull) return queueOptions(settings, r, at);
  if (at && (DROPPED.includes(name) || /^(guardInterval|retryProcessDelay|lockRenewTime)$/.test(name)))
    r.dropped(node, `\`${name}\` is dropped`);
  else if (at && name === 'autorun' && value === 'true') r.dropped(node, '`autorun` is dropped');
  else if (at)
    r.todo(at, INSTEAD[name] ?? `the option \`${name || node.getText()}\` has no counterpart here`, 'options');
  return [];
}

function rateLimit(limiter: Node | undefined, r: Rewriter, at?: Node): string[] {
  const object = objectOf(limiter);
  const [max, duration] = [propertyValue(object, 'max'), propertyValue(object, 'duration')];
  const isHere = object?.getSourceFile() === r.file || (object !== undefined && isPortable(object));
  if (max && duration && isHere && object.getProperties().length === 2) {
    return [`rateLimit: { limit: ${r.text(max)}, periodMs: ${r.text(duration)} }`];
  }
  if (at) r.todo(at, 'this `limiter` is `rateLimit: { limit, periodMs }`, or one of groups', 'options');
  return [];
}
