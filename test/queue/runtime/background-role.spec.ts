// Each part that works at intervals is a background role: it has start, stop and runOnce.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const ROOT = 'src';

/** Classes with timers or with both methods that do no work at intervals, and why. */
const NO_ROLES: Record<string, string> = {
  StuckWatch: 'a timer of one attempt',
  BurstLog: 'a timer of one burst of log lines',
  SharedIntervals: 'the timers of roles, each until its last task leaves',
  Session: 'a connection of the command line',
  Progress: 'the progress of one command',
  Worker: 'the owner of the roles',
  WorkerLoops: 'starts and stops the roles of a worker',
  WorkerProcess: 'a child process',
  HealthController: 'answers probes; the timer behind it ends with the command',
  JobOutbox: 'the public face of the relay',
};

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /(?<!generated)\.ts$/.test(file) && !/^(testing|dashboard[/\\]ui)[/\\]/.test(file),
);
const classes = files
  // A file may have several classes, each from its line to the next one's.
  .flatMap((file) => readFileSync(join(ROOT, file), 'utf8').split(/^(?=(?:export )?(?:abstract )?class )/m))
  .filter(
    (source) =>
      /\bsetInterval\(|while \(!this\.stopped\)/.test(source) ||
      (/^  (async )?start\(\)/m.test(source) && /^  (async )?stop\(.*\{$/m.test(source)),
  )
  .flatMap((source) => {
    const found = /^(?:export )?(?:abstract )?class (\w+)(?:<.*>)?(?: extends \w+)?(?: implements (.+))? \{$/m.exec(
      source,
    );
    return found ? [[found[1]!, found[2]] as const] : []; // a function with a timer that ends with its call
  });

it('finds the parts that work at intervals', () => {
  expect(classes.length).toBeGreaterThan(18);
});

it('every exception is still there', () => {
  const names = classes.map(([name]) => name);
  expect(Object.keys(NO_ROLES).filter((name) => !names.includes(name))).toEqual([]);
});

it.each(classes.filter(([name]) => !(name in NO_ROLES)))('%s has start, stop and runOnce', (_, role) => {
  expect(role).toBe('BackgroundRole');
});
