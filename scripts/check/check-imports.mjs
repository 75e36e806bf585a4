// Checks the directions of imports inside src (docs/internals/architecture.md). LAYERS has those between folders, ROOMS
//   those between the rooms of a folder. Files at the top of src may import all folders. The folders of WITHOUT_NEST
//   import nothing from @nestjs/*, and imports form no cycle. Type imports count. PROGRAMS has what tools, benchmarks and
//   examples may import.
import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { checkComments } from './check-comments.mjs';
import { checkOpenings } from './check-openings.mjs';
import { checkCorridors, checkEntries, checkSizes } from './check-sizes.mjs';
import { checkTime } from './check-time.mjs';

/** The other folders that a folder may import. Those without an entry may import OTHERS. */
export const LAYERS = {
  queue: [],
  memory: ['queue'],
  worker: ['queue'],
  inspect: ['queue'],
  spread: ['queue', 'inspect'],
  nest: ['queue', 'memory', 'worker', 'inspect', 'spread'],
  metrics: ['queue', 'worker', 'nest'],
  tracing: ['queue', 'worker'],
  sentry: ['queue', 'worker'],
  outbox: ['queue', 'nest'],
  migrate: ['queue'],
  cli: ['queue', 'worker', 'inspect', 'spread', 'outbox', 'migrate'],
  testing: ['queue', 'memory', 'worker', 'nest'],
  schematics: [],
};
export const OTHERS = ['queue', 'inspect', 'nest'];
const WITHOUT_NEST = [
  'queue',
  'memory',
  'worker',
  'inspect',
  'spread',
  'metrics',
  'tracing',
  'sentry',
  'outbox',
  'migrate',
  'cli',
  'schematics',
];

/** The lowest rooms of src/queue, in order: each may import those before it, and every other room may import all. */
const BASE = ['runtime', 'errors', 'validation', 'codec', 'model'];
const above = (...rooms) => [...BASE, ...rooms];

/** The rooms of src/dashboard/ui that every page may import. */
const PAGE_BASE = ['state', 'parts'];

const DASHBOARD_BASE = ['dashboard-options.ts', 'told-errors.ts', 'shown-queues.ts'];

/**
 * The other rooms of its folder that a room may import. A file directly in the folder counts as a room. A room without
 * an entry may import all of them.
 */
