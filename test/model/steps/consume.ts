// Claims and the actions of their holders, long after the claim ended too.
import fc from 'fast-check';
import type { ClaimedJob } from '#queue/model/job.js';
import { claim } from '../rules/claim.js';
import type { Ticket } from '../rules/queue-model.js';
import { complete, extend, fail, log, progress, release } from '../rules/settle.js';
import { oneOf, pick, step, type Step } from '../step.js';
import type { RealQueue } from '../real-queue.js';
import { MINUTE } from './units.js';

function claimStep(text: string, count: number, take: (real: RealQueue) => Promise<ClaimedJob[]>): Step {
  return step(text, {
    does: async (real) => {
      const jobs = await take(real);
      real.claimed.push(...jobs);
      return jobs.map(({ id, name, payload, attempt, maxAttempts, fence }) => {
        return { id, name, payload, attempt, maxAttempts, fence };
      });
    },
    says: (model, found, real) => claim(model, count, 'ada', (id) => tokenOf(real, found.length, id)),
  });
}

const one = claimStep('claim', 1, async (real) => {
  const job = await real.queue.claim({ worker: 'ada' });
  return job === null ? [] : [job];
});
const many = fc
  .integer({ min: 1, max: 3 })
  .map((count) =>
    claimStep(`claimMany(${count})`, count, (real) => real.queue.claimMany(count, { worker: 'ada' })),
  );

export const claims: fc.Arbitrary<Step> = oneOf([1, fc.constant(one)], [3, many]);

/** Returns the claimer's token, or a dummy for a job that was set aside at once. */
function tokenOf(real: RealQueue, claimed: number, id: string): string {
  const newest = claimed > 0 ? real.claimed.slice(-claimed) : [];
  return newest.find((job) => job.id === id)?.token ?? 'set aside';
}

/** Mostly one of the newest claims. */
const which = fc.oneof({ weight: 4, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(30) });

function onClaim<Reply>(
  text: string,
  number: number,
  does: (real: RealQueue, ticket: Ticket) => Promise<Reply>,
  says: (model: Parameters<typeof complete>[0], ticket: Ticket) => Reply,
): Step {
  return step(`${text} of claim -${number + 1}`, {
    when: (model) => model.tickets.length > 0,
    does: (real, model) => does(real, pick(model.tickets, number)),
    says: (model) => says(model, pick(model.tickets, number)),
  });
}

/** Returns the claim as the consumer got it, which has more fields than the rules need. */
function held(real: RealQueue, ticket: Ticket) {
  return real.claimed.find((job) => job.token === ticket.token && job.id === ticket.id)!;
}

const completes = fc.tuple(which, fc.constantFrom(undefined, { sent: true }, 0)).map(([number, result]) =>
  onClaim(
    `complete(${JSON.stringify(result)})`,
    number,
    (real, ticket) => real.queue.complete(held(real, ticket), result),
    (model, ticket) => complete(model, ticket, result),
  ),
);

const failures = fc.constantFrom<{ final?: boolean; delayMs?: number }>(
  {},
  {},
  { final: true },
  { delayMs: 0 },
  { delayMs: 30 * MINUTE },
);
const fails = fc
  .tuple(which, fc.constantFrom('ECONNREFUSED', 'no such user'), failures)
  .map(([number, message, options]) =>
    onClaim(
      `fail(${message}, ${JSON.stringify(options)})`,
      number,
      (real, ticket) => real.queue.fail(held(real, ticket), new Error(message), options),
      (model, ticket) => fail(model, ticket, message, options),
    ),
  );

const releases = fc.tuple(which, fc.constantFrom(0, 0, 30 * MINUTE)).map(([number, delayMs]) =>
  onClaim(
    `release(${delayMs / MINUTE} min)`,
    number,
    (real, ticket) => real.queue.release(held(real, ticket), { delayMs }),
    (model, ticket) => release(model, ticket, delayMs),
  ),
);

const extensions = which.map((number) =>
  onClaim(
    'extend(20 min)',
    number,
    (real, ticket) => real.queue.extend(held(real, ticket), { visibilityMs: 20 * MINUTE }),
    (model, ticket) => extend(model, ticket, 20 * MINUTE),
  ),
);

const advances = fc.tuple(which, fc.nat(100)).map(([number, percent]) =>
  onClaim(
    `progress(${percent})`,
    number,
    (real, ticket) => real.queue.exec((calls) => calls.progress(ticket, JSON.stringify({ percent }))),
    (model, ticket) => progress(model, ticket, { percent }),
  ),
);

const logs = fc
  .tuple(which, fc.array(fc.constantFrom('one', 'two\n', '%s"'), { minLength: 1, maxLength: 3 }))
  .map(([number, lines]) =>
    onClaim(
      `log(${JSON.stringify(lines)})`,
      number,
      (real, ticket) => {
        const texts = lines.map((line) => JSON.stringify(line));
        return real.queue.exec((calls) => calls.log(ticket, 3, texts));
      },
      (model, ticket) => log(model, ticket, 3, lines),
    ),
  );

export const settles: fc.Arbitrary<Step> = oneOf(
  [5, completes],
  [4, fails],
  [3, releases],
  [2, extensions],
  [1, advances],
  [1, logs],
);
