// What must be known of all files before one can be printed: processors, queues, origins, and objects of job options.
import {
  Node,
  SyntaxKind,
  type CallExpression,
  type ClassDeclaration,
  type Identifier,
  type ObjectLiteralExpression,
  type SourceFile,
} from 'ts-morph';
import { bullImports } from './bull-imports.js';
import { injectedName, isInjectedQueue, kindOf, kindOfType } from './kinds.js';
import { OriginFinder } from './origins.js';
import { bulkItems, namedOptions, optionExpressions } from './option-sources.js';
import { readProcessor, type Processor } from './processor.js';
import { Queues, queueKey } from './queues.js';
import { declarationsOf, nameOf } from './values.js';

export class App {
  readonly processors = new Map<ClassDeclaration, Processor>();
  readonly origins: OriginFinder;
  readonly queues: Queues;
  /** Objects of job options that a constant names, or a type. */
  readonly optionObjects = new Set<ObjectLiteralExpression>();
  /** The calls of `addBulk` whose jobs are converted where they are made, and these jobs. */
  readonly bulkLists = new Set<CallExpression>();
  readonly bulkItems = new Map<ObjectLiteralExpression, CallExpression>();
  private identifiers: Map<string, Identifier[]> | undefined;

  constructor(private readonly files: readonly SourceFile[]) {
    this.origins = new OriginFinder(files);
    this.queues = new Queues(this.origins, this.processors);
    const withBull = files.filter((each) => bullImports(each).size > 0);
    // Processors come first, since a handler of a queue changes what its calls need.
    for (const file of withBull) {
      for (const node of file.getDescendantsOfKind(SyntaxKind.ClassDeclaration)) {
        const processor = readProcessor(node);
        if (processor) this.processors.set(node, processor);
      }
    }
    const named = new Set<ObjectLiteralExpression>();
    for (const file of files) this.readFile(file, named);
    for (const object of named) {
      if (this.isOnlyOptions(object)) this.optionObjects.add(object);
    }
    for (const processor of this.processors.values()) processor.decide(this.queues.canSetQueues());
  }

  /** Returns the files that may change. */
  affected(): SourceFile[] {
    return this.files.filter((file) => bullImports(file).size > 0 || this.mayChange(file));
  }

