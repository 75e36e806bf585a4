// Every route of the dashboard and the permission that it needs.
import { expect, it } from '@jest/globals';
import { Get } from '@nestjs/common';
import type { DashboardAction } from 'nest-job-queue/dashboard';
import { requireDeclaredRoutes } from '#dashboard/dashboard.module.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { startDashboard, type DashboardApp } from './dashboard-app.js';
import { pathOf, routes, routeSamples } from './route-samples.js';

const queue = uniqueQueueName('walk');
const SAMPLES = routeSamples(queue);

it('each has a request here', () => {
  expect(routes().toSorted()).toEqual(Object.keys(SAMPLES).toSorted());
});

const requests = Object.entries(SAMPLES).flatMap(([route, samples]) =>
  samples.map(([input, needs]) => ({ route, input, needs })),
);

/** Sends a request of the page to a route. Returns the status. */
async function statusOf({ url }: DashboardApp, route: string, input: Record<string, unknown>): Promise<number> {
  const [method, path] = pathOf(route);
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
