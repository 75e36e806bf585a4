// Classes that run jobs: `@Processor`, `WorkerHost`, `process`, `@Process`, and what is done with the worker.
import { Node, SyntaxKind, type ClassDeclaration, type MethodDeclaration, type Statement } from 'ts-morph';
import { isFromBull } from '../app/bull-imports.js';
import type { Case } from '../app/cases.js';
import { isProcess, kindOf } from '../app/kinds.js';
import { processName, type Processor } from '../app/processor.js';
import { queueKey } from '../app/queues.js';
import { declarationsOf, textOf } from '../app/values.js';
import { REMOVED, indentOf, type Rewriter, type Rule } from '../rewrite/rewriter.js';
import { handlerDefaults } from './queue-call.js';
import { workerOptions } from './worker-options.js';

/** Converts the decorator of a class. */
export const processorDecorator: Rule = (node, r) => {
  if (!Node.isDecorator(node) || !isFromBull(node.getNameNode(), 'Processor')) return undefined;
  const processor = r.app.processors.get(node.getParent() as ClassDeclaration);
  if (!processor) return r.leave(node, '`@Processor` is not on a class', 'the-parts');
  const options = workerOptions(processor, r);
  if (r.app.handlersOf(queueKey(processor.queue)) > 1) {
    r.todo(
      processor.node,
      'this queue has another `@Processor`: here one handler gets each job, by its name',
      'watch-out-for-these',
    );
  }
  const isByMethods = processor.cases !== undefined || processor.bullMethods().length > 0;
  const scope = scopeOf(processor, r);
  r.converted(node, '@Processor');
  const injectable = processor.node.getDecorators().find((each) => each.getName() === 'Injectable');
  if (scope !== undefined && injectable)
    r.todo(processor.node, `\`${scope}\` belongs into \`@Injectable\``, 'the-parts');
  if (isByMethods) return injectable ? REMOVED : injectableText(scope, r);
  r.imports.value('JobHandler');
  const parts = [`queue: ${queueText(processor, r)}`, ...options, ...defaultsOf(processor, r)];
  const handler = `@JobHandler({ ${parts.join(', ')} })`;
  return scope === undefined || injectable ? handler : `${injectableText(scope, r)}\n${indentOf(node)}${handler}`;
};

function injectableText(scope: string | undefined, r: Rewriter): string {
  r.imports.value('Injectable');
  return `@Injectable(${scope === undefined ? '' : `{ ${scope} }`})`;
}

/** Returns the scope of a class, and puts a TODO for what else its decorator says. */
function scopeOf(processor: Processor, r: Rewriter): string | undefined {
  let scope: string | undefined;
  for (const each of processor.others) {
    const name = Node.hasName(each) ? each.getName() : '';
    if (name === 'scope') scope = r.text(each);
    else if (name === 'configKey')
      r.todo(processor.node, 'a second server is the option `connection` of the handler', 'the-parts');
    else r.todo(processor.node, `\`${each.getText()}\` of \`@Processor\` has no counterpart`, 'the-parts');
  }
  return scope;
}

function queueText(processor: Processor, r: Rewriter): string {
  return processor.queue ? r.text(processor.queue) : "'default'";
}

function defaultsOf(processor: Processor, r: Rewriter): string[] {
  return handlerDefaults(queueKey(processor.queue), processor.node, r);
}

/** Converts what a processor has of `WorkerHost`, and the call of its constructor. */
export const workerHost: Rule = (node, r) => {
  if (Node.isHeritageClause(node)) return heritage(node, r);
  if (Node.isConstructorDeclaration(node) && node.getParameters().length === 0) {
    const body = node.getBody();
    return body && isEmptied(body, r) ? REMOVED : undefined;
  }
  if (Node.isMethodDeclaration(node) && isShutdown(node) && isWithoutBody(node, r)) return REMOVED;
  if (Node.isBlock(node)) return isEmptied(node, r) ? '{}' : undefined;
  if (Node.isIfStatement(node)) return isAboutWorker(node, r) ? REMOVED : undefined;
  if (!Node.isExpressionStatement(node)) return undefined;
  if (closesWorker(node)) {
    r.converted(node, 'worker.close');
    return REMOVED;
  }
  const call = node.getExpression();
  if (!Node.isCallExpression(call) || !Node.isSuperExpression(call.getExpression())) return undefined;
  const owner = node.getFirstAncestorByKind(SyntaxKind.ClassDeclaration);
  return isFromBull(owner?.getExtends()?.getExpression(), 'WorkerHost') ? REMOVED : undefined;
};

