import { JobQueueError } from '../errors/errors.js';

/** A link of a chain. It calls `next`, which runs the rest of the chain. */
export type Link<Subject, Result> = (subject: Subject, next: () => Promise<Result>) => Result | Promise<Result>;

/**
 * Combines a chain and its end into one function. Without links it returns the end itself, so that an empty chain costs
 * nothing.
 */
export function compose<Subject, Result>(
  links: readonly Link<Subject, Result>[],
  end: (subject: Subject) => Result | Promise<Result>,
): (subject: Subject) => Result | Promise<Result> {
  type Rest = (subject: Subject) => Result | Promise<Result>;
  const wrap = (rest: Rest, link: Link<Subject, Result>): Rest => {
    return (subject) => {
      const next = once(() => rest(subject));
      return link(subject, next);
    };
  };
  return links.reduceRight(wrap, end);
}

/**
 * Refuses a second call, which would run the handler, or send the jobs, again. It is not async, which would add a
 * promise and three turns of the microtask queue to each attempt.
 */
function once<Result>(run: () => Result | Promise<Result>): () => Promise<Result> {
  let isCalled = false;
  return () => {
    if (isCalled) {
      const problem = 'A middleware called next() a second time: call it once, and return what it resolves to.';
      return Promise.reject(new JobQueueError(problem));
    }
    isCalled = true;
    try {
      return Promise.resolve(run());
    } catch (error) {
      return Promise.reject(error);
    }
  };
}
