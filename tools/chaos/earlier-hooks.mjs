// What is named as a source of the library is the module of that name of an earlier version.
const SOURCE = /^#(?=queue|worker|nest|health|processes)/;
let library;

export function initialize(url) {
  library = url;
}

export function resolve(name, context, next) {
  return next(SOURCE.test(name) ? new URL(name.slice(1), library).href : name, context);
}
