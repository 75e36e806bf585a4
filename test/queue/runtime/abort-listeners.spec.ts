import { getEventListeners } from 'node:events';
import { expect, it } from '@jest/globals';
import { onceAborted } from '#queue/runtime/waits.js';

it('calls back all waits of a signal, which has one listener', () => {
  const controller = new AbortController();
  const called: number[] = [];
  const ends = [1, 2, 3].map((n) => onceAborted(controller.signal, () => void called.push(n)));
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
  ends[1]!();
  controller.abort();
  expect(called).toEqual([1, 3]);
});

it('leaves no listener behind its last wait, and listens anew for the next', () => {
  const controller = new AbortController();
  const called: string[] = [];
  const end = onceAborted(controller.signal, () => void called.push('ended'));
  end();
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  onceAborted(controller.signal, () => void called.push('waits'));
  end();
  controller.abort();
  expect(called).toEqual(['waits']);
});
