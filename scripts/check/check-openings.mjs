// Checks that the comment of a function begins with its verb: Returns, Sends, Waits. So a reader learns first what it does.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { sourcesOf } from './check-comments.mjs';

/** Plurals and other words that end as a verb does. */
const NO_VERBS = new Set(
  (
    'As This Its Always Less Perhaps Unless Whereas Ids Jobs Lines Columns Depths Keys Rows Words Workers Groups: Redis ' +
    'Commands Failures Clients Sequences Handlers Queues Actions Addresses Microseconds Milliseconds Options Values'
  ).split(' '),
);

/** Returns a line for each function under `root` whose comment begins with another word. */
export function checkOpenings(root) {
  return sourcesOf(root).flatMap((file) =>
    wrongOpenings(file, readFileSync(join(root, file), 'utf8')).map(
      (text) => `${file}: begin the comment of a function with its verb, as in "Returns …": ${text}`,
    ),
  );
}

/** Returns the comments of a file's functions that begin with another word than a verb. */
export function wrongOpenings(file, source) {
  const comments = file.endsWith('.lua') ? luaComments(source) : docstrings(file, source);
  return comments.filter((text) => !beginsWithVerb(text)).map((text) => text.slice(0, 80));
}

/** Returns true for a verb such as "Returns", for "Called when", and for a comment of tags only. */
function beginsWithVerb(text) {
  const [word] = text.split(/[\s,.;]/, 1);
  return (
    text.startsWith('@') || word === 'Called' || word === 'See' || (/^[A-Z].*s$/.test(word) && !NO_VERBS.has(word))
  );
}

function docstrings(file, source) {
  const found = [];
  const visit = (node) => {
    const doc = node.jsDoc?.at(-1);
    if (doc && isFunction(node)) found.push(proseOf(source.slice(doc.pos, doc.end)));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true));
  return found;
}

function isFunction(node) {
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isMethodSignature(node)) return true;
  const variable = ts.isVariableStatement(node) ? node.declarationList.declarations[0] : node;
  const { initializer } = ts.isVariableDeclaration(variable) || ts.isPropertyDeclaration(variable) ? variable : {};
  return initializer !== undefined && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer));
}

function proseOf(doc) {
  const lines = doc.slice('/**'.length, -'*/'.length).split('\n');
  return lines
    .map((line) => line.replace(/^\s*\*? ?/, '').trim())
    .join(' ')
    .trim();
}

/** Returns the comments right above local functions, without the header of a file. */
function luaComments(source) {
  return [...source.matchAll(/\n(?!--).*\n((?:--.*\n)+)local function/g)]
    .map(([, comment]) => comment.replace(/\n?-- ?/g, ' ').trim())
    .filter((text) => !/^(\w+\(|Needs:)/.test(text));
}
