// The routes of the dashboard, and for each a request with the permissions that it needs.
import { RequestMethod } from '@nestjs/common';
import type { DashboardAction } from 'nest-job-queue/dashboard';
import { mountControllers } from '#dashboard/dashboard.module.js';
import { resolveMount } from '#dashboard/dashboard-options.js';
import { UI_FILES } from '#dashboard/page/ui.generated.js';

const script = Object.keys(UI_FILES)
  .find((name) => name.endsWith('.js'))!
  .replace('assets/', '');
const RUN = '4c1bb4e0-3f4d-4c3c-8a52-7a1d9a3a4e10';

export type Sample = [input: Record<string, unknown>, needs: DashboardAction[]];

/** Returns a request for each route, or several where its permission depends on the request. */
export function routeSamples(queue: string): Record<string, Sample[]> {
  const jobs = (action: string, state: string) => ({ action, queue, state, ids: ['a', 'b'] });
  const group = { queue, group: 'tenant-1' };
  return {
    'GET ': [[{}, ['view']]],
    'GET assets/:name': [[{}, []]],
    'GET api/session': [[{}, ['view']]],
    'GET api/overview': [[{}, ['view']]],
    'GET api/verdict': [[{}, ['view']]],
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
    'GET api/search/all': [[{ text: 'a' }, ['view']]],
    'GET api/search/count': [[{ queue, state: 'failed' }, ['view']]],
    'GET api/errors': [[{ queue }, ['view']]],
    'POST api/errors/mark': [[{ queue, kind: '4ddfd7b1f5', mark: { known: true } }, ['redrive']]],
    'GET api/job': [[{ queue, id: 'a' }, ['view']]],
    'GET api/job/file': [[{ queue, id: 'a', part: 'payload' }, ['view']]],
    'GET api/find': [[{ id: 'a' }, ['view']]],
    'POST api/jobs/act': [
      [jobs('redrive', 'failed'), ['redrive']],
      [jobs('discard', 'failed'), ['discard']],
      [jobs('cancel', 'pending'), ['cancel']],
      [jobs('promote', 'scheduled'), ['promote']],
      [jobs('remove', 'pending'), ['remove']],
      [jobs('run-again', 'completed'), ['run-again']],
    ],
    'POST api/jobs/redrive-as-new': [[{ queue, id: 'a' }, ['redrive']]],
    'POST api/jobs/edit': [[{ queue, id: 'a', payload: 1 }, ['edit', 'redrive']]],
    'POST api/jobs/signal': [[{ queue, id: 'a', signal: 'approved', data: 1 }, ['signal']]],
    'POST api/queue/act': [
      [{ action: 'pause', queue }, ['pause']],
      [{ action: 'resume', queue }, ['resume']],
      [{ action: 'pause', queue, allShards: true }, ['pause']],
    ],
    'GET api/log': [[{ queue }, ['view']]],
    'GET api/queue/profile': [[{ queue }, ['view', 'profile']]],
    'GET api/queue/profile/file': [[{ queue }, ['view', 'profile']]],
    'POST api/queue/profile': [[{ queue, kind: 'cpu' }, ['profile']]],
    'POST api/queue/limits': [[{ queue, limits: null }, ['limits']]],
    'GET api/shared-limits/keys': [[{ queue, limit: 'openai' }, ['view']]],
    'POST api/shared-limits/act': [
      [{ action: 'pause', queue, limit: 'openai' }, ['view', 'pause']],
      [{ action: 'resume', queue, limit: 'openai' }, ['view', 'resume']],
    ],
    'POST api/shared-limits/set': [[{ queue, limit: 'openai', limits: null }, ['view', 'limits']]],
    'GET api/topics': [[{}, ['view']]],
    'POST api/topics/remove': [[{ queue, topic: 'order.paid', subscription: 'receipts' }, ['remove-subscription']]],
    'GET api/outbox': [[{}, ['view']]],
    'POST api/outbox/act': [
      [{ action: 'retry', queue, rows: ['1'] }, ['redrive']],
      [{ action: 'discard', queue, rows: ['1'] }, ['discard']],
    ],
    'POST api/runs': [[{ action: 'redrive', queue, state: 'failed', match: {} }, ['redrive']]],
    'GET api/runs': [[{}, ['view']]],
    'POST api/runs/stop': [[{ queue, id: RUN }, ['redrive']]],
    'GET api/schedule': [[{ queue, id: 's' }, ['view']]],
    'GET api/schedules': [[{}, ['view']]],
    'GET api/schedules/preview': [[{ queue, id: 's', recurrence: '{"everyMs":60000}' }, ['set-schedule']]],
    'POST api/schedules/set': [
      [{ queue, id: 's', recurrence: { everyMs: 60_000 }, updatedAt: null }, ['set-schedule']],
    ],
    'POST api/schedules/act': [
      [{ action: 'run', queue, id: 's' }, ['run-schedule']],
      [{ action: 'pause', queue, id: 's' }, ['pause-schedule']],
      [{ action: 'resume', queue, id: 's' }, ['resume-schedule']],
      [{ action: 'remove', queue, id: 's' }, ['remove-schedule']],
    ],
  };
}

/** Returns the routes of the mounted controllers, as `METHOD path`. */
export function routes(): string[] {
  return mountControllers(resolveMount({})).flatMap((controller) => {
    const { prototype } = Object.getPrototypeOf(controller) as { prototype: Record<string, object> };
    return Object.getOwnPropertyNames(prototype).flatMap((key) => {
      const path = Reflect.getMetadata('path', prototype[key]!) as string | undefined;
      const method = Reflect.getMetadata('method', prototype[key]!) as RequestMethod;
      return path === undefined ? [] : [`${RequestMethod[method]} ${path === '/' ? '' : path}`];
    });
  });
}

export function pathOf(route: string): [method: string, path: string] {
  return route.replace(':name', script).split(' ') as [string, string];
}
