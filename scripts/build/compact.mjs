// Removes the blanks between tokens of a bundle. All names stay, and each statement keeps a line of its own. So a stack
// trace names the function and the statement, and Node prints a short line of source above it.
import { parseAst } from 'rolldown/parseAst';
import { minifySync } from 'rolldown/utils';

/** The nodes whose members get lines of their own. These are statements, members of a class, and cases of a switch. */
const LISTS = ['Program', 'BlockStatement', 'StaticBlock', 'ClassBody', 'SwitchStatement', 'SwitchCase'];

/** Returns the code without blanks between its tokens. */
export function compact(fileName, code, isModule) {
  const options = { module: isModule, compress: false, mangle: false };
  const { code: short, errors } = minifySync(fileName, code, options);
  if (errors.length > 0) throw new Error(`compact: ${fileName}: ${errors[0].message}`);
  const starts = [...startsIn(parseAst(short, { sourceType: isModule ? 'module' : 'script' }))].toSorted(
    (a, b) => a - b,
  );
  const lines = [0, ...starts].map((start, index) => short.slice(start, starts[index]).trimEnd());
  const text = `${lines.filter((line) => line !== '').join('\n')}\n`;
  // Tools that look for packages know this form best.
  return text.replace(/\brequire\(`([\w@/.:-]+)`\)/g, 'require("$1")');
}

/** Yields where each member of a list begins. A line break is safe there. */
function* startsIn(node) {
  if (typeof node !== 'object' || node === null) return;
  if (LISTS.includes(node.type)) {
    for (const { start } of node.cases ?? node.consequent ?? node.body) yield start;
  }
  for (const child of Object.values(node)) yield* startsIn(child);
}
