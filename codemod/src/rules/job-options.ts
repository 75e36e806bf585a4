// The options of a job, as of `queue.add`. The meaning of some depends on others: these must be known. They stand in the call, in what is
// spread into it, or in the defaults of the queue.
import { Node, SyntaxKind, type ObjectLiteralExpression } from 'ts-morph';
import { kindOf, kindOfType } from '../app/kinds.js';
import { moduleMethod, setting, settingIn, type Defaults } from '../app/queues.js';
import { numberOf, objectOf, propertyValue, textOf, unwrapped } from '../app/values.js';
import { edited, objectText, pair, propertiesOf, type Property } from '../rewrite/properties.js';
import { REMOVED, type Rewriter, type Rule } from '../rewrite/rewriter.js';

/** What the options belong to. */
export interface OptionPlace {
  /** The keys of the queues; undefined if they are unknown. */
  keys: readonly string[] | undefined;
  /** The default options below them. */
  defaults: Defaults;
  /** The node that gets what is said of an option that goes. */
  at: Node;
  /** The options that these are spread into. */
  outer?: Node;
  /** True for text alone, such as a copy for another file. */
  isQuiet?: boolean;
}

/** The new options of a job. */
export interface JobOptions {
  /** The new text of each property; `REMOVED` for a property without one. */
  texts: Map<Node, string>;
  /** Further properties. */
  more: string[];
  /** The old names. */
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
};

/** The options that need no counterpart. */
const DROPPED = ['stackTraceLimit', 'keepLogs', 'sizeLimit', 'timestamp', 'prevMillis', 'preventParsingData'];

/** Returns the new options of an object of job options. */
export function jobOptions(object: ObjectLiteralExpression, place: OptionPlace, r: Rewriter): JobOptions {
  const result: JobOptions = { texts: new Map(), more: [], names: new Set(), repeat: undefined, id: undefined };
  for (const property of propertiesOf(object, r)) {
    if (property.name !== '') result.names.add(property.name);
    if (property.name === 'repeat') result.repeat = property;
    else if (property.name === 'jobId') result.id = property.value;
    result.texts.set(property.node, option(property, object, place, r));
  }
  const atOnce = missingBackoff(object, result.names, place, r);
  if (atOnce) result.more.push(atOnce);
  return result;
}

/** Returns the new options as a list of properties. */
export function partsOf({ texts, more }: JobOptions): string[] {
  return [...texts.values()].filter((text) => text !== REMOVED).concat(more);
}

/** Returns the backoff that BullMQ has without one: none. */
function missingBackoff(
  object: ObjectLiteralExpression,
  names: ReadonlySet<string>,
  place: OptionPlace,
  r: Rewriter,
): string | undefined {
  const attempts = propertyValue(object, 'attempts');
  if (!names.has('attempts') || names.has('backoff') || numberOf(attempts) === 1) return undefined;
  const given = found('backoff', object, place);
  if (given === 'absent') return 'backoff: 0';
  if (given === 'unknown' && !place.isQuiet) {
    r.todo(place.at, 'without a `backoff` anywhere retries came at once: then add `backoff: 0`', 'options');
  }
  return undefined;
}

/**
 * Returns the options of an expression as a spread. Options that were not found keep their old names, so they get a
 * TODO.
 */
export function spreadOf(given: Node, place: OptionPlace, r: Rewriter): string {
  const value = unwrapped(given);
  if (Node.isObjectLiteralExpression(value)) return `...${literalText(value, place, r)}`;
  if (Node.isIdentifier(value) || Node.isPropertyAccessExpression(value))
    return `...${sourceText(value, place, r)}`;
  return `...(${sourceText(value, place, r)})`;
}

