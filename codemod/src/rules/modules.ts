// `BullModule`.
import { Node, type CallExpression, type ObjectLiteralExpression, type PropertyAssignment } from 'ts-morph';
import { isFromBull } from '../app/bull-imports.js';
import { factoryObject, factoryOf, moduleMethod, queueKey, registrationsOf, rootObject } from '../app/queues.js';
import { isPortable, objectOf, propertyValue, unwrapped } from '../app/values.js';
import { edited, propertiesOf, separatorOf, type Property } from '../rewrite/properties.js';
import { REMOVED, type Rewriter, type Rule } from '../rewrite/rewriter.js';
import { jobOptions, partsOf } from './job-options.js';
import { OF_HANDLER } from './queue-call.js';
import { queueOptions, queueSettings } from './worker-options.js';

/** Converts the calls of the module, and its name in lists. */
export const modules: Rule = (node, r) => {
  if (
    Node.isIdentifier(node) &&
    isFromBull(node, 'BullModule') &&
    Node.isArrayLiteralExpression(node.getParent())
  ) {
    return REMOVED;
  }
  if (Node.isPropertyAssignment(node)) return isEmptied(node, r) ? REMOVED : undefined;
  if (Node.isVariableDeclaration(node)) return emptiedList(node, r);
  if (Node.isSpreadElement(node)) return isEmptyChoice(node, r) ? REMOVED : undefined;
  if (!Node.isCallExpression(node)) return undefined;
  const method = moduleMethod(node);
  if (method === 'forRoot' || method === 'forRootAsync') return root(node, method, r);
  if (method === 'registerQueue' || method === 'registerQueueAsync') return registered(node, r);
  if (method?.startsWith('registerFlowProducer'))
    return r.leave(node, 'a flow is `after`, or a batch', 'the-parts');
  return undefined;
};

/** Returns true for a list of modules of which none is left. */
function isEmptied(node: PropertyAssignment, r: Rewriter): boolean {
  return /^(imports|exports)$/.test(node.getName()) && isEmptiedList(node.getInitializer(), r);
}

function isEmptiedList(list: Node | undefined, r: Rewriter): boolean {
  if (!Node.isArrayLiteralExpression(list)) return false;
  const elements = list.getElements();
  return (
    elements.length > 0 &&
    list.getText().includes('BullModule') &&
    elements.every((each) => r.text(each) === REMOVED)
  );
}

/** Gives a list a type of which no element is left: the compiler cannot tell it. */
function emptiedList(node: Node, r: Rewriter): string | undefined {
  if (!Node.isVariableDeclaration(node) || node.getTypeNode() || !isEmptiedList(node.getInitializer(), r))
    return undefined;
  return `${node.getName()}: never[] = []`;
}

/**
 * Returns true for `...(condition ? [BullModule.registerQueue(…)] : [])`, and for a spread of a list that is mapped to registrations,
 * of which nothing is left.
 */
function isEmptyChoice(node: Node, r: Rewriter): boolean {
  if (!Node.isSpreadElement(node) || !node.getText().includes('BullModule')) return false;
  const value = unwrapped(node.getExpression());
  if (Node.isCallExpression(value)) return isEmptyMap(value, r);
  if (!Node.isConditionalExpression(value)) return false;
  const lists = [value.getWhenTrue(), value.getWhenFalse()].map((each) => unwrapped(each));
  return lists.every((each) => isEmptiedList(each, r) || each.getText() === '[]');
}

function isEmptyMap(call: CallExpression, r: Rewriter): boolean {
  const called = call.getExpression();
  const [made] = call.getArguments();
  const body = Node.isArrowFunction(made) ? unwrapped(made.getBody()) : undefined;
  const isMap = Node.isPropertyAccessExpression(called) && called.getName() === 'map';
  if (!isMap || !Node.isCallExpression(body) || moduleMethod(body) !== 'registerQueue') return false;
  return lostIn(body, r).length === 0;
}

function root(node: CallExpression, method: string, r: Rewriter): string {
  const list = node.getArguments();
  const options = rootObject(node);
  if (list.length > 1) return r.leave(node, 'a second server is `forRoot({ name, redis })`', 'the-parts');
  if (list.length > 0 && (!options || !isInside(options, node))) {
    return r.leave(node, '`BullModule` is `JobQueueModule`, and `connection` is `redis`', 'the-parts');
  }
  r.converted(node, `BullModule.${method}`);
  const name = `${r.imports.value('JobQueueModule')}.${method}`;
  if (!options) return `${name}()`;
  r.give(options, rootOptions(options, r));
  return `${name}(${list.map((each) => r.text(each)).join(', ')})`;
}

const isInside = (object: Node, call: Node): boolean => object.getAncestors().includes(call);

/** What to use in place of options of the module that are left. */
const INSTEAD: Record<string, string> = {
  telemetry: '`telemetry` is nest-job-queue/tracing',
  limiter: 'a `limiter` of all queues is a `rateLimit` of each',
  extraOptions:
    '`extraOptions`: `worker: false` starts no workers; else handlers start once the app is bootstrapped',
};

function rootOptions(object: ObjectLiteralExpression, r: Rewriter): string {
  const texts = new Map<Node, string>();
  for (const property of propertiesOf(object, r)) texts.set(property.node, rootOption(property, object, r));
  const settings = queueSettings(r);
  return edited(object, r, texts, { last: settings.length > 0 ? [`queues: { ${settings.join(', ')} }`] : [] });
}

