// Each part of a worker that works at intervals is a background role: it has start, stop and runOnce.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const ROOT = 'src/worker';

/** Timers of one attempt or of one burst of log lines, which begin and end with it. */
const NO_ROLES = ['StuckWatch', 'BurstLog'];

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const classes = files
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .filter((source) => /\.setInterval\(|while \(!this\.stopped\)/.test(source))
  .map((source) => /^export class (\w+)(?: implements (.+))? \{$/m.exec(source)!.slice(1, 3));

it('finds the parts that work at intervals', () => {
  expect(classes.length).toBeGreaterThan(7);
});

it.each(classes.filter(([name]) => !NO_ROLES.includes(name!)))('%s has start, stop and runOnce', (_, role) => {
  expect(role).toBe('BackgroundRole');
});
