// Properties of object literals, as text.
import { Node, type ObjectLiteralElementLike, type ObjectLiteralExpression } from 'ts-morph';
import type { Rewriter } from './rewriter.js';

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

/** Returns an object literal: in a line, or with a line for each property if the old one had them. */
export function objectText(parts: readonly string[], like?: Node, indent = ''): string {
  if (parts.length === 0) return '{}';
  const line = `{ ${parts.join(', ')} }`;
  if (like === undefined || !like.getText().includes('\n')) return line;
  return `{\n${parts.map((part) => `${indent}  ${part},\n`).join('')}${indent}}`;
}
