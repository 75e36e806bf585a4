// What is named as a source of the library is the module of that name of an earlier version.
const SOURCES = '../../src/';
let library;

export function initialize(url) {
  library = url;
}

export function resolve(name, context, next) {
  return next(name.startsWith(SOURCES) ? new URL(name.slice(SOURCES.length), library).href : name, context);
}