/** Removes `extends WorkerHost`, and the interface of a shutdown whose method is gone. */
function heritage(node: Node, r: Rewriter): string | undefined {
  if (!Node.isHeritageClause(node)) return undefined;
  if (node.getTypeNodes().some((each) => isFromBull(each.getExpression(), 'WorkerHost'))) return REMOVED;
  const owner = node.getParent();
  if (!Node.isClassDeclaration(owner)) return undefined;
  const gone = node.getTypeNodes().filter((each) => {
    const method = owner.getMethod(hookOf(each.getExpression().getText()));
    return method !== undefined && isShutdown(method) && isWithoutBody(method, r);
  });
  if (gone.length === 0) return undefined;
  if (gone.length === node.getTypeNodes().length) return REMOVED;
  for (const each of gone) r.give(each, REMOVED);
  return r.copy(node);
}

const hookOf = (name: string): string => name[0]!.toLowerCase() + name.slice(1);

const isShutdown = (method: MethodDeclaration): boolean =>
  /^(onModuleDestroy|beforeApplicationShutdown|onApplicationShutdown)$/.test(method.getName());

/** Returns true for a method that only closed the worker: the module does that. */
function isWithoutBody(method: MethodDeclaration, r: Rewriter): boolean {
  const statements = method.getStatements();
  return statements.length > 0 && statements.every((each) => goes(each, r));
}

function goes(statement: Statement, r: Rewriter): boolean {
  return closesWorker(statement) || (Node.isIfStatement(statement) && isAboutWorker(statement, r));
}

const isWorker = (node: Node | undefined): boolean =>
  node?.getText() === 'this.worker' && kindOf(node) === 'worker';

/** Returns true for `await this.worker.close()`. */
function closesWorker(statement: Node): boolean {
  let value: Node | undefined = Node.isExpressionStatement(statement) ? statement.getExpression() : undefined;
  while (value && (Node.isAwaitExpression(value) || Node.isVoidExpression(value))) value = value.getExpression();
  const called = Node.isCallExpression(value) ? value.getExpression() : undefined;
  return (
    Node.isPropertyAccessExpression(called) && called.getName() === 'close' && isWorker(called.getExpression())
  );
}

/** Returns true for `if (this.worker)` with nothing but its end. */
function isAboutWorker(node: Node, r: Rewriter): boolean {
  if (!Node.isIfStatement(node) || node.getElseStatement() || !isWorker(node.getExpression())) return false;
  const then = node.getThenStatement();
  const statements = Node.isBlock(then) ? then.getStatements() : [then];
  return statements.length > 0 && statements.every((each) => goes(each, r));
}

/** Returns true for a body that had nothing but the call of `WorkerHost`, or the end of the worker. */
function isEmptied(body: Node, r: Rewriter): boolean {
  const statements = Node.isBlock(body) ? body.getStatements() : [];
  const isSuper = (each: Statement) => each.getText().startsWith('super(') && r.text(each) === REMOVED;
  return statements.length > 0 && statements.every((each) => isSuper(each) || goes(each, r));
}

/** What to use in place of members of the worker. */
const OF_WORKER: Record<string, string> = {
  close: 'the module stops its workers: `await jobs.drain()` of the injected `JobQueueService` comes before that',
  pause: 'this is `jobs.pauseWorker(queue)` of the injected `JobQueueService`',
  resume: 'this is `jobs.resumeWorker(queue)` of the injected `JobQueueService`',
  concurrency: 'this is `jobs.setConcurrency(job, n)` of the injected `JobQueueService`',
  rateLimit: 'this is `throw new RateLimitedError({ retryAfterMs })`',
  run: 'the module starts its workers: `worker: false` of the module starts none, `jobs.pauseWorker(queue)` lets one wait',
  on: 'this is a method with `@OnJobEvent`',
  once: 'this is a method with `@OnJobEvent`',
  isRunning: 'the module has the workers: `workers()` of a queue lists them',
  isPaused: 'the module has the workers: `workers()` of a queue lists them',
  client: 'the connection of a queue is `redisClientOf(queue)` of nest-job-queue/core',
};

/** Puts a TODO at what is done with the worker of a processor. */
export const workerMembers: Rule = (node, r) => {
  if (!Node.isPropertyAccessExpression(node)) return undefined;
  const isMember = isWorker(node.getExpression());
  if (!isMember && !(isWorker(node) && !isWorker(node.getParent()))) return undefined;
  const name = isMember ? node.getName() : '';
  const text = Object.hasOwn(OF_WORKER, name) ? OF_WORKER[name]! : 'the worker belongs to the module';
  return r.leave(node, name === '' ? text : `\`this.worker.${name}\`: ${text}`, 'the-parts');
};

