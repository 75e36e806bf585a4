// The parts of the shared modules: a file for each room. It exports what the modules that need NestJS import of it.
import { basename, dirname, join, relative, resolve } from 'node:path';

const GENERATED = /(\w+\.generated)\.js$/;
const PART = '\0part:';
const FACADE = '\0facade:';

/** Returns the parts. Each has a name, the id of its virtual module, and its modules with their exported names. */
export function partsOf(shared) {
  // A key with .js is an entry point, which is a file of its own already.
  const rooms = [...shared.boundary()].filter(([room]) => !room.endsWith('.js'));
  const parts = rooms.map(([room, modules]) => ({
    name: `part-${room}`,
    id: `${PART}${room}`,
    modules: aliased(modules),
  }));
  return [...parts, { name: 'part-zod', id: `${PART}zod`, zod: shared.zodMembers() }];
}

/** Names that two modules of a part share get a number. */
function aliased(modules) {
  const taken = new Set();
  return new Map(
    [...modules].map(([file, names]) => [
      file,
      [...names].map((name) => {
        let alias = name;
        for (let i = 2; taken.has(alias); i++) alias = `${name}${i}`;
        taken.add(alias);
        return [name, alias];
      }),
    ]),
  );
}

/**
 * Returns a plugin that makes the parts, or with the shared modules reads them. It turns each import of a shared module
 * into one of a facade. This virtual module takes its names from the part's file in this folder.
 */
export function readShared(parts, shared, folder) {
  const partOf = (file) => parts.find(({ modules }) => modules?.has(file));
  return {
    name: 'shared-parts',
    resolveId(id, importer) {
      if (id.startsWith(PART)) return id;
      if (!shared) return null;
      if (id.startsWith(folder) && importer?.startsWith(FACADE)) return { id, external: true };
      if (id === 'zod') return `${FACADE}zod`;
      const file = importer && id.startsWith('.') ? resolve(dirname(importer), id) : undefined;
      return file && shared.isShared(file) ? `${FACADE}${relative(shared.folder, file)}` : null;
    },
    load(id) {
      if (id.startsWith(PART)) return partCode(parts.find((part) => part.id === id));
      if (!id.startsWith(FACADE)) return null;
      if (id === `${FACADE}zod`) return `import part from '${folder}part-zod.js';\nexport const { z } = part;\n`;
      const file = join(shared.folder, id.slice(FACADE.length));
      const part = partOf(file);
      return part ? facadeCode(`${folder}${part.name}.js`, part.modules.get(file)) : entryFacade(file);
    },
  };

  /** Returns the facade of a shared entry point, such as the core, which exports everything. */
  function entryFacade(file) {
    const names = shared.exportsOf(file).map((name) => [name, name]);
    return facadeCode(`${folder}${basename(file)}`, names);
  }
}

/** Returns the name of the chunk that has the facades of a part. So they are one file, not one per module. */
export function facadeName(id, parts, shared) {
  if (!id.startsWith(FACADE)) return null;
  if (id === `${FACADE}zod`) return 'from-zod';
  const part = parts.find(({ modules }) => modules?.has(join(shared.folder, id.slice(FACADE.length))));
  return part ? part.name.replace('part-', 'from-') : null;
}

function partCode({ modules, zod }) {
  if (zod) {
    return `import { z as all } from 'zod';\nexport const z = { ${zod.map((name) => `${name}: all.${name}`).join(', ')} };\n`;
  }
  return [...modules]
    .map(([file, names]) => `export { ${names.map(renamed).join(', ')} } from '${file}';\n`)
    .join('');
}

function facadeCode(from, names) {
  const taken = names.map(([name, alias]) => (name === alias ? name : `${alias}: ${name}`)).join(', ');
  return `import part from '${from}';\nexport const { ${taken} } = part;\n`;
}

function renamed([name, alias]) {
  return name === alias ? name : `${name} as ${alias}`;
}

/** Leaves the generated files and the thread's entry out of the bundles, which find them by name. */
export function keepApart(threadEntry) {
  return {
    name: 'keep-apart',
    resolveId(id) {
      if (basename(id) === threadEntry) return { id: `./${threadEntry}`, external: true };
      const [, name] = GENERATED.exec(id) ?? [];
      return name === undefined ? null : { id: `./${name}.js`, external: true };
    },
  };
}
