// Faults planted into parts of the library that only some runs exercise.
import type { GroupState } from '#memory/state/group-state.js';
import type { MemoryQueue } from '#memory/state/memory-queue.js';
import { mark } from '#memory/verbs/attempt/unstarted.js';
import type { MemberEnd } from '#queue/model/batch.js';
import { spoils, spoilsQueues, type Plant } from './plant.js';

const schedules: Record<string, Plant> = {
  'two processes make one tick': spoilsQueues('tick', ['scheduleTick'], (queue) => {
    for (const [id, schedule] of queue.schedules) {
      if (schedule.last_tick_at_ms !== undefined && Number(schedule.ticks) % 3 === 0) {
        queue.scheduleDue.set(id, Number(schedule.last_tick_at_ms));
        delete schedule.last_tick_at_ms;
      }
    }
  }),
  'a tick is left out': {
    breaks: 'tick',
    before: (_script, queues) => queues.map(({ scheduleDue }) => scheduleDue.score('each-second')),
    after: (script, queues, before) =>
      queues.forEach(({ scheduleDue }, i) => {
        const dueAt = scheduleDue.score('each-second');
        if (script === 'scheduleTick' && dueAt !== undefined && dueAt !== (before as number[])[i]) {
          scheduleDue.set('each-second', dueAt + 1_000);
        }
      }),
  },
  'a paused schedule ticks': spoilsQueues('tick', ['schedulePause'], (queue) => {
    queue.schedules.forEach(({ paused_at_ms: paused }, id) => {
      if (paused !== undefined) {
        queue.scheduleDue.set(id, queue.now);
      }
    });
  }),
};

const unique: Record<string, Plant> = {
  'a unique key is forgotten': spoilsQueues('unique', ['jobEnqueue'], (queue) => queue.unique.clear()),
  'the time of a unique key ends early': spoilsQueues('unique', ['jobEnqueue'], ({ uniqueExpiries, now }) => {
    uniqueExpiries.forEach((_, key) => uniqueExpiries.set(key, now));
  }),
  'an ended job keeps its unique key': {
    breaks: 'unique',
    before: (_script, queues) => queues.map(({ unique: keys }) => [...keys]),
    after: (script, queues, before) =>
      queues.forEach((queue, i) => {
        if (script === 'attemptComplete') {
          (before as [string, string][][])[i]!.forEach(([key, owner]) => {
            queue.unique.set(key, owner);
            queue.uniqueExpiries.set(key, queue.uniqueExpiries.get(key) ?? queue.now + 5_000);
          });
        }
      }),
  },
  'a replaced job keeps its payload': spoils('payload', ['jobEnqueue'], ({ job, payloadBefore }) => {
    job.payload = payloadBefore ?? job.payload!;
  }),
};

const after: Record<string, Plant> = {
  'a job does not wait for those before it': spoils('after', ['jobEnqueue'], ({ queue, id, job }) => {
    if (job.after !== undefined && job.status === 'scheduled') {
      delete job.after;
      queue.scheduled.set(id, queue.now);
    }
  }),
  'a job waits for itself': spoils('I7', ['jobEnqueue'], ({ id, job }) => {
    job.after &&= id;
  }),
};

const batches: Record<string, Plant> = {
  'a batch takes a failure for a success': spoilsQueues(
    'batch',
    ['attemptFail', 'attemptComplete'],
    ({ followUps }) => {
      followUps.forEach(({ outcomes }) => outcomes.forEach((outcome) => (outcome.status = 'completed')));
    },
  ),
  'a batch goes on after a failure': spoilsQueues(
    'batch',
    ['attemptFail', 'sweepMaintainBatches'],
    ({ followUps }) => {
      followUps.forEach((batch) => (batch.stoppedAt = undefined));
    },
  ),
};

const groups: Record<string, Plant> = {
  'a claim takes a job of a limited group ahead': spoils('ahead', ['attemptClaim'], ({ job, was }) => {
    if (was === 'pending ' && job.status === 'processing' && job.group === 'narrow') {
      mark(job);
    }
  }),
};

const growth: Record<string, Plant> = {
  'a batch does not wait for a member of a member': spoilsQueues('batch', ['jobEnqueue'], ({ followUps }) => {
    followUps.forEach(({ open }) => open.forEach((id) => id.endsWith('+') && open.delete(id)));
  }),
};

const changes: Record<string, Plant> = {
  'an update is lost': spoils('payload', ['jobUpdate'], ({ job, payloadBefore }) => {
    job.payload = payloadBefore!;
  }),
  'a job starts before its new time': spoils('I5', ['jobReschedule'], ({ queue, id, job }) => {
    if (job.status === 'scheduled') {
      queue.scheduled.delete(id);
      queue.toBack(id, job);
    }
  }),
  'a job is not run again': spoils('again', ['jobRunAgain'], ({ queue, id, job }) => {
    if (job.status === 'pending' && queue.takeOut(id)) {
      job.status = 'completed';
      job.result = job.fence!;
      queue.completed.unshift(id);
    }
  }),
};

