// The private members of a class, by its source: TypeScript forgets them when it compiles.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../../src');

const DOCSTRING = String.raw`\/\*\*(?:(?!\*\/)[^])*?@internal(?:(?!\*\/)[^])*?\*\/\s*`;
const MODIFIERS = String.raw`(?:(?:private|protected|override|readonly|async|get) |\*)*`;
const HIDDEN = new RegExp(String.raw`(?:^  (?=private |protected )|^  ${DOCSTRING})${MODIFIERS}(\w+)`, 'gm');

let bodies: ReadonlyMap<string, string> | undefined;

/** Returns the text of each class of `src` by its name. */
function readBodies(): ReadonlyMap<string, string> {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return new Map(
    files.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return [...text.matchAll(/^export (?:abstract )?class (\w+)[^]*?^}/gm)].map(
        ([body, name]) => [name!, body] as const,
      );
    }),
  );
}

/**
 * Returns the names of the members of a prototype, and of those above it, that are private, protected or `@internal`.
 *
 * @throws Error if `src` has no such class
 */
export function hiddenMembersOf(prototype: object): Set<string> {
  bodies ??= readBodies();
  const names = new Set<string>();
  for (let each = prototype; each !== Object.prototype; each = Object.getPrototypeOf(each) as object) {
    const body = bodies.get(each.constructor.name);
    if (body === undefined)
      throw new Error(`Expected an exported class ${each.constructor.name} in src, found none`);
    for (const [, name] of body.matchAll(HIDDEN)) names.add(name!);
  }
  return names;
}
