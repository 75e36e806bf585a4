// How the build lets a bundle make its schemas at their first use.
import { runInThisContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { withLazySchemas } from '../../../scripts/build/lazy-schemas.mjs';

const HEAD = 'const require_zod = require("./zod.js");\n';

/** Runs the code of a bundle. Returns its exports, and the schemas that it has made. */
function load(code: string) {
  const made: string[] = [];
  const zod = {
    text: (name: string) => {
      made.push(name);
      return { name };
    },
  };
  const run = runInThisContext(`(function (require, exports) {${withLazySchemas(HEAD + code)}})`) as (
    require: () => typeof zod,
    exports: Record<string, unknown>,
  ) => void;
  const exported: Record<string, unknown> = {};
  run(() => zod, exported);
  return { made, exported: exported as Record<string, () => unknown> & { schema: unknown } };
}

it('makes a schema at its first use, once, with those that it is made of', () => {
  const { made, exported } = load(`
    const part = require_zod.text("part");
    const other = require_zod.text("other");
    const whole = { part, more: require_zod.text("whole") };
    exports.check = () => whole.part.name;
  `);
  expect(made).toEqual([]);
  expect([exported['check']!(), exported['check']!()]).toEqual(['part', 'part']);
  expect(made).toEqual(['part', 'whole']);
});

it('exports a schema that is made when it is read', () => {
  const { made, exported } = load('const schema = require_zod.text("a");\nexports.schema = schema;\n');
  expect(made).toEqual([]);
  expect(exported.schema).toEqual({ name: 'a' });
  expect(exported.schema).toBe(exported.schema);
});

it('leaves a constant at once whose name is that of a local too, and one that only a function in it needs', () => {
  const { made, exported } = load(`
    const name = require_zod.text("name");
    const field = require_zod.text("field");
    const checks = { field: () => field };
    exports.of = (name) => name;
    exports.field = () => checks.field();
  `);
  expect(made).toEqual(['name']);
  expect(exported['of']!.call(null)).toBeUndefined();
  expect(exported['field']!()).toEqual({ name: 'field' });
});

it('takes the name of a member or of a property for no use', () => {
  const { exported } = load(`
    const text = require_zod.text("text");
    exports.all = () => [{ text: 1 }.text, { text }.text.name, \`\${text.name}\`];
  `);
  expect(exported['all']!()).toEqual([1, 'text', 'text']);
});

it('refuses a constant that is a class', () => {
  const code = `${HEAD}const Made = require_zod.text("a");\nexports.made = () => new Made();\n`;
  expect(() => withLazySchemas(code)).toThrow('because it is a class');
});

it('leaves code without zod as it is', () => {
  expect(withLazySchemas('const a = b();\n')).toBe('const a = b();\n');
});