const ROOMS = {
  queue: {
    ...Object.fromEntries(BASE.map((room, i) => [room, BASE.slice(0, i)])),
    store: above('verbs'), // the types of its calls follow from the table of verbs
    verbs: above('store', 'redis', 'transport', 'replies', 'scripts'),
    redis: above('store'),
    transport: above('store', 'redis'),
    replies: above('store'),
    scripts: above('store', 'verbs', 'redis', 'transport', 'replies'),
    results: above('store', 'verbs'),
    actions: above('store', 'verbs'),
    operate: above('store', 'verbs', 'actions', 'register'),
    consume: above('store', 'verbs'),
    register: above('store', 'verbs'),
    enqueue: above('store', 'verbs', 'results', 'operate', 'register'),
    'dead-letters': above('store', 'verbs', 'actions', 'results', 'enqueue', 'operate'),
    batches: above('store', 'verbs', 'enqueue', 'results', 'operate', 'register'),
    schedules: above('store', 'verbs', 'actions', 'enqueue', 'register', 'results'),
    doctor: above('store', 'verbs', 'redis', 'transport', 'scripts', 'schedules'),
  },
  worker: {
    handlers: [],
    reports: ['handlers'],
    attempt: ['handlers', 'reports'],
    runner: ['handlers', 'reports', 'attempt'],
    fetch: ['handlers', 'reports', 'attempt', 'runner'],
    maintenance: ['handlers', 'reports', 'attempt', 'runner'],
    threads: ['handlers', 'reports', 'attempt', 'runner'],
    'topics.ts': ['handlers'],
  },
  nest: {
    context: [],
    'job-queue.options.ts': ['context'],
    connection: ['job-queue.options.ts'],
    handlers: ['context', 'job-queue.options.ts', 'connection'],
    lifecycle: ['context', 'job-queue.options.ts', 'connection', 'handlers'],
    service: ['context', 'job-queue.options.ts', 'connection', 'handlers', 'lifecycle'],
  },
  dashboard: {
    'dashboard-options.ts': [],
    'told-errors.ts': [],
    'shown-queues.ts': ['dashboard-options.ts', 'told-errors.ts'],
    security: DASHBOARD_BASE,
    views: [...DASHBOARD_BASE, 'security'],
    'job-search.ts': [...DASHBOARD_BASE, 'security', 'views'],
    actions: [...DASHBOARD_BASE, 'security', 'views', 'job-search.ts'],
    live: [...DASHBOARD_BASE, 'security', 'views', 'job-search.ts', 'actions'],
    api: [...DASHBOARD_BASE, 'security', 'views', 'job-search.ts', 'actions', 'live'],
    page: [...DASHBOARD_BASE, 'security', 'api'],
    ui: ['dashboard-options.ts', 'views'],
  },
  'dashboard/ui': {
    state: [],
    parts: ['state'],
    ...Object.fromEntries(
      ['charts', 'limits', 'batch', 'schedules', 'outbox', 'log', 'search'].map((room) => [room, PAGE_BASE]),
    ),
    steer: [...PAGE_BASE, 'limits'],
    'shared-limits': [...PAGE_BASE, 'limits', 'steer'],
    topics: PAGE_BASE,
    job: [...PAGE_BASE, 'steer'],
    overview: [...PAGE_BASE, 'steer'],
    queue: [...PAGE_BASE, 'charts', 'limits', 'batch', 'steer'],
    workers: [...PAGE_BASE, 'overview'],
    spread: [...PAGE_BASE, 'overview', 'queue', 'steer'],
  },
  inspect: {
    'words.ts': [],
    'queue-signs.ts': [],
  },
  metrics: {
    'instruments.ts': [],
    'fleet-reader.ts': ['instruments.ts'],
    'process-figures.ts': ['instruments.ts'],
    'prometheus.ts': ['instruments.ts', 'fleet-reader.ts', 'process-figures.ts'],
    'open-telemetry.ts': ['instruments.ts', 'fleet-reader.ts', 'process-figures.ts'],
  },
  cli: {
    'text.ts': [],
    'exit-codes.ts': [],
    'numbers.ts': ['exit-codes.ts'],
    redis: ['exit-codes.ts', 'failure.ts', 'host-process.ts'],
    'host-process.ts': [],
    'context.ts': ['host-process.ts', 'output.ts', 'progress.ts', 'redis', 'text.ts'],
  },
  memory: {
    lua: [],
    server: ['lua'],
  },
  testing: {
    time: [],
  },
};

/**
 * Rooms that a folder may not import from another. The runtime knows storage only by QueueStore.
 */
const CLOSED = {
  testing: ['queue/replies', 'queue/scripts'],
  worker: ['redis', 'transport', 'replies', 'scripts', 'redis-store.ts', 'redis-access.ts'].map(
    (room) => `queue/${room}`,
  ),
};

/**
 * The trees that a program outside of src may not import. Examples use the package as an app does, and benchmarks use its
 * build. The codemod is a package of its own.
 */
const PROGRAMS = {
  tools: [],
  bench: ['src', 'test', 'tools', 'examples'],
  examples: ['src', 'test', 'tools', 'bench'],
  codemod: ['src', 'test', 'tools', 'bench', 'examples'],
};

/**
 * The folders that a folder loads by `import()` alone; it may import their types. An app that uses Redis never loads the
 * store in memory.
 */
const ON_DEMAND = { nest: ['memory'] };

/** Returns every breach of the rules in a source tree, as lines that name the file and the import. */
export function checkImports(src) {
  const graph = new Map();
  const problems = [];
  for (const file of filesOf(src, /\.tsx?$/)) {
    const imports = importsOf(join(src, file));
    graph.set(
      file,
      imports.map((name) => resolve(src, file, name)).filter((target) => target !== undefined),
    );
    problems.push(
      ...imports.map((name) => directionProblem(src, file, name)).filter((problem) => problem !== undefined),
      ...onDemandProblems(src, file),
      ...nestProblems(src, file),
    );
  }
  return [...problems, ...cycles(graph)];
}

