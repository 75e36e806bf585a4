// What must be known of all files before one can be printed: processors, module options, and objects of job options.
import {
  Node,
  type CallExpression,
  type ClassDeclaration,
  type ObjectLiteralExpression,
  type SourceFile,
} from 'ts-morph';
import { bullImports, isFromBull, originOf } from './bull-imports.js';
import { kindOf, queueNameOf } from './kinds.js';
import { namedOptions } from './option-sources.js';
import { readProcessor, type Processor } from './processor.js';
import { isPortable, objectOf, propertyValue, textOf } from './values.js';

/** The calls of a queue that take options of jobs. */
const ADDING = ['add', 'addBulk', 'upsertJobScheduler'];

/** Which priorities the jobs of a queue get. */
interface Priorities {
  some: boolean;
  none: boolean;
}

export class App {
  readonly processors = new Map<ClassDeclaration, Processor>();
  /** Objects of job options that a constant names. */
  readonly optionObjects = new Set<ObjectLiteralExpression>();
  /** The default job options of the module. */
  rootDefaults: ObjectLiteralExpression | undefined;
  private readonly roots: CallExpression[] = [];
  private readonly registered = new Map<string, ObjectLiteralExpression>();
  private readonly priorities = new Map<string, Priorities>();

  constructor(private readonly files: readonly SourceFile[]) {
    for (const file of files.filter((each) => bullImports(each).size > 0)) {
      file.forEachDescendant((node) => this.read(node));
    }
    for (const processor of this.processors.values()) processor.decide(this.canSetQueues());
  }

  /** Returns the files that may change. */
  affected(): SourceFile[] {
    const withObjects = new Set([...this.optionObjects].map((object) => object.getSourceFile()));
    const renames = [...this.processors.values()].some(({ node }) => node.getMethod('process'));
    return this.files.filter(
      (file) =>
        bullImports(file).size > 0 || withObjects.has(file) || (renames && file.getText().includes('.process(')),
    );
  }

  /** Returns true if a module literally in the code takes the options of queues. */
  canSetQueues(): boolean {
    return this.roots.some((call) => rootObject(call) !== undefined);
  }

  hasHandler(queue: string | undefined): boolean {
    return [...this.processors.values()].some((each) => each.queueName === queue);
  }

  /** Returns the default job options that a queue was registered with. */
  defaultsOf(queue: string | undefined): ObjectLiteralExpression | undefined {
    return queue === undefined ? undefined : this.registered.get(queue);
  }

  /** Returns true if the queue's jobs come with a priority and without. */
  mixesPriorities(queue: string | undefined): boolean {
    const of = queue === undefined ? undefined : this.priorities.get(queue);
    return of !== undefined && of.some && of.none;
  }

  private read(node: Node): void {
    if (Node.isClassDeclaration(node)) {
      const processor = readProcessor(node);
      if (processor) this.processors.set(node, processor);
    } else if (Node.isCallExpression(node)) {
      this.readModule(node);
      this.readAdd(node);
    } else if (Node.isVariableDeclaration(node) || Node.isPropertyDeclaration(node)) {
      const type = node.getTypeNode();
      const isOptions = Node.isTypeReference(type) && isFromBull(type.getTypeName(), 'JobsOptions', 'JobOptions');
      const object = isOptions ? objectOf(node.getInitializer()) : undefined;
      if (object) this.optionObjects.add(object);
    }
  }

  private readModule(call: CallExpression): void {
    const method = moduleMethod(call);
    if (method === 'forRoot' || method === 'forRootAsync') {
      this.roots.push(call);
      this.rootDefaults ??= objectOf(propertyValue(rootObject(call), 'defaultJobOptions'));
    }
    if (method !== 'registerQueue') return;
    for (const argument of call.getArguments()) {
      const object = objectOf(argument);
      const name = textOf(propertyValue(object, 'name')) ?? 'default';
      const defaults = objectOf(propertyValue(object, 'defaultJobOptions'));
      if (defaults && isPortable(defaults)) this.registered.set(name, defaults);
    }
  }

  private readAdd(call: CallExpression): void {
    const called = call.getExpression();
    if (!Node.isPropertyAccessExpression(called) || !ADDING.includes(called.getName())) return;
    if (kindOf(called.getExpression()) !== 'queue') return;
    for (const object of namedOptions(call, called.getName())) this.optionObjects.add(object);
    const queue = textOf(queueNameOf(called.getExpression()));
    if (queue === undefined || called.getName() !== 'add') return;
    const of = this.priorities.get(queue) ?? { some: false, none: false };
    of[objectOf(call.getArguments().at(-1))?.getProperty('priority') ? 'some' : 'none'] = true;
    this.priorities.set(queue, of);
  }
}

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
  return factoryObject(propertyValue(object, 'useFactory'));
}

/** Returns the object that a factory makes. */
export function factoryObject(factory: Node | undefined): ObjectLiteralExpression | undefined {
  if (!Node.isArrowFunction(factory) && !Node.isFunctionExpression(factory)) return undefined;
  const body = factory.getBody();
  if (!Node.isBlock(body)) return objectOf(body);
  const last = body.getStatements().at(-1);
  return Node.isReturnStatement(last) ? objectOf(last.getExpression()) : undefined;
}
