// `BullModule`.
import { Node, type CallExpression, type ObjectLiteralExpression, type PropertyAssignment } from 'ts-morph';
import { factoryObject, moduleMethod, rootObject } from '../app/app.js';
import { isFromBull } from '../app/bull-imports.js';
import { isPortable, objectOf, propertyValue, textOf } from '../app/values.js';
import { objectText, propertiesOf, type Property } from '../rewrite/properties.js';
import { REMOVED, indentOf, type Rewriter, type Rule } from '../rewrite/rewriter.js';
import { jobOptions } from './job-options.js';
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
  const list = node.getInitializer();
  if (!/^(imports|exports)$/.test(node.getName()) || !Node.isArrayLiteralExpression(list)) return false;
  const elements = list.getElements();
  return elements.length > 0 && elements.every((each) => r.text(each) === REMOVED);
}

function root(node: CallExpression, method: string, r: Rewriter): string {
  const list = node.getArguments();
  const options = rootObject(node);
  if (list.length > 1) return r.leave(node, 'a second server is `forRoot({ name, redis })`', 'the-parts');
  if (!options && list.length > 0) {
    return r.leave(node, '`BullModule` is `JobQueueModule`, and `connection` is `redis`', 'the-parts');
  }
  r.converted(node, `BullModule.${method}`);
  const name = `${r.imports.value('JobQueueModule')}.${method}`;
  if (!options) return `${name}()`;
  r.give(options, rootOptions(options, r));
  return `${name}(${list.map((each) => r.text(each)).join(', ')})`;
}

function rootOptions(object: ObjectLiteralExpression, r: Rewriter): string {
  const parts: string[] = [];
  for (const property of propertiesOf(object, r)) {
    const { name, value, initializer, node } = property;
    if (name === 'connection' || name === 'redis') parts.push(...connection(property, r));
    else if (name === 'url') parts.push(`redis: ${value}`);
    else if (name === 'defaultJobOptions') parts.push(...defaults(initializer, r));
    else if (name === 'settings' && objectOf(initializer))
      parts.push(...queueOptions(objectOf(initializer)!, r, object));
    else if (name === '') parts.push(value);
    else if (name === 'prefix') r.dropped(node, '`prefix` is dropped: the keys begin with `queue`');
    else r.todo(object, `the option \`${name}\` has no counterpart here`, 'options');
  }
  const settings = queueSettings(r);
  if (settings.length > 0) parts.push(`queues: { ${settings.join(', ')} }`);
  return objectText(parts, object, indentOf(object));
}

/** Returns where Redis is. What the module sets by itself goes. */
function connection({ initializer, value }: Property, r: Rewriter): string[] {
  const object = objectOf(initializer);
  if (!object || object !== initializer) return [`redis: ${value}`];
  const url = propertyValue(object, 'url');
  if (url && object.getProperties().length === 1) return [`redis: ${r.text(url)}`];
  const kept = object
    .getProperties()
    .filter((each) => !/^(maxRetriesPerRequest|enableReadyCheck)\b/.test(each.getText()));
  return [
    `redis: ${objectText(
      kept.map((each) => r.text(each)),
      object,
      indentOf(object),
    )}`,
  ];
}

const isOfQueue = (part: string) => /^(maxAttempts|backoff|resultTtlMs)\b/.test(part);

/** Returns the options of all queues from the default options of jobs. */
function defaults(initializer: Node | undefined, r: Rewriter): string[] {
  const object = objectOf(initializer);
  if (!object) {
    r.todo(initializer!, 'these defaults of jobs are options of the module', 'options');
    return [];
  }
  const { parts } = jobOptions(object, r);
  for (const part of parts.filter((each) => !isOfQueue(each))) {
    r.todo(object, `\`${part}\` is an option of each job`, 'options');
  }
  return parts.filter(isOfQueue);
}

/** Removes the registration of queues: handlers and injections declare them. */
function registered(node: CallExpression, r: Rewriter): string {
  const known = ['name', 'defaultJobOptions', 'useFactory', 'inject', 'imports', 'forceDisconnectOnShutdown'];
  const isInList = Node.isArrayLiteralExpression(node.getParent());
  const lost: string[] = [];
  for (const argument of node.getArguments()) {
    const object = objectOf(argument);
    if (!object) lost.push(argument.getText());
    for (const property of object?.getProperties() ?? []) {
      const name = Node.hasName(property) ? property.getName() : property.getText();
      if (!known.includes(name)) lost.push(name);
    }
    lost.push(...lostDefaults(object, r));
  }
  if (!isInList || lost.length > 0) {
    return r.leave(
      node,
      `queues need no registration; move ${lost.join(', ') || 'its options'} first`,
      'the-parts',
    );
  }
  r.converted(node, 'BullModule.registerQueue');
  return REMOVED;
}

/** Returns the options of a registration that no handler can take over. */
function lostDefaults(object: ObjectLiteralExpression | undefined, r: Rewriter): string[] {
  const factory = propertyValue(object, 'useFactory');
  if (factory)
    return factoryObject(factory)
      ?.getProperties()
      .every((each) => each.getText().startsWith('connection'))
      ? []
      : ['useFactory'];
  const defaultsOf = propertyValue(object, 'defaultJobOptions');
  if (!defaultsOf) return [];
  const options = objectOf(defaultsOf);
  const isKnown =
    options && isPortable(options) && r.app.defaultsOf(textOf(propertyValue(object, 'name')) ?? 'default');
  if (!isKnown) return ['defaultJobOptions'];
  const { parts } = jobOptions(options, r);
  return parts.filter((part) => !OF_HANDLER.test(part));
}
