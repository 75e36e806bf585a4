// Classes that run jobs: `@Processor`, `WorkerHost`, `process`, `@Process`.
import { Node, type MethodDeclaration } from 'ts-morph';
import { isFromBull } from '../app/bull-imports.js';
import type { Case } from '../app/cases.js';
import { isProcess } from '../app/kinds.js';
import { processName, type Processor } from '../app/processor.js';
import { declarationsOf, textOf } from '../app/values.js';
import { REMOVED, indentOf, type Rewriter, type Rule } from '../rewrite/rewriter.js';
import { defaultAttempts } from './queue-call.js';
import { workerOptions } from './worker-options.js';

/** Converts the decorator of a class. */
export const processorDecorator: Rule = (node, r) => {
  if (!Node.isDecorator(node) || !isFromBull(node.getNameNode(), 'Processor')) return undefined;
  const processor = r.app.processors.get(node.getParentIfKindOrThrow(node.getParent().getKind()) as never);
  if (!processor) return r.leave(node, '`@Processor` is not on a class', 'the-parts');
  const options = workerOptions(processor, r);
  const isByMethods = processor.cases !== undefined || processor.bullMethods().length > 0;
  r.converted(node, '@Processor');
  if (!isByMethods) {
    r.imports.value('JobHandler');
    const parts = [`queue: ${queueText(processor, r)}`, ...options, ...defaultAttempts(processor.queueName, r)];
    return `@JobHandler({ ${parts.join(', ')} })`;
  }
  if (processor.node.getDecorators().some((each) => each.getName() === 'Injectable')) return REMOVED;
  r.imports.value('Injectable');
  return '@Injectable()';
};

function queueText(processor: Processor, r: Rewriter): string {
  return processor.queue ? r.text(processor.queue) : "'default'";
}

/** Converts what a processor has of `WorkerHost`, and the call of its constructor. */
export const workerHost: Rule = (node, r) => {
  if (Node.isHeritageClause(node)) {
    return node.getTypeNodes().some((each) => isFromBull(each.getExpression(), 'WorkerHost')) ? REMOVED : undefined;
  }
  if (Node.isConstructorDeclaration(node) && node.getParameters().length === 0) {
    const body = node.getBody();
    return body && isEmptied(body, r) ? REMOVED : undefined;
  }
  if (Node.isBlock(node)) return isEmptied(node, r) ? '{}' : undefined;
  if (!Node.isExpressionStatement(node)) return undefined;
  const call = node.getExpression();
  if (!Node.isCallExpression(call) || !Node.isSuperExpression(call.getExpression())) return undefined;
  const owner = node.getFirstAncestor((each) => Node.isClassDeclaration(each));
  const base = Node.isClassDeclaration(owner) ? owner.getExtends()?.getExpression() : undefined;
  return isFromBull(base, 'WorkerHost') ? REMOVED : undefined;
};

/** Returns true for a body that had nothing but the call of `WorkerHost`. */
function isEmptied(body: Node, r: Rewriter): boolean {
  const [only, ...more] = Node.isBlock(body) ? body.getStatements() : [];
  return only !== undefined && more.length === 0 && only.getText().startsWith('super(') && r.text(only) === REMOVED;
}

/** Converts the method `process`: to `handle`, or to a method for each case. */
export const processMethod: Rule = (node, r) => {
  if (Node.isMethodDeclaration(node) && isProcess(node)) {
    const processor = r.app.processors.get(node.getParent() as never);
    if (processor?.cases)
      return processor.cases.map((each) => caseMethod(each, node, processor, r)).join(`\n\n${indentOf(node)}`);
    return renamed(node, r);
  }
  if (!Node.isPropertyAccessExpression(node) || node.getName() !== 'process') return undefined;
  const [method] = declarationsOf(node);
  if (!method || !isProcess(method)) return undefined;
  if (r.app.processors.get(method.getParent() as never)?.cases) {
    return r.leave(node, '`process` is now a method for each name', 'the-parts');
  }
  return `${r.text(node.getExpression())}.handle`;
};

/** Returns the method as `handle`, without the claim's token. */
function renamed(method: MethodDeclaration, r: Rewriter): string {
  const texts = new Map<Node, string>([[method.getNameNode(), 'handle']]);
  const override = method.getModifiers().find((each) => each.getText() === 'override');
  if (override) texts.set(override, REMOVED);
  const token = unusedToken(method, r);
  if (token) texts.set(token, REMOVED);
  for (const [part, text] of texts) r.give(part, text);
  return r.copy(method).replace(/^ +/, '');
}

/** Returns the second parameter, if nothing uses it any more. */
function unusedToken(method: MethodDeclaration, r: Rewriter): Node | undefined {
  const token = method.getParameters()[1];
  const body = method.getBody();
  if (!token) return undefined;
  const isUsed = body !== undefined && new RegExp(`\\b${token.getName()}\\b`).test(r.text(body));
  if (!isUsed) return token;
  r.todo(method, 'a handler gets no token; `job.fence` fences its own writes', 'calls');
  return undefined;
}

function caseMethod(
  { names, method, statements }: Case,
  of: MethodDeclaration,
  processor: Processor,
  r: Rewriter,
): string {
  const indent = indentOf(of);
  r.imports.value('JobHandler');
  const options = [`queue: ${queueText(processor, r)}`, ...defaultAttempts(processor.queueName, r)].join(', ');
  const decorators = names.map((name) => `@JobHandler(${r.text(name)}, { ${options} })\n${indent}`).join('');
  const [job] = of.getParameters();
  // Only a case that returns or throws keeps the result type of the method.
  const last = statements.at(-1);
  const ends = Node.isReturnStatement(last) || Node.isThrowStatement(last);
  const result = ends ? of.getReturnTypeNode() : undefined;
  const isUsed = job && statements.some((each) => new RegExp(`\\b${job.getName()}\\b`).test(each.getText()));
  const head = `${of.isAsync() ? 'async ' : ''}${method}(${isUsed ? r.text(job) : ''})${result ? `: ${r.text(result)}` : ''}`;
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
  const processor = r.app.processors.get(method.getParent() as never);
  if (!Node.isMethodDeclaration(method) || !processor) {
    return r.leave(node, '`@Process` is not in a class with `@Processor`', 'from-nestjsbull');
  }
  r.imports.value('JobHandler');
  r.converted(node, '@Process');
  const options = [`queue: ${queueText(processor, r)}`];
  if (processor.isForAll(method)) {
    const isOnly = processor.bullMethods().length === 1;
    options.push(isOnly ? `concurrency: ${String(processor.concurrency() ?? 1)}` : "names: 'others'");
    return `@JobHandler({ ${[...options, ...defaultAttempts(processor.queueName, r)].join(', ')} })`;
  }
  const name = r.text(processName(method)!);
  return `@JobHandler(${name}, { ${[...options, ...defaultAttempts(processor.queueName, r)].join(', ')} })`;
};
