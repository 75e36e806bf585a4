// Removes the blanks between tokens of a bundle, and shortens the names of locals. Each statement keeps a line of its own, and
// functions, classes and members keep their names. So a stack trace names the function and the statement.
import { parseAst } from 'rolldown/parseAst';
import { minifySync } from 'rolldown/utils';

/** The nodes whose members get lines of their own. These are statements, members of a class, and cases of a switch. */
const LISTS = ['Program', 'BlockStatement', 'StaticBlock', 'ClassBody', 'SwitchStatement', 'SwitchCase'];

/** The locals of functions get short names, the functions and classes keep theirs. */
const SHORT_LOCALS = { toplevel: false, keepNames: { function: true, class: true } };

/** Returns the code without blanks between its tokens, and with short names of locals. */
export function compact(fileName, code, isModule) {
  const options = { module: isModule, compress: false, mangle: SHORT_LOCALS };
  const { code: short, errors } = minifySync(fileName, code, options);
  if (errors.length > 0) throw new Error(`compact: ${fileName}: ${errors[0].message}`);
  const tree = parseAst(short, { sourceType: isModule ? 'module' : 'script' });
  const starts = [...startsIn(tree)].toSorted((a, b) => a - b);
  const text = withQuotes(short, requiredIn(tree));
  const lines = [0, ...starts].map((start, index) => text.slice(start, starts[index]).trimEnd());
  return `${inLatin(lines.filter((line) => line !== '').join('\n'))}\n`;
}

/** Returns the code with escapes of wide characters. V8 keeps a text with one of them in twice the memory. */
function inLatin(code) {
  return code.replace(/[\u0100-\uffff]/g, (wide) => `\\u${wide.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Returns the code with quotes around these literals, in place of backticks. The length of the code stays. */
function withQuotes(code, literals) {
  const quoted = [...literals].toSorted((a, b) => a.start - b.start);
  let from = 0;
  const pieces = quoted.map(({ start, end }) => {
    const piece = `${code.slice(from, start)}"${code.slice(start + 1, end - 1)}"`;
    from = end;
    return piece;
  });
  return pieces.join('') + code.slice(from);
}

/** Yields the names of required packages that are in backticks. Tools that look for packages know quotes best. */
function* requiredIn(node) {
  if (typeof node !== 'object' || node === null) return;
  const [name] = node.type === 'CallExpression' && node.callee.name === 'require' ? node.arguments : [];
  const isText = name?.type === 'TemplateLiteral' && name.expressions.length === 0;
  if (isText && /^[\w@/.:-]+$/.test(name.quasis[0].value.cooked)) yield name;
  for (const child of Object.values(node)) yield* requiredIn(child);
}

/** Yields where each member of a list begins. A line break is safe there. */
function* startsIn(node) {
  if (typeof node !== 'object' || node === null) return;
  if (LISTS.includes(node.type)) {
    for (const { start } of node.cases ?? node.consequent ?? node.body) yield start;
  }
  for (const child of Object.values(node)) yield* startsIn(child);
}
