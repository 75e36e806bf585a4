// Faults planted into the store, each of which the simulation must find.
import type { Hash } from '#memory/state/memory-queue.js';
import { mark } from '#memory/verbs/attempt/unstarted.js';
import { spoils, spoilsQueues, type Plant } from './plant.js';
import { clockPlants } from './clock-plants.js';
import { hubPlants } from './hub-plants.js';
import { partPlants } from './part-plants.js';
import { rightPlants } from './right-plants.js';
import { turnPlants } from './turn-plants.js';

const isPlain = (job: Hash | undefined) => job?.payload !== undefined && !job.group && !job.attempts;

const basePlants: Record<string, Plant> = {
  'an acknowledged job is gone': spoils('I1', ['jobEnqueue'], ({ queue, id, job }) => {
    if (job.status === 'pending' && id.endsWith('7')) {
      queue.takeOut(id);
      queue.drop(id);
    }
  }),
  'a job is in two places': spoils('I1', ['attemptFail'], ({ queue, id, job }) => {
    if (job.status === 'scheduled') {
      queue.pending.push(id);
    }
  }),
  'a sweep leaves the token': spoils('I2', ['sweepReclaim'], ({ job, was }) => {
    if (job.status === 'pending') {
      job.claim_token = was.split(' ')[1]!;
    }
  }),
  'a repeated claim takes more': {
    breaks: 'I3',
    before: (script, queues, isRepeat) => {
      if (script === 'attemptClaim' && isRepeat) {
        queues.forEach(({ batches }) => batches.clear());
      }
    },
  },
  'a sweep looks at all jobs': {
    breaks: 'I4',
    after: (script, queues) => {
      if (script === 'sweepReclaim') {
        const fields = Array.from({ length: 20 });
        queues.forEach(({ jobs }) => [...jobs.keys()].forEach((id) => fields.forEach(() => jobs.get(id))));
      }
    },
  },
  'a sweep takes claims early': {
    breaks: 'I5',
    before: (script, queues) => {
      const ends = queues.map(({ claims }) => claims.members().map((id) => [id, claims.score(id)!] as const));
      if (script === 'sweepReclaim') {
        queues.forEach(({ claims, now }) => [...claims.members()].forEach((id) => claims.set(id, now - 1)));
      }
      return ends;
    },
  },
  'an error costs no attempt': spoils('I6', ['attemptFail'], ({ job }) => {
    if (job.status === 'scheduled' || job.status === 'pending') {
      job.attempts = String(Number(job.attempts) - 1);
    }
  }),
  'a job without its hash blocks': spoils(
    'I7',
    ['attemptClaim', 'attemptFail', 'sweepReclaim'],
    ({ queue, id, job }) => {
      if (job.payload === undefined && queue.dead.delete(id)) {
        job.status = 'scheduled'; // at once it would be claimed for ever, and no time would pass
        queue.scheduled.set(id, queue.now + 1_000);
      }
    },
  ),
  'the newest job comes first': spoils('I8', ['jobEnqueue'], ({ queue, id, job }) => {
    if (job.status === 'pending' && queue.pending.at(-1) === id && queue.pending.length > 1) {
      queue.pending.pop();
      queue.pending.unshift(id);
    }
  }),
  'a limit is not kept': {
    breaks: 'limits',
    before: (script, queues) => {
      const set = queues.map(({ flow }) => flow.set);
      if (script === 'attemptClaim') {
        queues.forEach(({ flow }) => (flow.set = { maxRunning: 4 }));
      }
      return set;
    },
    after: (_script, queues, set) => queues.forEach(({ flow }, i) => (flow.set = (set as (typeof flow.set)[])[i])),
  },
  'a job that is reclaimed goes to the back of its group': {
    ...spoils('order', ['sweepReclaim', 'sweepReclaimWorker'], ({ queue, id, job }) => {
      const place = job.group === undefined ? -1 : queue.pending.indexOf(id);
      if (place >= 0) {
        queue.pending.push(...queue.pending.splice(place, 1));
      }
    }),
    part: 'limits', // paused groups have longer lines
  },
  'a claim looks at all jobs': spoilsQueues('I4', ['attemptClaim'], ({ jobs }) => {
    const fields = Array.from({ length: 60 });
    [...jobs.keys()].forEach((id) => fields.forEach(() => jobs.get(id)));
  }),
  'a claim takes jobs ahead without a bound': spoils('ahead', ['attemptClaim'], ({ queue, job, was }) => {
    if (was !== 'pending ' || job.status !== 'processing' || queue.name !== 'mixed') {
      return;
    }
    for (const id of queue.pending.filter((each) => isPlain(queue.jobs.get(each)))) {
      queue.takeFromLine(id);
      queue.claims.set(id, queue.now + queue.options.visibilityMs);
      const { claim_token, worker } = job;
      const fence = String(++queue.sequence);
      const other = queue.jobs.get(id)!;
      Object.assign(other, { status: 'processing', attempts: '1', claim_token, worker, fence });
      mark(other);
    }
  }),
  'a batch forgets its members': spoilsQueues('batch', ['jobEnqueue'], ({ followUps }) => {
    followUps.forEach(({ open }) => open.clear());
  }),
};

export const plants: Record<string, Plant> = {
  ...basePlants,
  ...partPlants,
  ...clockPlants,
  ...hubPlants,
  ...rightPlants,
  ...turnPlants,
};