function sourceText(given: Node, place: OptionPlace, r: Rewriter): string {
  const value = unwrapped(given);
  if (Node.isObjectLiteralExpression(value)) return literalText(value, place, r);
  if (Node.isConditionalExpression(value)) {
    const [yes, no] = [value.getWhenTrue(), value.getWhenFalse()].map((each) => sourceText(each, place, r));
    return `${r.text(value.getCondition())} ? ${yes} : ${no}`;
  }
  if (Node.isBinaryExpression(value) && /^(&&|\?\?|\|\|)$/.test(value.getOperatorToken().getText())) {
    const isCondition = value.getOperatorToken().getText() === '&&';
    const left = isCondition ? r.text(value.getLeft()) : sourceText(value.getLeft(), place, r);
    return `${left} ${value.getOperatorToken().getText()} ${sourceText(value.getRight(), place, r)}`;
  }
  const object = objectOf(value);
  const isFound = (object !== undefined && r.app.optionObjects.has(object)) || kindOf(value) === 'options';
  const isNothing = ['undefined', 'null'].includes(value.getText());
  if (!isFound && !isNothing) {
    r.todo(place.at, `the options \`${value.getText()}\` still have the names of BullMQ`, 'options');
  } else if (object === undefined && !isNothing && place.outer && hasDelay(place.outer)) {
    r.todo(place.at, `\`${value.getText()}\` may have \`runAt\`, which excludes \`delayMs\``, 'options');
  }
  return r.text(value);
}

/** Returns true if options, or a literal that is spread into them, have a delay. */
function hasDelay(options: Node): boolean {
  return options
    .getDescendantsOfKind(SyntaxKind.PropertyAssignment)
    .some((each) => each.getName() === 'delay' && !Node.isPropertyAssignment(each.getParent().getParent()));
}

function literalText(object: ObjectLiteralExpression, place: OptionPlace, r: Rewriter): string {
  const options = jobOptions(object, place, r);
  return edited(object, r, options.texts, { last: options.more });
}

/** Returns the value of an option: of these options, of those around them, or of the defaults. */
function found(name: string, object: ObjectLiteralExpression, place: OptionPlace): Node | 'absent' | 'unknown' {
  const own = settingIn(name, object);
  return own === 'absent' ? setting(name, place.outer, place.defaults) : own;
}

/** Returns the new text of an option. */
function option(property: Property, object: ObjectLiteralExpression, place: OptionPlace, r: Rewriter): string {
  const { name, node, value, initializer } = property;
  if (Node.isSpreadAssignment(node))
    return spreadOf(node.getExpression(), { ...place, outer: place.outer ?? object }, r);
  if (RENAMED[name]) return pair(RENAMED[name], value);
  if (name === 'jobId') return idText(property, object, place, r);
  if (name === 'priority') return priority(property, place, r);
  if (name === 'lifo') return lifo(property, object, place, r);
  if (name === 'backoff') return backoff(property, place, r);
  if (name === 'deduplication' || name === 'debounce') return unique(property, object, place, r);
  if (name === 'removeOnComplete') return retention(property, place, r);
  if (name === 'repeat') return REMOVED;
  if (name === 'removeOnFail' || DROPPED.includes(name)) return dropped(property, place, r);
  if (!place.isQuiet) r.todo(place.at, `the option \`${shortened(node.getText())}\` has no counterpart`, 'options');
  return initializer === undefined ? node.getText() : REMOVED;
}

/** Drops a literal. What the app computes is its decision, so it gets a TODO. */
function dropped({ name, node, initializer }: Property, place: OptionPlace, r: Rewriter): string {
  if (place.isQuiet) return REMOVED;
  if (initializer === undefined || isLiteral(initializer)) r.dropped(node, `\`${name}\` is dropped`);
  else
    r.todo(
      place.at,
      `\`${shortened(node.getText())}\` is an option of the queue: \`deadLetterAgeMs\`, \`deadLetterCap\``,
      'options',
    );
  return REMOVED;
}