/** Returns every breach of the rules in the programs under `root`. */
export function checkPrograms(root) {
  const graph = new Map();
  const problems = [];
  for (const [tree, closed] of Object.entries(PROGRAMS)) {
    for (const name of filesOf(join(root, tree), /\.(tsx?|mjs)$/)) {
      const file = `${tree}/${name}`;
      const targets = importsOf(join(root, file)).flatMap((each) => programTarget(root, file, each) ?? []);
      graph.set(file, targets);
      const wrong = targets.filter((target) => closed.some((other) => target.startsWith(`${other}/`)));
      problems.push(...wrong.map((target) => `${file}: ${tree} may not import ${target}`));
    }
  }
  return [...problems, ...cycles(graph)];
}

/** The trees whose files may use an export of src. */
const USERS = ['src', 'test', 'tools', 'examples', 'bench', 'scripts'];
const EXPORTED = /^export (?:async |abstract )*(?:function\*?|const|let|class|interface|type) (\w+)/gm;

/** Returns a line for each export of `src` under `root` that no other file names. */
export function checkUnused(root) {
  const files = USERS.flatMap((tree) =>
    filesOf(join(root, tree), /\.(tsx?|mts|[mc]js)$/).map((file) => `${tree}/${file}`),
  );
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const users = new Map();
  for (const text of texts.values()) {
    for (const word of new Set(text.match(/\w+/g))) users.set(word, (users.get(word) ?? 0) + 1);
  }
  return [...texts]
    .filter(([file]) => file.startsWith('src/') && !file.includes('.generated.'))
    .flatMap(([file, text]) =>
      [...text.matchAll(EXPORTED)]
        .filter(([, name]) => users.get(name) === 1)
        .map(([, name]) => `${file}: no other file uses ${name}; remove it, or its export`),
    );
}

/** Returns the sources under a folder, and none that were made or installed. */
function filesOf(folder, endings) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .map((file) => String(file).split(sep).join('/'))
    .filter((file) => endings.test(file) && !/\.d\.ts$|(^|\/)(node_modules|dist)\//.test(file))
    .toSorted();
}

/** Returns the names that a file imports, those of types included. */
function importsOf(path) {
  return ts.preProcessFile(readFileSync(path, 'utf8')).importedFiles.map(({ fileName }) => fileName);
}

/** Returns the path that a program imports, or undefined for a package. `#` is the start of src. */
function programTarget(root, file, name) {
  if (name.startsWith('#')) return `src/${name.slice(1)}`;
  if (!name.startsWith('.')) return undefined;
  const target = posix.join(posix.dirname(file), name);
  return (
    ['.ts', '.tsx'].map((ending) => target.replace(/\.js$/, ending)).find((path) => existsSync(join(root, path))) ??
    target
  );
}

function directionProblem(src, file, name) {
  const from = folderOf(file);
  if (from === undefined) return undefined;
  if (WITHOUT_NEST.includes(from) && name.startsWith('@nestjs/')) {
    return `${file}: src/${from} works without Nest, but imports "${name}"`;
  }
  if (name === 'nest-job-queue') return `${file}: import the file itself, not "${name}"`;
  const target = resolve(src, file, name);
  if (target === undefined) return undefined;
  const to = folderOf(target);
  const closed = (CLOSED[from] ?? []).find((room) => target === room || target.startsWith(`${room}/`));
  if (closed) return `${file}: src/${from} may not import src/${closed}, but imports "${name}"`;
  if (to === from) return roomProblem(file, target, name);
  const allowed = LAYERS[from] ?? OTHERS;
  if (to !== undefined && allowed.includes(to)) return undefined;
  const rule =
    allowed.length === 0 ? 'nothing outside itself' : `only ${allowed.map((a) => `src/${a}`).join(' and ')}`;
  return `${file}: src/${from} may import ${rule}, but imports "${name}"`;
}

