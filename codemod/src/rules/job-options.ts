// The options of a job, as of `queue.add`.
import { Node, type ObjectLiteralExpression } from 'ts-morph';
import { hasOptionsType } from '../app/option-sources.js';
import { objectOf, propertyValue, textOf, unwrapped } from '../app/values.js';
import { pair, propertiesOf, type Property } from '../rewrite/properties.js';
import type { Rewriter, Rule } from '../rewrite/rewriter.js';

/** The new options of a job. */
export interface JobOptions {
  parts: string[];
  /** The old names, those with a new form and others. */
  names: Set<string>;
  /** The object of `repeat`, if there is one. */
  repeat: Property | undefined;
  /** The text of the job's id. */
  id: string | undefined;
}

const RENAMED: Record<string, string> = {
  attempts: 'maxAttempts',
  delay: 'delayMs',
  timeout: 'timeoutMs',
  jobId: 'id',
  lifo: 'lifo',
};

/** The options that need no counterpart. */
const DROPPED = ['removeOnFail', 'stackTraceLimit', 'keepLogs', 'sizeLimit', 'timestamp', 'prevMillis'];

/** Returns the new options of an object of job options. `quiet`: only the text, without notes. */
export function jobOptions(object: ObjectLiteralExpression, r: Rewriter, quiet = false): JobOptions {
  const result: JobOptions = { parts: [], names: new Set(), repeat: undefined, id: undefined };
  for (const property of propertiesOf(object, r)) {
    result.names.add(property.name);
    if (property.name === 'repeat') result.repeat = property;
    else if (property.name === 'jobId') result.id = property.value;
    const part = option(property, object, r, quiet);
    if (part !== undefined) result.parts.push(part);
  }
  const retriesAtOnce = result.names.has('attempts') && !result.names.has('backoff') && !result.names.has('');
  const attempts = propertyValue(object, 'attempts');
  if (retriesAtOnce && attempts?.getText() !== '1') result.parts.push('backoff: 0');
  if (!quiet && result.names.has('jobId') && result.names.has('removeOnComplete')) {
    r.todo(
      object,
      'an id stays in use while its ended job is kept. For one job at a time use `unique`',
      'watch-out-for-these',
    );
  }
  return result;
}

/**
 * Returns the options of an expression as a spread. Options that were not found keep their old names, so they get a
 * TODO.
 */
export function spreadOf(given: Node, r: Rewriter, at: Node): string {
  const value = unwrapped(given);
  if (Node.isObjectLiteralExpression(value)) return `...${literalText(value, r)}`;
  if (Node.isIdentifier(value) || Node.isPropertyAccessExpression(value)) return `...${sourceText(value, r, at)}`;
  return `...(${sourceText(value, r, at)})`;
}

function sourceText(given: Node, r: Rewriter, at: Node): string {
  const value = unwrapped(given);
  if (Node.isObjectLiteralExpression(value)) return literalText(value, r);
  if (Node.isConditionalExpression(value)) {
    const [yes, no] = [value.getWhenTrue(), value.getWhenFalse()].map((each) => sourceText(each, r, at));
    return `${r.text(value.getCondition())} ? ${yes} : ${no}`;
  }
  if (Node.isBinaryExpression(value) && value.getOperatorToken().getText() === '&&') {
    return `${r.text(value.getLeft())} && ${sourceText(value.getRight(), r, at)}`;
  }
  const object = objectOf(value);
  const isFound = (object !== undefined && r.app.optionObjects.has(object)) || hasOptionsType(value);
  const isNothing = ['undefined', 'null'].includes(value.getText());
  if (!isFound && !isNothing)
    r.todo(at, `the options \`${value.getText()}\` still have the names of BullMQ`, 'options');
  return r.text(value);
}

