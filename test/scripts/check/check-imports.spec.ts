import { describe, expect, it } from '@jest/globals';
import { checkImports, checkPrograms, checkUnused } from '../../../scripts/check/check-imports.mjs';
import { folderWith } from '../folder.js';

describe('check-imports', () => {
  it('finds Nest behind a file that a folder without Nest loads', () => {
    const src = folderWith({
      'nest/tokens.ts': "import { Inject } from '@nestjs/common';\n",
      'nest/names.ts': "import { type X } from './tokens.js';\nimport './more.js';\n",
      'nest/more.ts': "import './tokens.js';\n",
      'nest/plain.ts': "import type { Provider } from '@nestjs/common';\n",
      'outbox/rows.ts': "import '../nest/names.js';\nimport '../nest/plain.js';\n",
    });
    expect(checkImports(src)).toEqual([
      'outbox/rows.ts: src/outbox works without Nest, but "../nest/names.js" loads it',
    ]);
  });

  it('lets each layer import those below it', () => {
    const src = folderWith({
      'index.ts': "export * from './nest/module.js';\nexport * from './health/indicator.js';\n",
      'queue/keys.ts': "import { createHash } from 'node:crypto';\n",
      'worker/loop.ts': "import { keys } from '../queue/keys.js';\n",
      'nest/module.ts':
        "import { Module } from '@nestjs/common';\nimport '../worker/loop.js';\nimport '../queue/keys.js';\n",
      'health/indicator.ts': "import '../nest/module.js';\nimport '../queue/keys.js';\n",
    });
    expect(checkImports(src)).toEqual([]);
  });

  it.each([
    ['queue/a.ts', "import type { X } from '../worker/x.js';", /src\/queue may import nothing outside itself/],
    ['queue/a.ts', "export * from '../index.js';", /src\/queue may import nothing outside itself/],
    ['queue/a.ts', "import { Logger } from '@nestjs/common';", /src\/queue works without Nest/],
    ['worker/a.ts', "const x = await import('@nestjs/core');", /src\/worker works without Nest/],
    ['worker/a.ts', "import '../nest/x.js';", /src\/worker may import only src\/queue,/],
    [
      'nest/a.ts',
      "import '../health/x.js';",
      /src\/nest may import only src\/queue and src\/memory and src\/worker and src\/inspect/,
    ],
    [
      'health/a.ts',
      "import '../processes/x.js';",
      /src\/health may import only src\/queue and src\/inspect and src\/nest,/,
    ],
    ['nest/a.ts', "import 'nest-job-queue';", /import the file itself/],
    ['worker/fetch/a.ts', "import '../../queue/redis/x.js';", /src\/worker may not import src\/queue\/redis,/],
    ['worker/a.ts', "import type { X } from '../queue/scripts/x.js';", /may not import src\/queue\/scripts,/],
    ['worker/a.ts', "import '../queue/transport/x.js';", /may not import src\/queue\/transport,/],
    ['testing/a.ts', "import '../queue/scripts/calls/x.js';", /may not import src\/queue\/scripts,/],
    ['memory/lua/a.ts', "import '../server/x.js';", /src\/memory\/lua may import no other room,/],
    ['memory/a.ts', "import '../testing/time/x.js';", /src\/memory may import only src\/queue,/],
    ['nest/a.ts', "import { ScriptStore } from '../memory/x.js';", /src\/nest loads this by import\(\) alone/],
    ['queue/redis/a.ts', "import '../transport/x.js';", /src\/queue\/redis may import of the other rooms only/],
    ['queue/runtime/a.ts', "import '../errors/x.js';", /src\/queue\/runtime may import no other room,/],
    ['queue/errors/a.ts', "import '../model/x.js';", /may import of the other rooms only runtime,/],
    ['queue/model/a.ts', "import '../store/x.js';", /only runtime, errors, validation, codec,/],
    [
      'queue/results/a.ts',
      "import '../redis/x.js';",
      /src\/queue\/results may import of the other rooms only runtime, errors, validation, codec, model, store,/,
    ],
    [
      'queue/store/a.ts',
      "import '../job-queue.js';",
      /src\/queue\/store may import of the other rooms only runtime, errors, validation, codec, model,/,
    ],
    ['worker/handlers/a.ts', "import '../worker.js';", /src\/worker\/handlers may import no other room,/],
    ['worker/attempt/a.ts', "import '../runner/x.js';", /may import of the other rooms only handlers, reports,/],
    [
      'worker/fetch/a.ts',
      "import '../maintenance/x.js';",
      /may import of the other rooms only handlers, reports, attempt, runner,/,
    ],
    ['testing/time/a.ts', "import '../module/x.js';", /src\/testing\/time may import no other room,/],
    ['memory/server/a.ts', "import '../script-store.js';", /of the other rooms only lua,/],
    ['nest/connection/a.ts', "import '../handlers/x.js';", /of the other rooms only job-queue.options.ts,/],
    ['nest/lifecycle/a.ts', "import '../service/x.js';", /src\/nest\/lifecycle may import of the other rooms only/],
    [
      'dashboard/views/a.ts',
      "import '../api/x.js';",
      /only dashboard-options.ts, told-errors.ts, shown-queues.ts, security,/,
    ],
    [
      'dashboard/ui/parts/a.tsx',
      "import '../queue/x.js';",
      /src\/dashboard\/ui\/parts may import of the other rooms/,
    ],
    ['dashboard/ui/batch/a.tsx', "import '../queue/x.js';", /of the other rooms only state, parts,/],
    [
      'dashboard/ui/state/a.ts',
      "import '../../api/x.js';",
      /src\/dashboard\/ui may import of the other rooms only/,
    ],
    [
      'metrics/prometheus.ts',
      "import './open-telemetry.js';",
      /src\/metrics\/prometheus.ts may import of the other/,
    ],
    ['cli/text.ts', "import './commands/x.js';", /src\/cli\/text.ts may import no other room,/],
    ['queue/doctor/a.ts', "import '../enqueue/x.js';", /src\/queue\/doctor may import of the other rooms only/],
  ])('refuses in %s: %s', (file, text, message) => {
    expect(checkImports(folderWith({ [file]: text }))).toEqual([expect.stringMatching(message)]);
  });

  it('lets the modules of Nest load the store in memory later, and import its types', () => {
    const text = "import type { X } from '../memory/x.js';\nconst x = await import('../memory/x.js');\n";
    expect(checkImports(folderWith({ 'nest/a.ts': text, 'memory/x.ts': '' }))).toEqual([]);
  });

  it('refuses a cycle', () => {
    const src = folderWith({ 'queue/a.ts': "import './b.js';", 'queue/b.ts': "import type { A } from './a.js';" });
    expect(checkImports(src)).toEqual(['cycle: queue/a.ts -> queue/b.ts -> queue/a.ts']);
  });

  it('refuses a cycle between pages', () => {
    const [a, b] = ['dashboard/ui/queue/a.tsx', 'dashboard/ui/queue/b.tsx'];
    const src = folderWith({ [a]: "import { B } from './b.js';", [b]: "import { A } from './a.js';" });
    expect(checkImports(src)).toEqual([`cycle: ${a} -> ${b} -> ${a}`]);
  });
});

