// Resolves an import of the library's sources to the module of that name in an earlier version.
const SOURCE = /^#(?=queue|worker|nest|health|processes)/;
// Modules that have moved since that version was packed.
const MOVED = { 'queue/enqueue/enqueue-options.js': 'queue/enqueue/encode-job.js' };
let library;

export function initialize(url) {
  library = url;
}

export function resolve(name, context, next) {
  if (!SOURCE.test(name)) return next(name, context);
  const module = name.slice(1);
  return next(new URL(MOVED[module] ?? module, library).href, context);
}
