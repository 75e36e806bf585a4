// Finds the compiled modules that need nothing of NestJS. Both formats share one CommonJS copy of them. That halves the
// package, and an app that loads both formats has one class of each error. The other modules read them through facades.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { lateFileOf } from './late-modules.mjs';

/** The package that an entry point needs, and that apps without this entry point need not have. */
export const PEERS = { '@opentelemetry/api': 'nest-job-queue/tracing' };
/**
 * The packages that a shared module may import. CommonJS can load them in every version that is supported. Every app
 * has them, but for PEERS. rxjs is not one of them, because an app without NestJS has none.
 */
const PACKAGES = ['cluster-key-slot', 'croner', 'ioredis', 'zod', ...Object.keys(PEERS)];
/** The folder of a program, which is no part of the library. */
const PROGRAM = 'cli';

/** The rooms that the library's own entry point needs. But for late modules they are one part, because each file takes time to load. */
const LIBRARY = ['queue', 'worker', 'nest'];

/** Reads the compiled modules of a folder, and tells which are shared and what the others import of them. */
export class SharedModules {
  constructor(folder) {
    this.folder = folder;
    const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.js'));
    this.modules = new Map(files.map((file) => [join(folder, file), read(join(folder, file))]));
    this.shared = new Set([...this.modules.keys()].filter((file) => this.#needsNoNest(file)));
  }

  isShared(file) {
    return this.shared.has(file);
  }

  /** Returns the names that a module exports, those of `export *` included. */
  exportsOf(file) {
    const { exported, stars } = this.modules.get(file);
    return [...new Set([...exported, ...stars.flatMap((each) => this.exportsOf(each))])];
  }

  /** Returns a module and all that it imports, directly or not. */
  reachedFrom(file, seen = new Set()) {
    seen.add(file);
    for (const { from } of this.modules.get(file).imports) if (!seen.has(from)) this.reachedFrom(from, seen);
    return seen;
  }

  /** Returns the shared modules that others import, by room, each with the names that these use. */
  boundary() {
    const rooms = new Map();
    for (const [file, { imports }] of this.modules) {
      if (this.isShared(file)) continue;
      for (const { from, names } of imports) {
        if (!this.isShared(from)) continue;
        const folder = relative(this.folder, from).split(sep)[0];
        const room = lateFileOf(this.folder, from) ?? (LIBRARY.includes(folder) ? 'library' : folder);
        const used = (rooms.get(room) ?? rooms.set(room, new Map()).get(room)).get(from) ?? new Set();
        (names.includes('*') ? this.exportsOf(from) : names).forEach((name) => used.add(name));
        rooms.get(room).set(from, used);
      }
    }
    return rooms;
  }

  /** Returns the members of zod that the other modules use. */
  zodMembers() {
    const users = [...this.modules].filter(
      ([file, { packages }]) => packages.includes('zod') && !this.isShared(file),
    );
    const members = users.flatMap(([file]) => [...membersOf('z', parseAst(readFileSync(file, 'utf8')))]);
    return [...new Set(members)];
  }

  #needsNoNest(file, seen = new Set()) {
    seen.add(file);
    const { imports, packages } = this.modules.get(file);
    return (
      !relative(this.folder, file).startsWith(`${PROGRAM}${sep}`) &&
      packages.every((name) => name.startsWith('node:') || PACKAGES.includes(name)) &&
      imports
        .map(({ from }) => from)
        .filter((from) => !seen.has(from))
        .every((from) => this.#needsNoNest(from, seen))
    );
  }
}

/** Reads what a module imports, re-exports and exports. */
function read(file) {
  const [imports, packages, exported, stars] = [[], [], [], []];
  for (const node of parseAst(readFileSync(file, 'utf8')).body) {
    const specifier = node.source?.value;
    const from = specifier?.startsWith('.') ? resolve(dirname(file), specifier) : undefined;
    if (specifier && !from) packages.push(specifier);
    if (from) imports.push({ from, names: importedNames(node) });
    if (from && node.type === 'ExportAllDeclaration') stars.push(from);
    exported.push(...exportedNames(node));
  }
  return { imports, packages, exported, stars };
}

function importedNames({ type, specifiers }) {
  if (type === 'ExportAllDeclaration') return ['*'];
  return specifiers.map((each) => {
    if (each.type === 'ImportNamespaceSpecifier') return '*';
    return each.imported?.name ?? each.local.name;
  });
}

function exportedNames({ type, specifiers = [], declaration }) {
  if (type !== 'ExportNamedDeclaration') return [];
  const declared =
    declaration?.declarations?.map(({ id }) => id.name) ?? (declaration ? [declaration.id.name] : []);
  return [...declared, ...specifiers.map(({ exported }) => exported.name)];
}

/** Yields the members of an object that a tree of syntax names. */
function* membersOf(object, node) {
  if (typeof node !== 'object' || node === null) return;
  if (node.type === 'MemberExpression' && node.object.name === object) yield node.property.name;
  for (const child of Object.values(node)) yield* membersOf(object, child);
}
