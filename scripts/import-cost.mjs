// npm run bench:import: compares the cost of importing the package with @nestjs/bullmq, bullmq and ioredis. Both are
// installed from tarballs into one temporary project. Each number is the median of 15 alternating process starts.
// Writes docs/internals/figures/import-cost.json, and fails if ours costs more. Also reports the size of the tarball.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const STARTS = 15;
const SIDES = {
  'nest-job-queue': ['nest-job-queue', 'ioredis'],
  '@nestjs/bullmq': ['@nestjs/bullmq', 'bullmq', 'ioredis'],
};
/** The same in both formats. Time and heap are taken around the imports; garbage is collected first. */
const PROBE = `
const [format, names] = JSON.parse(process.argv.at(-1));
(async () => {
  gc();
  const before = process.memoryUsage().heapUsed;
  const began = performance.now();
  for (const name of names) format === 'import' ? await import(name) : require(name);
  const ms = performance.now() - began;
  gc();
  console.log(JSON.stringify({ ms, heapBytes: process.memoryUsage().heapUsed - before }));
})();
`;

const root = fileURLToPath(new URL('..', import.meta.url));
const project = mkdtempSync(join(tmpdir(), 'import-cost-'));
try {
  const packed = install();
  const report = {
    node: process.version,
    starts: STARTS,
    packed,
    import: measure('import'),
    require: measure('require'),
  };
  writeFileSync(join(root, 'docs/internals/figures/import-cost.json'), `${JSON.stringify(report, null, 2)}\n`);
  console.log(JSON.stringify(report, null, 2));
  for (const format of ['import', 'require']) {
    const { time, heap } = report[format].ratio;
    if (time > 1 || heap > 1)
      throw new Error(`${format}: expected at most 1, found ${time} of time and ${heap} of heap`);
  }
} catch (error) {
  console.error(`import-cost: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(project, { recursive: true, force: true });
}

/** Installs the package and its rival, and returns the sizes of the tarball. */
function install() {
  const { devDependencies: ours } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { dependencies: bench } = JSON.parse(readFileSync(join(root, 'bench/package.json'), 'utf8'));
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', project];
  const answer = JSON.parse(
    execFileSync('npm', pack, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  const [{ filename, size, unpackedSize, entryCount }] = Object.values(answer);
  const shared = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs', 'ioredis'];
  const packages = [
    ...shared.map((name) => `${name}@${ours[name]}`),
    `bullmq@${bench.bullmq}`,
    '@nestjs/bullmq@12.0.0',
  ];
  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  const flags = ['--silent', '--prefer-offline', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', ...flags, join(project, filename), ...packages], {
    cwd: project,
    stdio: 'inherit',
  });
  writeFileSync(join(project, 'probe.cjs'), PROBE);
  return { bytes: size, unpackedBytes: unpackedSize, files: entryCount };
}

function measure(format) {
  const seen = Object.fromEntries(Object.keys(SIDES).map((side) => [side, []]));
  for (let start = 0; start < STARTS; start++) {
    for (const [side, names] of Object.entries(SIDES)) seen[side].push(probe(format, names));
  }
  const [ours, theirs] = Object.values(seen).map((runs) => ({
    ms: Math.round(median(runs.map(({ ms }) => ms))),
    heapBytes: median(runs.map(({ heapBytes }) => heapBytes)),
  }));
  const [own, rival] = Object.keys(SIDES);
  return {
    [own]: ours,
    [rival]: theirs,
    ratio: { time: ratio(ours.ms, theirs.ms), heap: ratio(ours.heapBytes, theirs.heapBytes) },
  };
}

function probe(format, names) {
  const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning', 'probe.cjs'];
  const output = execFileSync(process.execPath, [...flags, JSON.stringify([format, names])], { cwd: project });
  return JSON.parse(output.toString());
}

function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

function ratio(ours, theirs) {
  return Math.round((ours / theirs) * 100) / 100;
}