/** Returns true for a value that code writes down, or takes from a constant. */
function isLiteral(node: Node): boolean {
  const value = unwrapped(node);
  const object = Node.isObjectLiteralExpression(value) ? value : undefined;
  if (object)
    return object
      .getProperties()
      .every((each) => Node.isPropertyAssignment(each) && isLiteral(each.getInitializer()!));
  return (
    ['true', 'false'].includes(value.getText()) || numberOf(value) !== undefined || textOf(value) !== undefined
  );
}

const shortened = (text: string): string => {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 57)}…` : line;
};

/**
 * Returns what keeps a job from being added twice. In BullMQ an id is free once its job is removed. If that is when it ends, the id
 * is a unique key here.
 */
function idText(
  { value, initializer }: Property,
  object: ObjectLiteralExpression,
  place: OptionPlace,
  r: Rewriter,
): string {
  const id = pair('id', asText(initializer, value));
  if (place.isQuiet || object.getProperty('repeat')) return id;
  const completed = removal(found('removeOnComplete', object, place));
  const failed = removal(found('removeOnFail', object, place));
  if (completed === 'kept') {
    r.noted(
      place.at,
      'an id stays in use for `resultTtlMs` after its job has ended, a day by default',
      'watch-out-for-these',
    );
    return id;
  }
  const unfinished = `unique: { ${pair('key', asText(initializer, value))}, for: 'unfinished' }`;
  if (completed === 'unknown' || failed === 'unknown') {
    r.todo(
      place.at,
      "an id stays in use for `resultTtlMs` after its job has ended. If BullMQ removed ended jobs, use `unique: { key, for: 'unfinished' }`",
      'watch-out-for-these',
    );
    return id;
  }
  if (r.app.queues.isLookedUp(place.keys) || mayBeMissing(initializer)) {
    r.todo(
      place.at,
      "BullMQ freed this id when its job had completed, and here it stays in use for `resultTtlMs`. Use `unique: { key, for: 'unfinished' }`, and keep `handle.id` to find the job",
      'watch-out-for-these',
    );
    return id;
  }
  if (failed === 'kept') {
    r.todo(
      place.at,
      'after a failed job BullMQ refused its `jobId` until that job was removed; this key is free again',
      'watch-out-for-these',
    );
  }
  return unfinished;
}

/** Returns an id as a text: Bull also takes numbers. */
function asText(initializer: Node | undefined, value: string): string {
  const type = initializer?.getType().getNonNullableType();
  return type?.isNumber() || type?.isNumberLiteral() ? `String(${value})` : value;
}

function removal(value: Node | 'absent' | 'unknown'): 'removed' | 'kept' | 'unknown' {
  if (value === 'absent') return 'kept';
  if (value === 'unknown') return 'unknown';
  const text = unwrapped(value).getText();
  if (text === 'true' || numberOf(value) === 0) return 'removed';
  return text === 'false' || numberOf(value) !== undefined || objectOf(value) !== undefined ? 'kept' : 'unknown';
}

/** Returns true for an id that need not be there. */
function mayBeMissing(node: Node | undefined): boolean {
  const type = node?.getType();
  return type === undefined || type.isNullable() || type.isUndefined();
}

/** Returns the priority the other way round. */
function priority({ initializer, value }: Property, place: OptionPlace, r: Rewriter): string {
  const number = numberOf(initializer);
  if (!place.isQuiet) {
    if (number === undefined || number > 999) {
      r.todo(
        place.at,
        'a priority above 999 becomes 1, the last: map the numbers in use onto 1 to 1,000',
        'watch-out-for-these',
      );
    }
    if (r.app.queues.mixesPriorities(place.keys)) {
      r.todo(place.at, 'jobs of this queue without a priority ran first, and run last here', 'options');
    }
  }
  if (Node.isNumericLiteral(initializer))
    return `priority: ${1_000 - Math.min(initializer.getLiteralValue(), 999)}`;
  const isPlain = Node.isIdentifier(initializer) || Node.isPropertyAccessExpression(initializer);
  const plain = isPlain ? value : `(${value})`;
  const type = initializer?.getType();
  const isNumber =
    type !== undefined && (type.isNumber() || type.isNumberLiteral() || type.isEnum() || type.isEnumLiteral());
  return `priority: Math.max(1, 1_000 - ${isNumber ? plain : `(${value} ?? 0)`})`;
}

/** Drops `lifo` beside a priority, where BullMQ ignores it. Both together are refused here. */
function lifo({ node, value }: Property, object: ObjectLiteralExpression, place: OptionPlace, r: Rewriter): string {
  const beside = settingIn('priority', place.outer ?? object);
  if (place.isQuiet || beside === 'absent' || value === 'false') return pair('lifo', value);
  const number = typeof beside === 'string' ? undefined : numberOf(beside);
  if (number === 0) return pair('lifo', value);
  if (number !== undefined) {
    r.dropped(node, '`lifo` is dropped: BullMQ ignored it beside `priority`');
    return REMOVED;
  }
  r.todo(
    place.at,
    '`lifo` and `priority` exclude each other, and BullMQ ignored `lifo` beside a priority',
    'options',
  );
  return pair('lifo', value);
}

function backoff(property: Property, place: OptionPlace, r: Rewriter): string {
  const settings = objectOf(property.initializer);
  const isHere = settings !== undefined && settings === unwrapped(property.initializer!);
  if (!isHere) {
    const isKnown = settings === undefined && isNumberLike(property.initializer);
    if (!isKnown && !place.isQuiet)
      r.todo(place.at, 'this `backoff` is `{ type, delayMs }` here, or a number of ms', 'options');
    return pair('backoff', property.value);
  }
  const type = textOf(propertyValue(settings, 'type'));
  if (type !== 'fixed' && type !== 'exponential') {
    const said =
      type === undefined ? 'this `backoff` may be of your own: that' : `the backoff \`${type}\` of your own`;
    if (!place.isQuiet) r.todo(place.at, `${said} is an option of the handler`, 'options');
    if (type !== undefined) return REMOVED;
  }
  const texts = new Map<Node, string>();
  const isWidened = isLoose(settings);
  for (const each of propertiesOf(settings, r)) {
    if (each.name === 'delay') texts.set(each.node, pair('delayMs', each.value));
    // Without a type around it the compiler takes it for any text.
    if (each.name === 'type' && isWidened) texts.set(each.node, `type: ${each.value} as const`);
  }
  return `backoff: ${place.isQuiet ? objectText(propertiesOf(settings, r).map((each) => texts.get(each.node) ?? pair(each.name, each.value))) : edited(settings, r, texts)}`;
}

