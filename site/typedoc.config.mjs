// The API pages of the site: each export of the package by its docstrings, in .cache/site-api. They are pages of typedoc
// itself, with its search: pages of VitePress would triple the time of the build.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const { exports } = JSON.parse(readFileSync(path('../package.json'), 'utf8'));

export default {
  entryPoints: Object.values(exports)
    .filter((target) => typeof target === 'object')
    .map(({ import: { types } }) => path(`../src/${/([\w-]+)\.d\.ts$/.exec(types)[1]}.ts`)),
  tsconfig: path('tsconfig.json'),
  plugin: [path('module-names.mjs'), path('accessible-api.mjs')],
  out: path('../.cache/site-api'),
  customCss: path('api.css'),
  customJs: path('api-navigation.js'),
  name: 'API of nest-job-queue',
  titleLink: '/',
  navigationLinks: { Documentation: '/', API: '/api/index.html' },
  readme: 'none',
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  disableSources: true,
  hideGenerator: true,
  // The build of the library checks the types.
  skipErrorChecking: true,
  treatWarningsAsErrors: true,
  logLevel: 'Warn',
};