function literalText(object: ObjectLiteralExpression, r: Rewriter): string {
  const { parts } = jobOptions(object, r);
  return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`;
}

/** Returns the new text of an option; undefined for one that goes. */
function option(
  property: Property,
  object: ObjectLiteralExpression,
  r: Rewriter,
  quiet: boolean,
): string | undefined {
  const { name, value, initializer } = property;
  const renamed = RENAMED[name];
  if (Node.isSpreadAssignment(property.node)) return spreadOf(property.node.getExpression(), r, object);
  if (name === '') return value;
  if (renamed) return pair(renamed, value);
  if (name === 'priority') return `priority: ${priority(initializer, value)}`;
  if (name === 'backoff') return backoff(property, object, r, quiet);
  if (name === 'deduplication') return unique(property, object, r);
  if (name === 'removeOnComplete') return retention(property, r, quiet);
  if (name === 'repeat') return undefined;
  if (quiet) return undefined;
  if (DROPPED.includes(name)) r.dropped(property.node, `\`${name}\` is dropped`);
  else r.todo(object, `the option \`${property.node.getText()}\` has no counterpart`, 'options');
  return undefined;
}

/** Returns the priority the other way round. */
function priority(initializer: Node | undefined, value: string): string {
  if (Node.isNumericLiteral(initializer)) return String(1_000 - Math.min(initializer.getLiteralValue(), 999));
  const isPlain = Node.isIdentifier(initializer) || Node.isPropertyAccessExpression(initializer);
  return `Math.max(1, 1_000 - ${isPlain ? value : `(${value})`})`;
}

function backoff(
  property: Property,
  object: ObjectLiteralExpression,
  r: Rewriter,
  quiet: boolean,
): string | undefined {
  const settings = objectOf(property.initializer);
  if (!settings || settings !== property.initializer) return pair('backoff', property.value);
  const type = textOf(propertyValue(settings, 'type'));
  if (type !== undefined && type !== 'fixed' && type !== 'exponential') {
    if (!quiet) r.todo(object, `the backoff \`${type}\` of your own is an option of the handler`, 'options');
    return undefined;
  }
  const parts = propertiesOf(settings, r).map((each) =>
    each.name === 'delay' ? pair('delayMs', each.value) : pair(each.name, each.value),
  );
  return `backoff: { ${parts.join(', ')} }`;
}

function unique({ initializer, value }: Property, object: ObjectLiteralExpression, r: Rewriter): string {
  const settings = objectOf(initializer);
  const id = propertyValue(settings, 'id');
  const others = settings?.getProperties().filter((each) => !['id', 'ttl'].includes(nameOf(each)));
  if (!settings || !id || others!.length > 0) {
    r.todo(object, 'this deduplication is an option `unique`', 'options');
    return `deduplication: ${value}`;
  }
  const ttl = propertyValue(settings, 'ttl');
  return `unique: { ${pair('key', r.text(id))}, for: ${ttl ? `{ ms: ${r.text(ttl)} }` : "'unfinished'"} }`;
}

function nameOf(node: Node): string {
  return Node.hasName(node) ? node.getName() : '';
}

function retention({ node, initializer }: Property, r: Rewriter, quiet: boolean): string | undefined {
  const age = propertyValue(objectOf(initializer), 'age');
  if (!quiet)
    r.dropped(node, age ? 'only the `age` of `removeOnComplete` is kept' : '`removeOnComplete` is dropped');
  if (!age) return undefined;
  return `resultTtlMs: ${Node.isNumericLiteral(age) ? String(age.getLiteralValue() * 1_000) : `${r.text(age)} * 1_000`}`;
}

/** Converts objects of job options that stand by themselves. */
export const optionObjects: Rule = (node, r) => {
  if (!Node.isObjectLiteralExpression(node) || !r.app.optionObjects.has(node)) return undefined;
  const { parts, repeat } = jobOptions(node, r);
  if (repeat) r.todo(node, '`repeat` is a schedule', 'calls');
  r.converted(node, 'job options');
  return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`;
};