  /** Returns true for a file that imports nothing of BullMQ, but may use what other files have of it. */
  private mayChange(file: SourceFile): boolean {
    const text = file.getText();
    const renames = [...this.processors.values()].some(({ node }) => node.getMethod('process'));
    if (renames && text.includes('.process(')) return true;
    if (/@bull-board\//.test(text)) return true;
    const objects = file.getDescendantsOfKind(SyntaxKind.ObjectLiteralExpression);
    if (objects.some((each) => this.optionObjects.has(each))) return true;
    const accesses = file.getDescendantsOfKind(SyntaxKind.PropertyAccessExpression);
    if (accesses.some((each) => hasOtherName(each.getName(), each.getExpression()))) return true;
    return file
      .getDescendantsOfKind(SyntaxKind.QualifiedName)
      .some((each) => hasOtherName(each.getRight().getText(), nameOf(each.getLeft())));
  }

  private readFile(file: SourceFile, named: Set<ObjectLiteralExpression>): void {
    file.forEachDescendant((node) => {
      if (Node.isCallExpression(node)) {
        this.queues.read(node);
        for (const object of namedOptions(node)) named.add(object);
        this.readBulk(node);
      } else if (isInjectedQueue(node)) {
        this.queues.readInjection(injectedName(node));
      } else if (Node.isObjectLiteralExpression(node) && hasOption(node) && isTyped(node)) {
        this.optionObjects.add(node);
      }
    });
  }

  private readBulk(call: CallExpression): void {
    const called = call.getExpression();
    if (!Node.isPropertyAccessExpression(called) || called.getName() !== 'addBulk') return;
    const queue = called.getExpression();
    if (kindOf(queue) !== 'queue' || this.origins.isLeft(queue)) return;
    const items = bulkItems(call, (node, name) => this.usesOf(node, name));
    if (items === undefined) return;
    this.bulkLists.add(call);
    for (const item of items) this.bulkItems.set(item, call);
  }

  /** Returns true if a constant has options of jobs wherever it is used. */
  private isOnlyOptions(object: ObjectLiteralExpression): boolean {
    const declaration = object.getFirstAncestor(
      (each) => Node.isVariableDeclaration(each) || Node.isPropertyDeclaration(each),
    );
    if (!Node.isVariableDeclaration(declaration) && !Node.isPropertyDeclaration(declaration)) return false;
    return this.usesOf(declaration, declaration.getName()).every((each) => isUsedAsOptions(each));
  }

  /** Returns how many classes run the jobs of a queue. */
  handlersOf(key: string): number {
    return [...this.processors.values()].filter((each) => queueKey(each.queue) === key).length;
  }

  /** Returns true if code somewhere waits for the result of a job. */
  awaitsResults(): boolean {
    this.identifiers ??= this.readIdentifiers();
    return this.identifiers.has('waitUntilFinished') || this.identifiers.has('finished');
  }

  /** Returns the places in all files that name a declaration. */
  usesOf(declaration: Node, name: string): Identifier[] {
    this.identifiers ??= this.readIdentifiers();
    return (this.identifiers.get(name) ?? []).filter((each) => {
      const parent = each.getParent();
      const isImport = Node.isImportSpecifier(parent) || Node.isExportSpecifier(parent);
      const isName = Node.hasName(parent) && 'getNameNode' in parent && parent === declaration;
      return !isImport && !isName && declarationsOf(each).includes(declaration);
    });
  }

  private readIdentifiers(): Map<string, Identifier[]> {
    const found = new Map<string, Identifier[]>();
    for (const each of this.files.flatMap((file) => file.getDescendantsOfKind(SyntaxKind.Identifier))) {
      const list = found.get(each.getText());
      if (list) list.push(each);
      else found.set(each.getText(), [each]);
    }
    return found;
  }
}

/** Members of queues, jobs and counts. The type of the owner of another member need not be asked. */
const MEMBERS = new Set(
  'add addBulk clean close count data drain empty failedReason finished getActive getActiveCount getCompleted getCompletedCount getDelayed getDelayedCount getFailed getFailedCount getJob getJobCounts getJobSchedulers getJobs getRepeatableJobs getState getWaiting getWaitingCount isPaused isReady obliterate pause promote queueName remove removeJobScheduler removeRepeatable removeRepeatableByKey resume retry retryJobs returnvalue setGlobalConcurrency setGlobalRateLimit timestamp updateData upsertJobScheduler waitUntilFinished waitUntilReady active completed delayed failed waiting attemptsMade opts progress'.split(
    ' ',
  ),
);

/** Returns true for a member that may have another name here. */
function hasOtherName(name: string, owner: Node): boolean {
  return MEMBERS.has(name) && ['queue', 'job', 'counts'].includes(kindOf(owner) ?? '');
}

/** Returns true for an object with the name of an option of a job. */
function hasOption(node: ObjectLiteralExpression): boolean {
  return node.getProperties().some((each) => Node.isSpreadAssignment(each) || OPTIONS.test(each.getText()));
}

const OPTIONS =
  /^(jobId|delay|attempts|backoff|lifo|priority|repeat|removeOn\w+|deduplication|debounce|timeout|sizeLimit|keepLogs|stackTraceLimit|timestamp|parent|failParent\w+)\b/;

/** Returns true for an object in a place whose type says that it has options of a job. */
function isTyped(node: ObjectLiteralExpression): boolean {
  const parent = node.getParent();
  const isCast = Node.isAsExpression(parent) || Node.isSatisfiesExpression(parent);
  const type = isCast ? parent.getTypeNode()?.getType() : node.getContextualType();
  return type !== undefined && kindOfType(type) === 'options';
}

/** Returns true for a name that is given as options of a job, or spread into them. */
function isUsedAsOptions(node: Identifier): boolean {
  const owner = node.getParent();
  let value: Node = Node.isPropertyAccessExpression(owner) && owner.getNameNode() === node ? owner : node;
  for (let parent = value.getParent(); parent; parent = value.getParent()) {
    const type = Node.isExpression(value) ? value.getContextualType() : undefined;
    if (type && kindOfType(type) === 'options') return true;
    if (Node.isPropertyAssignment(parent)) {
      const call = parent.getFirstAncestor(
        (each) => Node.isCallExpression(each) && optionExpressions(each).includes(value),
      );
      return call !== undefined;
    }
    if (Node.isCallExpression(parent)) return optionExpressions(parent).includes(value);
    const isPart =
      Node.isParenthesizedExpression(parent) ||
      Node.isAsExpression(parent) ||
      Node.isNonNullExpression(parent) ||
      Node.isSpreadAssignment(parent) ||
      Node.isObjectLiteralExpression(parent) ||
      (Node.isConditionalExpression(parent) && parent.getCondition() !== value) ||
      (Node.isBinaryExpression(parent) &&
        parent.getRight() === value &&
        /^(&&|\?\?|\|\|)$/.test(parent.getOperatorToken().getText()));
    if (!isPart) return false;
    value = parent;
  }
  return false;
}
