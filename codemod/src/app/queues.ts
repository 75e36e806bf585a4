// What is known of the queues of an app: handlers, default options, priorities, and searches by an id.
import { Node, type CallExpression, type ObjectLiteralExpression } from 'ts-morph';
import { isFromBull, originOf } from './bull-imports.js';
import { injectedName, kindOf } from './kinds.js';
import type { OriginFinder } from './origins.js';
import { returnsOf } from './origins.js';
import type { Processor } from './processor.js';
import { objectOf, propertyValue, textOf, unwrapped } from './values.js';

/** Default options of jobs: `unknown` if there are some that cannot be read here. */
export type Defaults = ObjectLiteralExpression | 'none' | 'unknown';

/** The calls of a queue with an id of a job. */
const BY_ID = /^(getJob|remove|getJobState|getJobLogs|updateJobProgress|addJobLog)$/;

/** Returns a text that two expressions of the same queue share. */
export function queueKey(name: Node | undefined): string {
  return name === undefined ? 'default' : (textOf(name) ?? name.getText());
}

export class Queues {
  private readonly roots: CallExpression[] = [];
  private readonly registered = new Map<string, Defaults>();
  /** True if a registration has options that cannot be read, of a queue whose name cannot be read. */
  private hasHidden = false;
  private readonly injected = new Set<string>();
  private readonly adds: { keys: readonly string[] | undefined; call: CallExpression }[] = [];
  private readonly lookedUp = new Set<string>();
  private isAnyLookedUp = false;

  constructor(
    private readonly origins: OriginFinder,
    private readonly processors: ReadonlyMap<unknown, Processor>,
  ) {}

  /** Notes a call of the module or of a queue. */
  read(call: CallExpression): void {
    const method = moduleMethod(call);
    if (method?.startsWith('forRoot')) this.roots.push(call);
    else if (method?.startsWith('registerQueue')) this.readRegistration(call);
    else this.readCall(call);
  }

  /** Notes a queue that is injected. */
  readInjection(name: Node | undefined): void {
    this.injected.add(queueKey(name));
  }

  private readRegistration(call: CallExpression): void {
    for (const each of call.getArguments()) {
      const objects = registrationsOf(each);
      if (objects === undefined) this.hasHidden = true;
      for (const object of objects ?? []) {
        const defaults = defaultsIn(object);
        const nameNode = propertyValue(object, 'name');
        const isKnown = nameNode === undefined || textOf(nameNode) !== undefined;
        if (isKnown) this.registered.set(queueKey(nameNode), defaults ?? this.rootOf(object));
        else if (defaults !== undefined) this.hasHidden = true;
      }
    }
  }

  /** Returns the marker of a registration without defaults of its own. */
  private rootOf(object: ObjectLiteralExpression): Defaults {
    return object.getProperty('configKey') ? 'unknown' : 'none';
  }

  private readCall(call: CallExpression): void {
    const called = call.getExpression();
    if (!Node.isPropertyAccessExpression(called)) return;
    const isAdd = called.getName() === 'add';
    if (!isAdd && !BY_ID.test(called.getName())) return;
    if (kindOf(called.getExpression()) === 'queue') {
      const keys = this.keysOf(called.getExpression());
      if (isAdd) this.adds.push({ keys, call });
      else if (keys === undefined) this.isAnyLookedUp = true;
      else for (const key of keys) this.lookedUp.add(key);
    }
  }

  /** Returns the keys of the queues that an expression may be; undefined if one of them is unknown. */
  keysOf(queue: Node): string[] | undefined {
    const origins = [...this.origins.of(queue)];
    if (origins.length === 0 || origins.some((each) => typeof each === 'string')) return undefined;
    return origins.map((each) => queueKey(injectedName(each as Node)));
  }

  /** Returns true if a module literally in the code takes the options of queues. */
  canSetQueues(): boolean {
    return this.roots.some((call) => rootObject(call) !== undefined);
  }

  /** Returns true if this app runs the jobs of a queue. Of an unknown queue: of all that are injected. */
  hasHandler(keys: readonly string[] | undefined): boolean {
    const handled = new Set([...this.processors.values()].map((each) => queueKey(each.queue)));
    return [...(keys ?? this.injected)].every((key) => handled.has(key));
  }