/** Converts the method `process`: to `handle`, or to a method for each case. */
export const processMethod: Rule = (node, r) => {
  if (Node.isMethodDeclaration(node) && isProcess(node)) {
    const processor = r.app.processors.get(node.getParent() as ClassDeclaration);
    if (processor?.cases)
      return processor.cases.map((each) => caseMethod(each, node, processor, r)).join(`\n\n${indentOf(node)}`);
    return renamed(node, r);
  }
  if (!Node.isPropertyAccessExpression(node) || node.getName() !== 'process') return undefined;
  const [method] = declarationsOf(node);
  if (!method || !isProcess(method)) return undefined;
  if (r.app.processors.get(method.getParent() as ClassDeclaration)?.cases) {
    return r.leave(node, '`process` is now a method for each name', 'the-parts');
  }
  return `${r.text(node.getExpression())}.handle`;
};

/** Returns the method as `handle`, without the claim's token and the signal. */
function renamed(method: MethodDeclaration, r: Rewriter): string {
  const texts = new Map<Node, string>([[method.getNameNode(), 'handle']]);
  const override = method.getModifiers().find((each) => each.getText() === 'override');
  const isOverOwn =
    method.getParentIfKind(SyntaxKind.ClassDeclaration)?.getBaseClass()?.getMethod('process') !== undefined;
  const isOfHost = isFromBull(
    method.getParentIfKind(SyntaxKind.ClassDeclaration)?.getExtends()?.getExpression(),
    'WorkerHost',
  );
  if (override && (isOfHost || !isOverOwn)) texts.set(override, REMOVED);
  const [, token, signal] = method.getParameters();
  const isSignalUsed = signal !== undefined && isUsed(method, signal, r);
  if (token && !isUsed(method, token, r) && !isSignalUsed) texts.set(token, REMOVED);
  else if (token) r.todo(method, 'a handler gets no token; `job.fence` fences its own writes', 'calls');
  if (isSignalUsed) r.todo(method, 'the signal of an attempt is `job.signal`', 'calls');
  else if (signal) texts.set(signal, REMOVED);
  for (const [part, text] of texts) r.give(part, text);
  return r.copy(method).replace(/^ +/, '');
}

function isUsed(method: MethodDeclaration, parameter: Node, r: Rewriter): boolean {
  const name = Node.hasName(parameter) ? parameter.getName() : parameter.getText();
  const body = method.getBody();
  return body !== undefined && new RegExp(`\\b${name}\\b`).test(r.text(body));
}

function caseMethod(
  { names, method, statements }: Case,
  of: MethodDeclaration,
  processor: Processor,
  r: Rewriter,
): string {
  const indent = indentOf(of);
  r.imports.value('JobHandler');
  const options = [`queue: ${queueText(processor, r)}`, ...defaultsOf(processor, r)].join(', ');
  const decorators = names.map((name) => `@JobHandler(${r.text(name)}, { ${options} })\n${indent}`).join('');
  const [job] = of.getParameters();
  // Only a case that returns or throws keeps the result type of the method.
  const last = statements.at(-1);
  const ends = Node.isReturnStatement(last) || Node.isThrowStatement(last);
  const result = ends ? of.getReturnTypeNode() : undefined;
  const isJobUsed = job && statements.some((each) => new RegExp(`\\b${job.getName()}\\b`).test(each.getText()));
  const head = `${of.isAsync() ? 'async ' : ''}${method}(${isJobUsed ? r.text(job) : ''})${result ? `: ${r.text(result)}` : ''}`;
  const lines = statements.map((each) => `${indent}  ${shifted(r.text(each), indentOf(each), `${indent}  `)}\n`);
  r.converted(names[0]!, `case ${textOf(names[0])}`);
  return `${decorators}${head} {\n${lines.join('')}${indent}}`;
}

/** Returns a text whose lines begin further left. */
function shifted(text: string, from: string, to: string): string {
  return text
    .split('\n')
    .map((line, i) => (i > 0 && line.startsWith(from) ? to + line.slice(from.length) : line))
    .join('\n');
}

/** Converts the methods of Bull. */
export const bullMethod: Rule = (node, r) => {
  if (!Node.isDecorator(node) || !isFromBull(node.getNameNode(), 'Process')) return undefined;
  const method = node.getParent();
  const processor = r.app.processors.get(method.getParent() as ClassDeclaration);
  if (!Node.isMethodDeclaration(method) || !processor) {
    return r.leave(node, '`@Process` is not in a class with `@Processor`', 'from-nestjsbull');
  }
  r.imports.value('JobHandler');
  r.converted(node, '@Process');
  const options = [`queue: ${queueText(processor, r)}`];
  if (processor.isForAll(method)) {
    const isOnly = processor.bullMethods().length === 1;
    options.push(...(isOnly ? workerOptions(processor, r) : ["names: 'others'"]));
    return `@JobHandler({ ${[...options, ...defaultsOf(processor, r)].join(', ')} })`;
  }
  const name = r.text(processName(method)!);
  return `@JobHandler(${name}, { ${[...options, ...defaultsOf(processor, r)].join(', ')} })`;
};
