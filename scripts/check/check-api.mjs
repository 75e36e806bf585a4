// Compares each entry point with its checked-in report, api/NAME.api.md, so that every change of the public API is
// seen. `npm run api:update` rewrites the reports. The stripped declarations, without @internal parts, must also
// compile for users with `skipLibCheck: false`. Reads dist/esm as `npm run build:esm` makes it. `npm run build` replaces
// that by bundles, whose types api-extractor reports in another order.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import ts from 'typescript';
import { strangeTags, undocumented } from './check-docstrings.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const reports = join(root, 'api');
const update = process.argv.includes('--update');
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The types of each entry point, by the name of its report. */
const entries = Object.entries(exports)
  .filter(([, target]) => typeof target === 'object')
  .map(([path, target]) => [path === '.' ? 'index' : path.slice(2).replaceAll('/', '-'), target.import.types]);

if (!existsSync(join(root, 'dist/esm/queue'))) {
  console.error(
    'check-api: dist/esm has no compiled sources. Run `npm run build:esm`, which replaces what is there.',
  );
  process.exit(1);
}
mkdirSync(reports, { recursive: true });
const problems = checkDeclarations(entries.map(([, types]) => join(root, types)));
/** Types that a user cannot name, because their entry point does not export them. */
const forgotten = [];
const work = mkdtempSync(join(tmpdir(), 'check-api-'));
try {
  const configs = entries.map(([name, types]) => [name, configOf(name, types)]);
  const [[, first], ...others] = configs;
  // One program for all entry points: to parse and bind their types again for each takes most of the time.
  const compilerState = CompilerState.create(first, {
    additionalEntryPoints: others.map(([, { mainEntryPointFilePath }]) => mainEntryPointFilePath),
  });
  for (const [name, config] of configs) problems.push(...checkEntry(name, config, compilerState));
  problems.push(...checkForgotten());
  const known = entries.map(([name]) => `${name}.api.md`);
  const stale = readdirSync(reports).filter((file) => !known.includes(file));
  problems.push(...stale.map((file) => `api/${file}: no entry point has this name; delete the report.`));
} finally {
  rmSync(work, { recursive: true, force: true });
}
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}

/** Returns errors in our own declarations, not in those of peers. */
function checkDeclarations(files) {
  const options = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    noEmit: true,
    types: ['node'],
    experimentalDecorators: true,
  };
  const program = ts.createProgram(files, options);
  const ours = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(join(root, 'dist')));
  const faults = ours
    .flatMap((file) => program.getSemanticDiagnostics(file))
    .map(({ file, messageText }) => `${file.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
  return [...faults, ...ours.flatMap(strangeTags)];
}

/** Checks that each type that an entry point names is exported by this or another entry point. */
function checkForgotten() {
  const declared = /^export (?:declare |abstract )*(?:class|const|enum|function|interface|type) (\w+)/gm;
  const exported = new Set(
    entries.flatMap(([name]) =>
      [...readFileSync(join(work, `${name}.api.md`), 'utf8').matchAll(declared)].map(([, symbol]) => symbol),
    ),
  );
  return forgotten
    .filter(([, text]) => !exported.has(/symbol "(\w+)"/.exec(text)[1]))
    .map(([name, text]) => `${name}: ${text}`);
}

function configOf(name, types) {
  return ExtractorConfig.prepare({
    configObjectFullPath: join(root, 'api-extractor.json'),
    packageJsonFullPath: join(root, 'package.json'),
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: join(root, types),
      newlineKind: 'lf',
      compiler: { tsconfigFilePath: join(root, 'tsconfig.api.json'), skipLibCheck: true },
      apiReport: {
        enabled: true,
        reportFolder: reports,
        reportTempFolder: work,
        reportFileName: `${name}.api.md`,
        includeForgottenExports: false,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.None },
          'ae-forgotten-export': { logLevel: ExtractorLogLevel.Warning, addToApiReportFile: false },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
  });
}

function checkEntry(name, config, compilerState) {
  const messages = [];
  const { apiReportChanged } = Extractor.invoke(config, {
    compilerState,
    localBuild: update,
    showVerboseMessages: false,
    messageCallback: (message) => {
      message.handled = true;
      if (message.messageId === 'ae-forgotten-export') forgotten.push([name, message.text]);
      if (message.logLevel === ExtractorLogLevel.Error) messages.push(`${name}: ${message.text}`);
    },
  });
  if (messages.length > 0) return messages;
  const bare = undocumented(readFileSync(join(work, `${name}.api.md`), 'utf8'));
  if (bare.length > 0) return bare.map((problem) => `${name}: ${problem}`);
  if (update || !apiReportChanged) return [];
  const how = existsSync(join(reports, `${name}.api.md`)) ? 'differs from' : 'is missing:';
  return [
    `The public API of the entry point "${name}" ${how} api/${name}.api.md. If the change is meant, run ` +
      '`npm run api:update`, read the difference, and commit it.',
  ];
}