  /** Returns the default options of the module. */
  rootDefaults(): Defaults {
    if (this.roots.length !== 1) return 'unknown';
    const [root] = this.roots;
    const object = rootObject(root!);
    if (object === undefined) return root!.getArguments().length === 0 ? 'none' : 'unknown';
    return defaultsIn(object) ?? 'none';
  }

  /** Returns the default options of the jobs of a queue. Those of a registration replace those of the module. */
  defaultsOf(keys: readonly string[] | undefined): Defaults {
    if (keys === undefined) return this.defaultsOfAny();
    const all = new Set(keys.map((key) => this.defaultsOfOne(key)));
    return all.size === 1 ? [...all][0]! : 'unknown';
  }

  /** Returns the default options of one queue that are its own; undefined if those of the module apply. */
  ownDefaultsOf(key: string): Defaults | undefined {
    const own = this.registered.get(key);
    if (own === 'none') return undefined;
    return own ?? (this.hasHidden ? 'unknown' : undefined);
  }

  private defaultsOfOne(key: string): Defaults {
    return this.ownDefaultsOf(key) ?? this.rootDefaults();
  }

  /** Returns the default options that all queues share. */
  private defaultsOfAny(): Defaults {
    const isShared = !this.hasHidden && [...this.registered.values()].every((each) => each === 'none');
    return isShared ? this.rootDefaults() : 'unknown';
  }

  /** Returns true if the queue's jobs come with a priority and without, as far as can be seen. */
  mixesPriorities(keys: readonly string[] | undefined): boolean {
    const same = this.adds.filter(
      (each) => keys === undefined || each.keys === undefined || each.keys.some((key) => keys.includes(key)),
    );
    const values = same.map(({ call, keys: of }) => setting('priority', optionsOf(call), this.defaultsOf(of)));
    return values.some((each) => each === 'absent' || each === 'unknown' || isZero(each));
  }

  /** Returns true if code may look for a job of the queue by an id that it knows. */
  isLookedUp(keys: readonly string[] | undefined): boolean {
    if (this.isAnyLookedUp) return true;
    return keys === undefined ? this.lookedUp.size > 0 : keys.some((key) => this.lookedUp.has(key));
  }
}

const isZero = (node: Node): boolean => node.getText() === '0';

/** Returns the method of BullModule that is called. */
export function moduleMethod(call: CallExpression): string | undefined {
  const called = call.getExpression();
  const isModule = Node.isPropertyAccessExpression(called) && isFromBull(called.getExpression(), 'BullModule');
  return isModule && originOf(called.getExpression())?.package.startsWith('@nestjs') ? called.getName() : undefined;
}

/** Returns the object of options of `forRoot`, or that which the factory of `forRootAsync` makes. */
export function rootObject(call: CallExpression): ObjectLiteralExpression | undefined {
  const object = objectOf(call.getArguments().at(-1));
  if (moduleMethod(call) === 'forRoot') return object;
  return factoryObject(factoryOf(object));
}

/** Returns the factory in options, a property or a method. */
export function factoryOf(object: ObjectLiteralExpression | undefined): Node | undefined {
  return propertyValue(object, 'useFactory') ?? object?.getProperty('useFactory');
}

/** Returns the object that a factory makes in each case. */
export function factoryObject(factory: Node | undefined): ObjectLiteralExpression | undefined {
  const isFunction =
    Node.isArrowFunction(factory) || Node.isFunctionExpression(factory) || Node.isMethodDeclaration(factory);
  if (!isFunction) return undefined;
  const body = factory.getBody();
  if (!Node.isBlock(body)) return objectOf(body);
  const [only, ...more] = returnsOf(factory);
  return more.length === 0 ? objectOf(only) : undefined;
}

/** Returns the objects that register queues; undefined if an argument is none of them. */
export function registrationsOf(argument: Node): ObjectLiteralExpression[] | undefined {
  const object = objectOf(argument);
  if (object) return [object];
  const list = Node.isSpreadElement(argument) ? unwrapped(argument.getExpression()) : undefined;
  if (Node.isArrayLiteralExpression(list)) {
    const objects = list.getElements().map((each) => objectOf(each));
    return objects.every((each) => each !== undefined) ? objects : undefined;
  }
  const called = Node.isCallExpression(list) ? list.getExpression() : undefined;
  const isMap = Node.isPropertyAccessExpression(called) && called.getName() === 'map';
  const made = isMap && Node.isCallExpression(list) ? factoryObject(list.getArguments()[0]) : undefined;
  return made ? [made] : undefined;
}

