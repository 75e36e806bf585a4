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

it('keeps all names, and gives each statement a line', () => {
  const lines = short.split('\n');
  expect(lines[0]).toBe('const{readFileSync}=require("node:fs");');
  expect(lines).toContain('this.last=each}');
  expect(lines.filter((line) => line.startsWith('if(amount<0)throw'))).toHaveLength(1);
  expect(lines[1]).toBe('const load=name=>require(`./${name}`);');
  expect(short).not.toContain('\t');
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