/** Returns true for an object whose texts the compiler takes for any text, because no type around it says more. */
function isLoose(object: ObjectLiteralExpression): boolean {
  if (!Node.isStringLiteral(propertyValue(object, 'type'))) return false;
  return !object.getAncestors().some((each) => {
    if (Node.isAsExpression(each) || Node.isSatisfiesExpression(each)) return true;
    if (Node.isObjectLiteralExpression(each)) {
      const type = each.getContextualType();
      return type !== undefined && kindOfType(type) === 'options';
    }
    if (Node.isVariableDeclaration(each)) return each.getTypeNode() !== undefined;
    if (!Node.isCallExpression(each)) return false;
    const called = each.getExpression();
    const isOfQueue = Node.isPropertyAccessExpression(called) && kindOf(called.getExpression()) === 'queue';
    return isOfQueue || moduleMethod(each) !== undefined;
  });
}

function isNumberLike(node: Node | undefined): boolean {
  const type = node?.getType().getNonNullableType();
  return type !== undefined && (type.isNumber() || type.isNumberLiteral());
}

function unique(
  { name, initializer, value }: Property,
  object: ObjectLiteralExpression,
  place: OptionPlace,
  r: Rewriter,
): string {
  const settings = objectOf(initializer);
  const id = propertyValue(settings, 'id');
  const isTrue = (flag: string) => propertyValue(settings, flag)?.getText() === 'true';
  if (settings && settings === unwrapped(initializer!) && id) {
    // BullMQ replaces only a delayed job, and `extend` then starts its time again: a debounce.
    if (isTrue('replace') && isTrue('extend') && !settings.getProperty('keepLastIfActive') && hasDelay(object)) {
      return `unique: { ${pair('key', r.text(id))}, for: 'pending', onConflict: 'replace' }`;
    }
    if (isTrue('keepLastIfActive') && !place.isQuiet) {
      r.todo(
        place.at,
        "`keepLastIfActive` is `unique: { key, for: 'pending', keep: 'newest' }`, in a group of the key with `maxRunning: 1`. To stop the running job use `for: 'unfinished', onConflict: 'cancel-running'`",
        'options',
      );
      return `${name}: ${value}`;
    }
  }
  const others = settings
    ?.getProperties()
    .filter((each) => !['id', 'ttl'].includes(Node.hasName(each) ? each.getName() : ''));
  if (!settings || settings !== unwrapped(initializer!) || !id || others!.length > 0) {
    if (!place.isQuiet) r.todo(place.at, 'this deduplication is an option `unique`', 'options');
    return `${name}: ${value}`;
  }
  const ttl = propertyValue(settings, 'ttl');
  return `unique: { ${pair('key', r.text(id))}, for: ${ttl ? `{ ms: ${r.text(ttl)} }` : "'unfinished'"} }`;
}

