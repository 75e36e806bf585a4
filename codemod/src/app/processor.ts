// A class that runs jobs, and the form it gets.
import {
  Node,
  type ClassDeclaration,
  type MethodDeclaration,
  type ObjectLiteralElementLike,
  type ObjectLiteralExpression,
} from 'ts-morph';
import { isFromBull } from './bull-imports.js';
import { isProcess } from './kinds.js';
import { casesOf, type Case } from './cases.js';
import { objectOf, propertyValue, textOf } from './values.js';

/** Options of a queue that a decorator or a module had. */
const OF_QUEUE = ['concurrency', 'limiter', 'lockDuration', 'maxStalledCount', 'settings'];

export class Processor {
  /** The cases that become methods; undefined where one method stays. */
  cases: Case[] | undefined;

  constructor(
    readonly node: ClassDeclaration,
    /** The expression of the queue's name; undefined for the default queue. */
    readonly queue: Node | undefined,
    readonly queueName: string | undefined,
    /** The options of the worker. */
    readonly options: ObjectLiteralExpression | undefined,
    /** True if the worker has options that cannot be read here. */
    readonly hasHiddenOptions: boolean,
    /** What the decorator says beside the queue's name, such as a scope. */
    readonly others: readonly ObjectLiteralElementLike[],
  ) {}

  /** Chooses the form. Methods by name need a module that takes the options of their queue. */
  decide(canSetQueues: boolean): void {
    const process = this.node.getMethod('process');
    if (process && isProcess(process) && canSetQueues && this.queueName) this.cases = casesOf(process);
  }

  /** Returns the methods that are decorated one by one. */
  bullMethods(): MethodDeclaration[] {
    return this.node
      .getMethods()
      .filter((method) => method.getDecorators().some((each) => isFromBull(each.getNameNode(), 'Process')));
  }

  /** Returns true if a method has no name, or every name: it runs all jobs that no other runs. */
  isForAll(method: MethodDeclaration): boolean {
    const name = processName(method);
    return name === undefined || textOf(name) === '*';
  }

  /** Returns true if the queue's options belong into the module, because several handlers share the queue. */
  isShared(): boolean {
    const methods = this.bullMethods();
    return this.cases !== undefined || methods.length > 1 || (methods.length === 1 && !this.isForAll(methods[0]!));
  }

  /** Returns how many jobs ran at once, if the numbers are in the code. With methods of Bull it is their sum. */
  concurrency(): number | undefined {
    let sum = 0;
    for (const value of this.concurrencies()) {
      if (value !== undefined && !Node.isNumericLiteral(value)) return undefined;
      sum += value?.getLiteralValue() ?? 1;
    }
    return sum;
  }

  /** Returns the values of `concurrency`, undefined for one that is left out. */
  concurrencies(): (Node | undefined)[] {
    const methods = this.bullMethods();
    return methods.length > 0 ? methods.map(processConcurrency) : [propertyValue(this.options, 'concurrency')];
  }

  /** Returns the options of the worker that belong to its queue. */
  queueOptions(): Node[] {
    return OF_QUEUE.flatMap((name) => this.options?.getProperty(name) ?? []);
  }
}

/** Returns the processor that a class is, or undefined. */
export function readProcessor(node: ClassDeclaration): Processor | undefined {
  const decorator = node.getDecorators().find((each) => isFromBull(each.getNameNode(), 'Processor'));
  if (!decorator) return undefined;
  const [first, second] = decorator.getArguments();
  const literal = Node.isObjectLiteralExpression(first) ? first : undefined;
  const queue = literal ? propertyValue(literal, 'name') : first;
  const options = objectOf(second);
  const isWhole = options?.getProperties().every((each) => !Node.isSpreadAssignment(each)) ?? second === undefined;
  const others = literal?.getProperties().filter((each) => !Node.hasName(each) || each.getName() !== 'name') ?? [];
  return new Processor(node, queue, queue ? textOf(queue) : 'default', options, !isWhole, others);
}

/** Returns the name of a method of Bull. */
export function processName(method: MethodDeclaration): Node | undefined {
  const argument = processArgument(method);
  return Node.isObjectLiteralExpression(argument)
    ? propertyValue(argument, 'name')
    : Node.isNumericLiteral(argument)
      ? undefined
      : argument;
}

function processConcurrency(method: MethodDeclaration): Node | undefined {
  const argument = processArgument(method);
  return Node.isNumericLiteral(argument) ? argument : propertyValue(objectOf(argument), 'concurrency');
}

function processArgument(method: MethodDeclaration): Node | undefined {
  return method
    .getDecorators()
    .find((each) => isFromBull(each.getNameNode(), 'Process'))
    ?.getArguments()[0];
}