/** Returns the default options in the options of a module or of a registration; undefined without any. */
function defaultsIn(object: ObjectLiteralExpression): Defaults | undefined {
  const factory = factoryOf(object);
  if (factory) {
    const made = factoryObject(factory);
    return made ? defaultsIn(made) : 'unknown';
  }
  const defaults = propertyValue(object, 'defaultJobOptions');
  if (defaults) return objectOf(defaults) ?? 'unknown';
  const isWhole = object.getProperties().every((each) => !Node.isSpreadAssignment(each));
  return isWhole && !object.getProperty('useClass') && !object.getProperty('useExisting') ? undefined : 'unknown';
}

/** Returns the options of a call of `add`. The first argument of Bull may be the data. */
export function optionsOf(call: CallExpression): Node | undefined {
  const [first, second, third] = call.getArguments();
  return isNamed(first) === false ? second : third;
}

/** Returns whether the first argument of `add` is a name; undefined if that cannot be known. */
export function isNamed(first: Node | undefined): boolean | undefined {
  if (first === undefined) return undefined;
  const type = first.getType().getNonNullableType();
  const parts = type.isUnion() ? type.getUnionTypes() : [type];
  if (
    parts.every(
      (each) => each.isString() || each.isStringLiteral() || each.isEnumLiteral() || each.isTemplateLiteral(),
    )
  )
    return true;
  return parts.every((each) => each.isObject() || each.isNumber() || each.isNumberLiteral()) ? false : undefined;
}

/** Returns the value of an option of a job, in the call or else in the defaults. */
export function setting(name: string, options: Node | undefined, defaults: Defaults): Node | 'absent' | 'unknown' {
  const own = settingIn(name, options);
  if (own !== 'absent') return own;
  return typeof defaults === 'string' ? (defaults === 'none' ? 'absent' : 'unknown') : settingIn(name, defaults);
}

/** Returns the value of an option in an expression of options. A later property comes before an earlier one. */
export function settingIn(name: string, options: Node | undefined): Node | 'absent' | 'unknown' {
  const value = options && unwrapped(options);
  if (value === undefined || ['undefined', 'null', 'false'].includes(value.getText())) return 'absent';
  const object = objectOf(value);
  if (object === undefined) {
    const parts = Node.isConditionalExpression(value)
      ? [value.getWhenTrue(), value.getWhenFalse()]
      : Node.isBinaryExpression(value)
        ? [value.getRight()]
        : undefined;
    // What is in one part only depends on the run.
    return parts?.every((each) => settingIn(name, each) === 'absent') ? 'absent' : 'unknown';
  }
  for (const property of object.getProperties().toReversed()) {
    if (Node.isSpreadAssignment(property)) {
      const found = settingIn(name, property.getExpression());
      if (found !== 'absent') return found;
    } else if (property.getName().replace(/^['"]|['"]$/g, '') === name) {
      return propertyValue(object, name) ?? 'unknown';
    }
  }
  return 'absent';
}

/** Returns whether options have a value for a name, in each case or in some. */
export function presenceIn(name: string, options: Node | undefined): 'absent' | 'present' | 'maybe' {
  const value = options && unwrapped(options);
  if (value === undefined || ['undefined', 'null', 'false'].includes(value.getText())) return 'absent';
  if (Node.isConditionalExpression(value)) {
    const [yes, no] = [value.getWhenTrue(), value.getWhenFalse()].map((each) => presenceIn(name, each));
    return yes === no ? yes! : 'maybe';
  }
  const object = objectOf(value);
  if (object === undefined) return settingIn(name, value) === 'absent' ? 'absent' : 'maybe';
  const parts = object.getProperties().map((each) => {
    if (Node.isSpreadAssignment(each)) return presenceIn(name, each.getExpression());
    return each.getName().replace(/^['"]|['"]$/g, '') === name ? 'present' : 'absent';
  });
  return parts.includes('present') ? 'present' : parts.includes('maybe') ? 'maybe' : 'absent';
}