function retention(property: Property, place: OptionPlace, r: Rewriter): string {
  const { node, initializer } = property;
  const age = propertyValue(objectOf(initializer), 'age');
  if (!age) {
    if (place.isQuiet) return REMOVED;
    if (initializer === undefined || isLiteral(initializer)) r.dropped(node, '`removeOnComplete` is dropped');
    else
      r.todo(
        place.at,
        `\`${shortened(node.getText())}\` is \`resultTtlMs\`, or \`completedHistory\` of the queue`,
        'options',
      );
    return REMOVED;
  }
  if (objectOf(initializer)?.getProperty('count') && !place.isQuiet) {
    r.dropped(node, 'only the `age` of `removeOnComplete` is kept');
  }
  const seconds = numberOf(age);
  const isPlain = Node.isIdentifier(age) || Node.isPropertyAccessExpression(age);
  if (Node.isNumericLiteral(age)) return `resultTtlMs: ${seconds! * 1_000}`;
  return `resultTtlMs: ${isPlain ? r.text(age) : `(${r.text(age)})`} * 1_000`;
}

/** Converts objects of job options that stand by themselves. */
export const optionObjects: Rule = (node, r) => {
  if (!Node.isObjectLiteralExpression(node) || !r.app.optionObjects.has(node)) return undefined;
  const place: OptionPlace = { keys: undefined, defaults: r.app.queues.defaultsOf(undefined), at: node };
  const options = jobOptions(node, place, r);
  if (options.repeat) r.todo(node, '`repeat` is a schedule', 'calls');
  r.converted(node, 'job options');
  return edited(node, r, options.texts, { last: options.more });
};

/** Converts what is read of options of jobs. */
export const optionMembers: Rule = (node, r) => {
  if (!Node.isPropertyAccessExpression(node) || kindOf(node.getExpression()) !== 'options') return undefined;
  if (r.app.origins.isLeft(node.getExpression())) return undefined;
  const name = node.getName();
  const renamed = Object.hasOwn(RENAMED, name) ? RENAMED[name] : name === 'lifo' ? 'lifo' : undefined;
  if (renamed === undefined) {
    return r.leave(node, `\`${name}\` of the options has another name or meaning`, 'options');
  }
  return `${r.text(node.getExpression())}${node.hasQuestionDotToken() ? '?.' : '.'}${renamed}`;
};