const STATIC_IMPORT = /^(?:import|export) (?!type\b)(?:[^;']* from )?'([^']+)'/gm;

/** Returns a line for each folder of ON_DEMAND whose code a file loads with itself. */
function onDemandProblems(src, file) {
  const folders = ON_DEMAND[folderOf(file)];
  if (folders === undefined) return [];
  return [...readFileSync(join(src, file), 'utf8').matchAll(STATIC_IMPORT)]
    .filter(([, name]) => folders.includes(folderOf(resolve(src, file, name) ?? '')))
    .map(
      ([, name]) =>
        `${file}: src/${folderOf(file)} loads this by import() alone, but imports "${name}" with itself`,
    );
}

/** Returns a line for each file of `nest` that a folder without Nest loads, and that loads Nest itself. */
function nestProblems(src, file) {
  if (!WITHOUT_NEST.includes(folderOf(file))) return [];
  return loadedBy(src, file)
    .filter((name) => folderOf(resolve(src, file, name) ?? '') === 'nest')
    .filter((name) => loadsNest(src, resolve(src, file, name), new Set()))
    .map((name) => `${file}: src/${folderOf(file)} works without Nest, but "${name}" loads it`);
}

function loadsNest(src, file, seen) {
  if (file === undefined || seen.has(file) || !existsSync(join(src, file))) return false;
  seen.add(file);
  return loadedBy(src, file).some(
    (name) => name.startsWith('@nestjs/') || loadsNest(src, resolve(src, file, name), seen),
  );
}

/** Returns what a file loads with itself. Imports of types leave nothing to load. */
function loadedBy(src, file) {
  const text = readFileSync(join(src, file), 'utf8');
  const onlyTypes = /^(?:import|export) \{(?:\s*type \w+(?: as \w+)?,?)*\s*\} from/;
  return [...text.matchAll(STATIC_IMPORT)].filter(([whole]) => !onlyTypes.test(whole)).map(([, name]) => name);
}

function roomProblem(file, target, name) {
  if (target.endsWith('.generated.ts')) return undefined;
  for (const [folder, rooms] of Object.entries(ROOMS)) {
    const [room, other] = [roomOf(folder, file), roomOf(folder, target)];
    const allowed = rooms[room];
    if (other === undefined || allowed === undefined || other === room || allowed.includes(other)) continue;
    const rule = allowed.length === 0 ? 'no other room' : `of the other rooms only ${allowed.join(', ')}`;
    return `${file}: src/${folder}/${room} may import ${rule}, but imports "${name}"`;
  }
  return undefined;
}

/** Returns the room of a file: its folder under `folder`, its own name directly in it, or undefined outside. */
function roomOf(folder, file) {
  return file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined;
}

/** Returns the folder right under src, or undefined for a file at its top. */
function folderOf(file) {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : undefined;
}

function resolve(src, file, name) {
  if (!name.startsWith('.')) return undefined;
  const target = posix.join(posix.dirname(file), name).replace(/\.js$/, '.ts');
  if (existsSync(join(src, `${target}x`))) return `${target}x`;
  // A generated file counts even before it exists.
  return existsSync(join(src, target)) || name.endsWith('.js') ? target : undefined;
}

function cycles(graph) {
  const state = new Map();
  const path = [];
  const found = [];
  const visit = (file) => {
    if (state.get(file) === 'done') return;
    if (state.get(file) === 'open') {
      found.push(`cycle: ${[...path.slice(path.indexOf(file)), file].join(' -> ')}`);
      return;
    }
    state.set(file, 'open');
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    state.set(file, 'done');
  };
  for (const file of graph.keys()) visit(file);
  return found;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const problems = [...checkImports(join(root, 'src')), ...checkTime(join(root, 'src'))];
  for (const problem of problems) console.error(`${relative(process.cwd(), join(root, 'src')) || '.'}/${problem}`);
  const ofTree = [
    checkPrograms,
    checkUnused,
    checkSizes,
    checkCorridors,
    checkEntries,
    checkComments,
    checkOpenings,
  ].flatMap((check) => check(root));
  for (const problem of ofTree) console.error(problem);
  if (problems.length + ofTree.length > 0) process.exitCode = 1;
}