function rootOption(property: Property, object: ObjectLiteralExpression, r: Rewriter): string {
  const { name, value, initializer, node } = property;
  if (name === 'connection' || name === 'redis') return connection(property, r);
  if (name === 'url') return `redis: ${value}`;
  if (name === 'defaultJobOptions') return joined(defaults(initializer, object, r), object);
  if (name === 'settings' && objectOf(initializer))
    return joined(queueOptions(objectOf(initializer)!, r, object), object);
  if (name === '') {
    r.todo(object, `the options \`${node.getText()}\` may have names of BullMQ`, 'options');
    return value;
  }
  if (name === 'prefix' || name === 'streams') r.dropped(node, `\`${name}\` is dropped`);
  else r.todo(object, INSTEAD[name] ?? `the option \`${name}\` has no counterpart here`, 'options');
  return REMOVED;
}

const joined = (parts: readonly string[], object: ObjectLiteralExpression): string =>
  parts.length === 0 ? REMOVED : parts.join(separatorOf(object));

/** Returns where Redis is. What the module sets by itself goes. */
function connection({ initializer, value }: Property, r: Rewriter): string {
  const object = objectOf(initializer);
  if (!object || object !== initializer) return `redis: ${value}`;
  const url = propertyValue(object, 'url');
  if (url && object.getProperties().length === 1) return `redis: ${r.text(url)}`;
  const texts = new Map<Node, string>();
  for (const each of object.getProperties()) {
    if (/^(maxRetriesPerRequest|enableReadyCheck)\b/.test(each.getText())) texts.set(each, REMOVED);
  }
  return `redis: ${edited(object, r, texts)}`;
}

const isOfQueue = (part: string) => /^(maxAttempts|backoff|resultTtlMs)\b/.test(part);

/** Returns the options of all queues from the default options of jobs. */
function defaults(initializer: Node | undefined, at: Node, r: Rewriter): string[] {
  const object = objectOf(initializer);
  if (!object) {
    r.todo(at, 'these defaults of jobs are options of the module', 'options');
    return [];
  }
  const parts = partsOf(jobOptions(object, { keys: undefined, defaults: 'none', at }, r));
  for (const part of parts.filter((each) => !isOfQueue(each))) {
    r.todo(at, `\`${part}\` is an option of each job`, 'options');
  }
  return parts.filter(isOfQueue);
}

/** The parts of a registration that a handler takes over, or that need no counterpart. */
const KNOWN = [
  'name',
  'defaultJobOptions',
  'useFactory',
  'inject',
  'imports',
  'forceDisconnectOnShutdown',
  'prefix',
  'streams',
];

/** Removes the registration of queues: handlers and injections declare them. */
function registered(node: CallExpression, r: Rewriter): string {
  const isInList = Node.isArrayLiteralExpression(node.getParent());
  const lost = lostIn(node, r);
  if (lost.length > 0) {
    return r.leave(
      node,
      `queues need no registration. Move to the handler, or to \`queues\` of the module, first: ${lost.join(', ')}`,
      'the-parts',
    );
  }
  if (!isInList) return r.leave(node, 'queues need no registration: delete this', 'the-parts');
  r.converted(node, 'BullModule.registerQueue');
  return REMOVED;
}

/** Returns what is said of queues that has no place yet. */
function lostIn(call: CallExpression, r: Rewriter): string[] {
  return call.getArguments().flatMap((argument) => {
    const objects = registrationsOf(argument);
    return objects ? objects.flatMap((object) => lostOptions(object, r)) : [`\`${argument.getText()}\``];
  });
}

function lostOptions(object: ObjectLiteralExpression, r: Rewriter): string[] {
  const lost: string[] = [];
  for (const property of object.getProperties()) {
    const name = Node.hasName(property) ? property.getName() : property.getText();
    if (name === 'prefix' || name === 'streams') r.dropped(property, `\`${name}\` is dropped`);
    else if (name === 'configKey') lost.push('`configKey` (the option `connection`)');
    else if (name === 'limiter') lost.push('`limiter` (the option `rateLimit: { limit, periodMs }`)');
    else if (name === 'settings') lost.push('`settings` (the options `visibilityMs`, `maxCrashes`)');
    else if (!KNOWN.includes(name)) lost.push(`\`${name}\``);
  }
  return [...lost, ...lostDefaults(object, r)];
}

/** Returns the options of a registration that no handler can take over. */
function lostDefaults(object: ObjectLiteralExpression, r: Rewriter): string[] {
  const factory = factoryOf(object);
  if (factory) {
    const made = factoryObject(factory);
    const others = made?.getProperties().filter((each) => !/^(connection|redis)\b/.test(each.getText()));
    return others?.length === 0 ? [] : ['`useFactory`'];
  }
  const defaultsOf = propertyValue(object, 'defaultJobOptions');
  if (!defaultsOf) return [];
  const options = objectOf(defaultsOf);
  const key = queueKey(propertyValue(object, 'name'));
  if (!options || !isPortable(options) || r.app.queues.ownDefaultsOf(key) !== options)
    return ['`defaultJobOptions`'];
  // The handlers have them, if there are some here; else each enqueue has them.
  const parts = partsOf(jobOptions(options, { keys: [key], defaults: 'none', at: object }, r));
  return parts.filter((part) => !OF_HANDLER.test(part)).map((part) => `\`${part}\``);
}