/** Returns the marks of all queues, to be put back later. */
const onceMarksOf = (queues: readonly MemoryQueue[]) =>
  queues.flatMap(({ once: { marks } }) =>
    [...marks.values()].flatMap((set) => set.members().map((key) => ({ set, key }))),
  );

let withheld: ReturnType<typeof onceMarksOf> = [];

const once: Record<string, Plant> = {
  'an entry gets no mark': spoilsQueues('once', ['onceEnqueue'], ({ once: { marks } }) => {
    marks.forEach((each) => each.clear());
  }),
  'a fence is not kept': spoilsQueues('once', ['onceEnqueue'], ({ once: { fences } }) => fences.clear()),
  'a mark is made in a second call': {
    breaks: 'once',
    before: (script, queues) => {
      if (script === 'onceMarks') {
        withheld.splice(0).forEach(({ set, key }) => set.set(key, 0));
      }
      return script === 'onceEnqueue' ? new Set(onceMarksOf(queues).map(({ key }) => key)) : undefined;
    },
    after: (script, queues, before) => {
      if (script === 'onceEnqueue') {
        withheld = onceMarksOf(queues).filter(({ key }) => !(before as Set<string>).has(key));
        withheld.forEach(({ set, key }) => set.delete(key));
      }
    },
  },
};

const elsewhere: Record<string, Plant> = {
  'a follow-up stays in the outbox after its acknowledgement': {
    breaks: 'batch',
    before: (script, queues) =>
      script === 'batchAcknowledge' ? queues.map(({ outbox }) => [...outbox.entries]) : undefined,
    after: (script, queues, before) => {
      if (script === 'batchAcknowledge') {
        queues.forEach(({ outbox: { entries } }, i) =>
          (before as [string, MemberEnd][][])[i]!.forEach(([place, entry]) => entries.set(place, entry)),
        );
      }
    },
  },
  'a follow-up leaves the outbox before its queue has it': spoilsQueues('batch', ['batchFollowUps'], ({ outbox }) =>
    outbox.entries.clear(),
  ),
};

const steps: Record<string, Plant> = {
  'a retry forgets the steps': spoils('step', ['attemptFail'], ({ job }) => {
    delete job.steps;
  }),
  'a crash forgets the steps': spoils('step', ['sweepReclaim', 'sweepReclaimWorker'], ({ job }) => {
    delete job.steps;
  }),
};

const others: Record<string, Plant> = {
  'two jobs of a call swap their results': {
    ...spoils('I2', ['attemptComplete'], ({ job }, all) => {
      const other = all.find((each) => each.job !== job)?.job;
      if (other && other.result !== undefined && job === all[0]!.job) {
        [job.result, other.result] = [other.result, job.result!];
      }
    }),
    part: 'bulk',
  },
  'a checkpoint is lost': {
    ...spoilsQueues('checkpoint', ['attemptCheckpoint'], ({ jobs }) => {
      jobs.forEach((job) => delete job.checkpoint);
    }),
    part: 'checkpoints',
  },
  'a claim takes a job of a paused group': {
    breaks: 'limits',
    part: 'limits',
    before: (script, queues) => {
      const paused = queues.flatMap(({ flow }) => [...flow.groups.values()].map((group) => [group, group.pause]));
      if (script === 'attemptClaim') {
        queues.forEach(({ flow }) => flow.groups.forEach((group) => delete group.pause));
      }
      return paused;
    },
    after: (script, _queues, paused) => {
      if (script === 'attemptClaim') {
        (paused as [GroupState, GroupState['pause']][]).forEach(([group, pause]) => pause && (group.pause = pause));
      }
    },
  },
  'an enqueue loses its metadata': {
    ...spoils('middleware', ['jobEnqueue'], ({ job }) => {
      job.options = (job.options ?? '').replace(/"marks":"ab"/, '"marks":"a"');
    }),
    part: 'middleware',
  },
};

function of(part: Plant['part'], all: Record<string, Plant>): Record<string, Plant> {
  return Object.fromEntries(Object.entries(all).map(([name, plant]) => [name, { part, ...plant }]));
}

export const partPlants: Record<string, Plant> = {
  ...of('schedules', schedules),
  ...of('unique', unique),
  ...of('after', after),
  ...of('batches', batches),
  ...of('changes', changes),
  ...of('once', once),
  ...of('growth', growth),
  ...of('elsewhere', elsewhere),
  ...of('steps', steps),
  ...of('groups', groups),
  ...others,
};
