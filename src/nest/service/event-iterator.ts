import type { Observable } from 'rxjs';

/** The number of events that may wait for a slower loop. Beyond that the oldest are dropped. */
const MOST_WAITING = 10_000;

/**
 * Returns the values of an observable for `for await`. Subscribes now, until the loop or the observable ends.
 *
 * @param onOverflow called once, when values are dropped because the loop is too slow
 */
export function iterate<Value>(values: Observable<Value>, onOverflow: () => void): AsyncIterableIterator<Value> {
  const waiting: Value[] = [];
  const asking: ((result: IteratorResult<Value>) => void)[] = [];
  let done = false;
  let dropped = false;
  let failure: { error: unknown } | undefined;
  const end = () => {
    done = true;
    asking.splice(0).forEach((answer) => answer({ done: true, value: undefined }));
  };
  const take = (value: Value) => {
    const answer = asking.shift();
    if (answer) {
      answer({ done: false, value });
      return;
    }
    if (waiting.push(value) > MOST_WAITING) {
      waiting.shift();
      if (!dropped) {
        dropped = true;
        onOverflow();
      }
    }
  };
  const fail = (error: unknown) => {
    failure = { error };
    end();
  };
  const listening = values.subscribe({ next: take, error: fail, complete: end });
  return {
    next: async () => {
      if (waiting.length > 0) {
        return { done: false, value: waiting.shift()! };
      }
      if (failure) {
        throw failure.error;
      }
      return done ? { done, value: undefined } : new Promise((resolve) => asking.push(resolve));
    },
    return: async () => {
      listening.unsubscribe();
      end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
