// Properties of object literals, as text.
import { Node, type ObjectLiteralElementLike, type ObjectLiteralExpression } from 'ts-morph';
import { REMOVED, indentOf, type Rewriter } from './rewriter.js';

/** A property with its old name; `value` is its new text. */
export interface Property {
  node: ObjectLiteralElementLike;
  name: string;
  value: string;
  /** The old value; undefined for a method or a spread. */
  initializer: Node | undefined;
}

/** Returns the properties of an object. The values have their new texts. */
export function propertiesOf(object: ObjectLiteralExpression, r: Rewriter): Property[] {
  return object.getProperties().map((node) => {
    if (Node.isPropertyAssignment(node)) {
      const initializer = node.getInitializer()!;
      return { node, name: node.getName().replace(/^['"]|['"]$/g, ''), value: r.text(initializer), initializer };
    }
    if (Node.isShorthandPropertyAssignment(node)) {
      return { node, name: node.getName(), value: node.getName(), initializer: node.getNameNode() };
    }
    return { node, name: '', value: r.text(node), initializer: undefined };
  });
}

/** Returns a property as text, the short form where the value has the same name. */
export function pair(name: string, value: string): string {
  return name === value ? name : `${name}: ${value}`;
}

/** Returns an object literal in a line. */
export function objectText(parts: readonly string[]): string {
  return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`;
}

/** Returns what stands between the properties of an object: a new line, if they have one each. */
export function separatorOf(object: ObjectLiteralExpression): string {
  const [first] = object.getProperties();
  const isOpen = first !== undefined && /^\{[^\S\n]*(\/\/[^\n]*)?\n/.test(object.getText());
  return isOpen ? `,\n${indentOf(first)}` : ', ';
}

/**
 * Returns an object literal in which properties have other texts, or none. Those without a text here are printed as the rules say.
 * Comments and lines stay.
 */
export function edited(
  object: ObjectLiteralExpression,
  r: Rewriter,
  texts: ReadonlyMap<Node, string>,
  { first = [], last = [] }: { first?: readonly string[]; last?: readonly string[] } = {},
): string {
  for (const [node, text] of texts) r.give(node, text);
  const kept = object.getProperties().filter((each) => texts.get(each) !== REMOVED);
  const [head, tail] = [kept[0], kept.at(-1)];
  if (head === undefined) return objectText([...first, ...last]);
  const between = separatorOf(object);
  if (first.length > 0) r.put(first.map((each) => each + between).join(''), head);
  const text = r.plain(tail!);
  if (last.length > 0) r.give(tail!, [text, ...last].join(between));
  return r.copy(object);
}
