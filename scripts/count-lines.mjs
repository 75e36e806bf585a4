// Prints the files and the lines of code of each room of src, lua, test and tools. Arguments name other folders.
//   Neither comments nor empty lines count, and no file that was made.
import { readFileSync, readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const TREES = ['src', 'lua', 'test', 'tools'];

/** Returns the lines of a TypeScript or JavaScript text that have more than comments. */
function linesOfScript(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lines = new Set();
  const mark = (node) => {
    if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return;
    const parts = node.getChildren(source);
    if (parts.length > 0) {
      parts.forEach(mark);
      return;
    }
    if (node.getWidth(source) === 0) return;
    const lineOf = (at) => source.getLineAndCharacterOfPosition(at).line;
    for (let line = lineOf(node.getStart(source)); line <= lineOf(node.getEnd()); line += 1) lines.add(line);
  };
  mark(source);
  return lines.size;
}

function linesOfLua(text) {
  return text
    .replaceAll(/--\[\[[\s\S]*?\]\]/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*--(?!@include)/.test(line)).length;
}

/** Returns the lines of code of a file. */
export function codeLines(file, text) {
  return file.endsWith('.lua') ? linesOfLua(text) : linesOfScript(file, text);
}

/** Returns the files and lines of code of each folder of a tree, and of the files right in it. */
export function countRooms(tree) {
  const rooms = new Map();
  const files = readdirSync(join(root, tree), { recursive: true })
    .map((file) => String(file).split(sep).join('/'))
    .filter(
      (file) =>
        /\.(tsx?|[mc]ts|[mc]?js|lua)$/.test(file) && !/\.generated\.|(?:^|\/)(?:fixtures|dist)\//.test(file),
    );
  for (const file of files.toSorted()) {
    const parts = file.split('/').slice(0, -1);
    const room = [tree, ...parts.slice(0, parts[0] === 'dashboard' && parts[1] === 'ui' ? 2 : 1)].join('/');
    const { files: count = 0, lines = 0 } = rooms.get(room) ?? {};
    rooms.set(room, {
      files: count + 1,
      lines: lines + codeLines(file, readFileSync(join(root, tree, file), 'utf8')),
    });
  }
  return rooms;
}

function print(name, files, lines) {
  console.log(`${name.padEnd(28)}${String(files).padStart(6)}${String(lines).padStart(9)}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const trees = process.argv.slice(2);
  print('room', 'files', 'lines');
  for (const tree of trees.length > 0 ? trees : TREES) {
    const rooms = [...countRooms(tree)];
    const sum = (kind) => rooms.reduce((all, [, room]) => all + room[kind], 0);
    rooms.forEach(([name, { files, lines }]) => print(name, files, lines));
    print(`${tree}, all`, sum('files'), sum('lines'));
  }
}
