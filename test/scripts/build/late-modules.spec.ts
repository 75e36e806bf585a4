// How the build lets the code of the package load late files.
import { runInThisContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { FilesReplacedError } from '#queue/errors/errors.js';
import { withLateLoads } from '../../../scripts/build/late-modules.mjs';

const HEAD = 'const require_operations = require("./operations.js");\n';
/** Runs the code of a file beside others. */
function load(code: string, files: Record<string, object>) {
  const require = (name: string) => {
    if (!files[name]) throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
    return files[name];
  };
  const exported = {} as { clean: () => number };
  const run = runInThisContext(`(function (require, exports) {${code}})`) as (...given: unknown[]) => void;
  run(require, exported);
  return exported;
}

it('loads the late file of its own version at the first use', () => {
  const code = withLateLoads(`${HEAD}exports.clean = () => require_operations.clean();\n`, '1.2.3');
  expect(load(code, { './operations-1.2.3.js': { clean: () => 7 } }).clean()).toBe(7);
});

it('says that the files were replaced where only that of another version is there', () => {
  const code = withLateLoads(`${HEAD}exports.clean = () => require_operations.clean();\n`, '1.2.3');
  const { clean } = load(code, { './operations-1.2.4.js': { clean: () => 8 } });
  const { message } = new FilesReplacedError('no operations-1.2.3.js');
  expect(clean).toThrow(expect.objectContaining({ code: FilesReplacedError.code, message }));
});

it('refuses a use of the file as a value', () => {
  expect(() => withLateLoads(`${HEAD}exports.all = require_operations;\n`, '1.2.3')).toThrow('as a value');
});

it('lists all late files where the code loads them after the boot', () => {
  const code = withLateLoads('const LATE_FILES = [];\n', '1.2.3');
  for (const name of ['operations', 'choices', 'verdicts', 'lua.generated'])
    expect(code).toContain(`() => require("./${name}-1.2.3.js")`);
});
