// Every route of the dashboard and the permission that it needs.
import { expect, it } from '@jest/globals';
import { Get, RequestMethod } from '@nestjs/common';
import type { DashboardAction } from 'nest-job-queue/dashboard';
import { mountControllers, requireDeclaredRoutes } from '#dashboard/mount-controllers.js';
import { resolveMount } from '#dashboard/dashboard-options.js';
import { UI_FILES } from '#dashboard/page/ui.generated.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { startDashboard, type DashboardApp } from './dashboard-app.js';

const queue = uniqueQueueName('walk');
const script = Object.keys(UI_FILES)
  .find((name) => name.endsWith('.js'))!
  .replace('assets/', '');
const RUN = '4c1bb4e0-3f4d-4c3c-8a52-7a1d9a3a4e10';
const jobs = (action: string, state: string) => ({ action, queue, state, ids: ['a', 'b'] });
const group = { queue, group: 'tenant-1' };

type Sample = [input: Record<string, unknown>, needs: DashboardAction[]];

/** A request for each route, or several where its permission depends on the request. */
const SAMPLES: Record<string, Sample[]> = {
  'GET ': [[{}, ['view']]],
  'GET assets/:name': [[{}, []]],
  'GET api/session': [[{}, ['view']]],
  'GET api/overview': [[{}, ['view']]],
  'GET api/stream': [[{}, ['view']]],
  'GET api/batches': [[{ queue }, ['view']]],
  'GET api/batch': [[{ queue, id: 'b' }, ['view']]],
  'POST api/batch/cancel': [[{ queue, id: 'b' }, ['cancel']]],
  'GET api/groups': [[{ queue }, ['view']]],
  'POST api/groups/act': [
    [{ action: 'pause', ...group }, ['pause']],
    [{ action: 'resume', ...group }, ['resume']],
    [{ action: 'clean', ...group }, ['remove']],
  ],
  'POST api/groups/limits': [[{ limits: null, ...group }, ['limits']]],
  'GET api/history': [[{ queue }, ['view']]],
  'GET api/jobs': [[{ queue, state: 'failed' }, ['view']]],
  'GET api/search': [[{ queue, state: 'failed' }, ['view']]],
  'GET api/errors': [[{ queue }, ['view']]],
  'GET api/job': [[{ queue, id: 'a' }, ['view']]],
  'GET api/find': [[{ id: 'a' }, ['view']]],
  'POST api/jobs/act': [
    [jobs('redrive', 'failed'), ['redrive']],
    [jobs('discard', 'failed'), ['discard']],
    [jobs('cancel', 'pending'), ['cancel']],
    [jobs('promote', 'scheduled'), ['promote']],
    [jobs('remove', 'pending'), ['remove']],
    [jobs('run-again', 'completed'), ['run-again']],
  ],
  'POST api/jobs/edit': [[{ queue, id: 'a', payload: 1 }, ['edit', 'redrive']]],
  'POST api/queue/act': [
    [{ action: 'pause', queue }, ['pause']],
    [{ action: 'resume', queue }, ['resume']],
  ],
  'GET api/log': [[{ queue }, ['view']]],
  'POST api/queue/limits': [[{ queue, limits: null }, ['limits']]],
  'POST api/runs': [[{ action: 'redrive', queue, state: 'failed', match: {} }, ['redrive']]],
  'GET api/runs': [[{}, ['view']]],
  'POST api/runs/stop': [[{ queue, id: RUN }, ['redrive']]],
  'GET api/schedules': [[{}, ['view']]],
  'POST api/schedules/act': [
    [{ action: 'run', queue, id: 's' }, ['run-schedule']],
    [{ action: 'pause', queue, id: 's' }, ['pause-schedule']],
    [{ action: 'resume', queue, id: 's' }, ['resume-schedule']],
  ],
};

/** Returns the routes of the mounted controllers, as `METHOD path`. */
function routes(): string[] {
  return mountControllers(resolveMount({})).flatMap((controller) => {
    const { prototype } = Object.getPrototypeOf(controller) as { prototype: Record<string, object> };
    return Object.getOwnPropertyNames(prototype).flatMap((key) => {
      const path = Reflect.getMetadata('path', prototype[key]!) as string | undefined;
      const method = Reflect.getMetadata('method', prototype[key]!) as RequestMethod;
      return path === undefined ? [] : [`${RequestMethod[method]} ${path === '/' ? '' : path}`];
    });
  });
}

it('each has a request here', () => {
  expect(routes().toSorted()).toEqual(Object.keys(SAMPLES).toSorted());
});

const requests = Object.entries(SAMPLES).flatMap(([route, samples]) =>
  samples.map(([input, needs]) => ({ route, input, needs })),
);

/** Sends a request of the page to a route. Returns the status. */
async function statusOf({ url }: DashboardApp, route: string, input: Record<string, unknown>): Promise<number> {
  const [method, path] = route.replace(':name', script).split(' ') as [string, string];
  const control = new AbortController();
  const query = method === 'GET' ? `?${new URLSearchParams(input as Record<string, string>).toString()}` : '';
  const response = await fetch(`${url}${path && `/${path}`}${query}`, {
    method,
    signal: control.signal,
    headers: { 'content-type': 'application/json', 'x-job-queue-dashboard': '1' },
    ...(method === 'POST' && { body: JSON.stringify(input) }),
  });
  control.abort(); // a stream does not end by itself
  return response.status;
}

it('each is refused without its permission and changes nothing then, and needs no other', async () => {
  let refused: DashboardAction | undefined;
  const asked: DashboardAction[] = [];
  const can = (action: DashboardAction) => {
    asked.push(action);
    return action !== refused;
  };
  const app = await startDashboard({
    jobs: { worker: false, maintenance: false },
    dashboard: { queues: [queue], can },
  });
  const redis = connect();
  for (const { route, input, needs } of requests) {
    for (const action of needs) {
      refused = action;
      expect([route, input, await statusOf(app, route, input)]).toEqual([route, input, 403]);
    }
    expect([route, input, await redis.keys(`*${queue}*`)]).toEqual([route, input, []]);
  }
  refused = undefined;
  for (const { route, input, needs } of requests) {
    asked.length = 0;
    expect([route, input, await statusOf(app, route, input)]).not.toEqual([route, input, 403]);
    const first = asked.filter((action, i) => i < needs.length || action !== 'view').slice(0, needs.length);
    expect([route, input, [...new Set(first)]]).toEqual([route, input, needs]);
  }
});

it('a route without a declared permission is not mounted', () => {
  class Careless {
    @Get('api/secrets')
    secrets(): string {
      return 'all of them';
    }
  }
  expect(() => requireDeclaredRoutes(Careless)).toThrow('The route Careless.secrets declares no permission.');
});

it.each<[DashboardAction, string]>([
  ['run-again', 'You may not run jobs again here.'],
  ['limits', 'You may not change limits here.'],
  ['run-schedule', 'You may not run a recurring job here.'],
  ['view', 'You may not look here.'],
])('without %s the refusal says: %s', async (refused, words) => {
  const app = await startDashboard({
    jobs: { worker: false, maintenance: false },
    dashboard: { queues: [queue], can: (action) => action !== refused },
  });
  const [{ route, input }] = requests.filter(({ needs }) => needs.includes(refused)).slice(-1) as [
    (typeof requests)[0],
  ];
  const path = `/${route.split(' ')[1]}`;
  const { body } = await (route.startsWith('GET') ? app.get(path) : app.post(path, input));
  expect(body).toMatchObject({ error: { message: words } });
});
