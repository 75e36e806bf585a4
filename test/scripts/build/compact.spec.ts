// The code of the package, without blanks between its tokens.
import { runInThisContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { compact } from '../../../scripts/build/compact.mjs';

const SOURCE = `
const { readFileSync } = require("node:fs");
const load = (name) => require(\`./\${name}\`);
class Counter {
	count = 0;
	static { Counter.made = true; }
	add(amount) {
		if (amount < 0) throw new RangeError("below zero");
		else this.count += amount;
		for (const each of [1, 2]) { this.last = each; }
		switch (amount) { case 1: return "one"; default: return \`  \${amount}  many\`; }
	}
}
module.exports = { Counter, hint: "Call require(\`node:fs\`), or require(\`\${name}\`)" };
`;

const short = compact('counter.js', SOURCE, false);

it('gives each statement a line', () => {
  const lines = short.split('\n');
  expect(lines[0]).toBe('const{readFileSync}=require("node:fs");');
  expect(lines.some((line) => /^this\.last=\w\}$/.test(line))).toBe(true);
  expect(lines.filter((line) => /^if\(\w<0\)throw/.test(line))).toHaveLength(1);
  expect(lines[1]).toMatch(/^const load=(\w)=>require\(`\.\/\$\{\1\}`\);$/);
  expect(short).not.toContain('\t');
});

it('gives locals short names, and leaves functions, classes and members theirs', () => {
  const code = 'function outer(amount) { const inner = () => amount; return { inner, amount }; } class Kept {}';
  const mangled = compact('locals.js', code, false);
  expect(mangled).toMatch(
    /^function outer\((\w)\)\{\nconst inner=\(\)=>\1;\nreturn\{inner,amount:\1\}\}\nclass Kept\{\}\n$/,
  );
});

it('behaves like the code that it shortened', () => {
  const loaded = {
    exports: {} as { hint: string; Counter: new () => { last: number; add(amount: number): string } },
  };
  const run = runInThisContext(`(function (module, require) {${short}})`) as (...given: unknown[]) => void;
  run(loaded, () => ({}));
  const counter = new loaded.exports.Counter();
  expect([counter.add(1), counter.add(3), counter.last]).toEqual(['one', '  3  many', 2]);
  expect(loaded.exports.hint).toBe('Call require(`node:fs`), or require(`${name}`)');
  expect(() => counter.add(-1)).toThrow('below zero');
});

it('names a file that it cannot read', () => {
  expect(() => compact('broken.js', 'const = 1', false)).toThrow('broken.js');
});
