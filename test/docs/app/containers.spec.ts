// docs/containers.md: its route answers what its manifests ask for, and its times are those of the library.
import { readFileSync } from 'node:fs';
import type { Type } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { JobQueueMetricsModule } from 'nest-job-queue/metrics';
import { Registry } from 'prom-client';
import request from 'supertest';
import { parse } from 'yaml';
import { INSTRUMENTS, prometheusName } from '#metrics/instruments.js';
import { handlerOf, startApp } from '../../nest/app.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { loadExample } from '../example.js';
import { MANIFESTS } from './kubernetes.js';

const text = readFileSync(new URL('../../../docs/containers.md', import.meta.url), 'utf8');

/** Returns the manifest after `<!-- manifest: {mark} -->`. */
function manifest(mark: string): unknown {
  return parse(text.split(`<!-- manifest: ${mark} -->`)[1]!.match(/```yaml\n([^]*?)```/)![1]!);
}

interface Keda {
  spec: { triggers: { metricType: string; metadata: { valueLocation: string } }[] };
}

interface Hpa {
  spec: { metrics: { external: { metric: { name: string } } }[] };
}

it.each(Object.entries(MANIFESTS))(
  'the manifest %s has the fields of its kind, and scales the same workers',
  (mark, schema) => {
    expect(schema.parse(manifest(mark)).metadata.name).toBe('email-workers');
    const { spec } = manifest(mark) as { spec: { scaleTargetRef?: { name: string } } };
    expect(spec.scaleTargetRef?.name ?? 'email-workers').toBe('email-workers');
    expect(() => schema.parse({ ...(manifest(mark) as object), spec: { ...spec, replica: 1 } })).toThrow('replica');
  },
);

it('the route has the value that the trigger of KEDA reads', async () => {
  const { ScalingController } = await loadExample<{ ScalingController: Type }>('containers.md', 'scaling');
  const app = await startApp({
    jobs: { prefix: uniqueQueueName() },
    imports: [JobQueueMetricsModule.forRoot({ registry: new Registry() })],
    controllers: [ScalingController],
    providers: [handlerOf('email', () => 1)],
  });
  const { body } = await request(app.getHttpServer() as never).get('/internal/scaling');
  const [trigger] = (manifest('keda') as Keda).spec.triggers;
  const value = trigger!.metadata.valueLocation
    .split('.')
    .reduce((part, key) => (part as never)[key], body as unknown);
  expect(value).toEqual(expect.any(Number));
  expect(trigger!.metricType).toBe('Value');
});

it('the metric of the HPA is one of ours', () => {
  const [metric] = (manifest('hpa') as Hpa).spec.metrics;
  expect(Object.values(INSTRUMENTS).map(prometheusName)).toContain(metric!.external.metric.name);
});

interface Deployment {
  spec: { template: { spec: { terminationGracePeriodSeconds: number; containers: Container[] } } };
}
interface Container {
  readinessProbe: { exec: { command: string[] } };
}

it('the pod waits longer than the handlers may take, and its probe asks for the file of the docs', () => {
  const { terminationGracePeriodSeconds, containers } = (manifest('workers') as Deployment).spec.template.spec;
  const options = readFileSync(new URL('../../../docs/options.md', import.meta.url), 'utf8');
  for (const option of ['shutdownTimeoutMs', 'stopTimeoutMs']) {
    const [, ms] = new RegExp(`\\| \`${option}\` \\| ([\\d,]+) \\|`).exec(options)!;
    const seconds = Number(ms!.replace(',', '')) / 1_000;
    expect(text).toMatch(new RegExp(`\\| \`${option}\`.*\\| ${seconds} s \\|`));
    expect(terminationGracePeriodSeconds).toBeGreaterThan(seconds);
  }
  expect(text).toContain(`readyFile: '${containers[0]!.readinessProbe.exec.command.at(-1)}'`);
});