describe('check-imports outside of src', () => {
  it('lets tools import sources and tests, and examples their own src', () => {
    const root = folderWith({
      'tools/a.ts': "import '#queue/x.js';\nimport '../test/support/x.js';\n",
      'examples/shop/test/a.ts': "import '../src/b.js';\nimport 'nest-job-queue';\n",
      'bench/a.mjs': "import '../dist/esm/core.js';\n",
    });
    expect(checkPrograms(root)).toEqual([]);
  });

  it.each([
    ['examples/shop/a.ts', "import '../../src/queue/x.js';", 'examples may not import src/queue/x.js'],
    ['examples/shop/a.ts', "import type { X } from '#queue/x.js';", 'examples may not import src/queue/x.js'],
    ['bench/a.mjs', "import '../test/support/x.mjs';", 'bench may not import test/support/x.mjs'],
  ])('refuses in %s: %s', (file, text, message) => {
    expect(checkPrograms(folderWith({ [file]: text }))).toEqual([`${file}: ${message}`]);
  });

  it('refuses a cycle, also one of types alone', () => {
    const root = folderWith({
      'tools/run/a.ts': "import '../b.js';",
      'tools/b.ts': "import type { A } from './run/a.js';",
    });
    expect(checkPrograms(root)).toEqual(['cycle: tools/b.ts -> tools/run/a.ts -> tools/b.ts']);
  });
});

it('finds the exports that no other file names', () => {
  const root = folderWith({
    'src/a.ts':
      'export const used = 1;\nexport function dead() {}\nexport interface Own {}\nconst own: Own = {};\n',
    'src/b.ts': "import { used } from './a.js';\n",
    'test/c.spec.ts': 'used;\n',
  });
  expect(checkUnused(root)).toEqual([
    'src/a.ts: no other file uses dead; remove it, or its export',
    'src/a.ts: no other file uses Own; remove it, or its export',
  ]);
});
