// Resolves an import of the library's sources to the module of that name in an earlier version.
const SOURCE = /^#(?=queue|worker|nest|health|processes)/;
let library;

export function initialize(url) {
  library = url;
}

export function resolve(name, context, next) {
  if (!SOURCE.test(name)) return next(name, context);
  return next(new URL(name.slice(1), library).href, context);
}
