// The shared modules that neither a boot, nor an enqueue, nor a plain job runs. Node compiles a file as a whole, so they have files of
// their own. The other files load these at their first use.
import { relative, sep } from 'node:path';

/** The files of late modules, each with the paths of its modules, or of their folders. */
const LATE = {
  // What people look at and change.
  operations: [
    'queue/actions/action-log',
    'queue/dead-letters/error-kinds',
    'queue/doctor/doctor',
    'queue/enqueue/send-signal',
    'queue/enqueue/update-job',
    'queue/model/pause',
    'queue/operate/audit-trail',
    'queue/operate/clean',
    'queue/operate/elsewhere',
    'queue/operate/groups',
    'queue/operate/history',
    'queue/operate/limits',
    'queue/operate/purge',
    'queue/operate/reschedule-options',
    'queue/operate/shared-limit',
    'queue/results/store-jobs',
    'queue/results/wait-for-result',
    'queue/schedules/recurrence',
  ],
  // What an app chooses: encryption, a Cluster, threads, bulk handlers, shared slots.
  choices: [
    'queue/redis/cluster/hub',
    'queue/redis/cluster/hub-connection',
    'worker/fetch/directed-wait',
    'worker/fetch/fleet-turns',
    'worker/handlers/bulk-calls',
    'worker/handlers/job-waits',
    'worker/threads/thread-run',
    'worker/threads/thread-values',
  ],
  verdicts: ['inspect/'],
};

/** The late files. The texts of the scripts are one too: a server that knows the scripts needs only their digests. */
export const LATE_FILES = [...Object.keys(LATE), 'lua.generated'];

/** Returns the late file of a module, or null. */
export function lateFileOf(folder, id) {
  const path = relative(folder, id).split(sep).join('/').replace(/\.js$/, '');
  const [name] =
    Object.entries(LATE).find(([, modules]) =>
      modules.some((each) => (each.endsWith('/') ? path.startsWith(each) : path === each)),
    ) ?? [];
  return name ?? null;
}

/** Returns the name of a late file in the package. It has the version, so that no process loads the file of another. */
export function lateName(file, version) {
  return `${file}-${version}.js`;
}

/** Lets the code of a bundle load late files at their first use. Fills the list of those that load soon after the boot. */
export function withLateLoads(code, version) {
  const all = LATE_FILES.map((file) => `() => require("./${lateName(file, version)}")`).join(', ');
  return LATE_FILES.reduce((text, file) => withLateLoad(text, file, lateName(file, version)), code).replace(
    /^((?:const|let|var) LATE_FILES = )\[\];$/m,
    (_, start) => `${start}[${all}];`,
  );
}

function withLateLoad(code, file, fileName) {
  const [line, name] =
    new RegExp(`^(?:const|let) (\\w+) = require\\("\\./${file}\\.js"\\);\n`, 'm').exec(code) ?? [];
  if (!line) return code;
  const exported = new RegExp(`^exports\\.(\\w+) = (${name}\\.\\w+);$`, 'gm');
  const made = new RegExp(`\\bnew ${name}\\.(\\w+)`, 'g');
  const used = new RegExp(`(?<![\\w$.])${name}\\.`, 'g');
  const text = code
    .replace(line, '')
    .replace(exported, 'Object.defineProperty(exports, "$1", { enumerable: true, get: () => $2 });')
    .replace(made, `new (${name}().$1)`)
    .replace(used, `${name}().`);
  const [rest] = new RegExp(`.*(?<![\\w$.])${name}(?![\\w$(]).*`).exec(text) ?? [];
  if (rest) throw new Error(`bundle: ${file}.js cannot load late, because it is used as a value: ${rest}`);
  return `${text}${loaderOf(name, fileName)}`;
}

/** Returns the code that loads a late file. Its error has the code of FilesReplacedError. */
function loaderOf(name, fileName) {
  return `var ${name}_loaded;
function ${name}() {
\ttry {
\t\treturn ${name}_loaded ??= require("./${fileName}");
\t} catch (cause) {
\t\tif (cause?.code !== "MODULE_NOT_FOUND") throw cause;
\t\tthrow Object.assign(new Error("The files of nest-job-queue were replaced under this process; restart it. Found no ${fileName}.", { cause }), { code: "FILES_REPLACED" });
\t}
}
`;
}
