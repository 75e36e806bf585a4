// What is named as a source of the library is the module of that name of an earlier version.
// That version has no rooms below queue and worker: `#queue/model/errors.js` is its `queue/errors.js`.
const SOURCE = /^#(?=queue|worker|nest|health|processes)/;
let library;

export function initialize(url) {
  library = url;
}

export function resolve(name, context, next) {
  if (!SOURCE.test(name)) return next(name, context);
  const [folder, ...rooms] = name.slice(1).split('/');
  return next(new URL(`${folder}/${rooms.at(-1)}`, library).href, context);
}
