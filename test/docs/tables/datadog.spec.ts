// The dashboard for Datadog asks for metrics that exist, and docs/datadog.md names the attributes that spans have.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const attributes = (text: string) => new Set([...text.matchAll(/messaging(?:\.\w+)+/g)].map(([name]) => name));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

it('asks only for metrics that the dashboard for Grafana asks for too', () => {
  const asked = [...read('docs/monitoring/datadog-dashboard.json').matchAll(/app\.(job_queue_\w+)/g)];
  expect(asked.length).toBeGreaterThan(15);
  const known = new Set(
    [...read('docs/monitoring/grafana-dashboard.json').matchAll(/job_queue_\w+/g)].map(([name]) =>
      name.replace(/_(bucket|total)$/, ''),
    ),
  );
  expect(asked.map(([, name]) => name).filter((name) => !known.has(name!))).toEqual([]);
});

it('spans have attributes of the messaging conventions of OpenTelemetry, which the page names', () => {
  const set = attributes(read('src/tracing/job-tracing.ts'));
  expect(set.size).toBeGreaterThan(5);
  const standard = new Set<unknown>(Object.values(conventions).filter((value) => typeof value === 'string'));
  expect([...set].filter((name) => !standard.has(name))).toEqual([]);
  expect(attributes(read('docs/datadog.md'))).toEqual(set);
});
