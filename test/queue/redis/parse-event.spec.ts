import { describe, expect, it } from '@jest/globals';
import { parseEvent } from '#queue/redis/parse-event.js';

describe('a message on the channel of events', () => {
  it.each<[string, object]>([
    ['{"id":"a","status":"completed"}', { id: 'a', status: 'completed' }],
    ['{"id":"a","status":"retry","name":"email"}', { id: 'a', status: 'retry', name: 'email' }],
    ['{"id":"a","status":"retry","name":"","other":{}}', { id: 'a', status: 'retry' }],
    ['{"id":"a","status":"retry","name":5}', { id: 'a', status: 'retry' }],
  ])('%s is an event', (message, event) => {
    expect(parseEvent(message)).toEqual(event);
  });

  it.each([
    'not json',
    'null',
    '5',
    '"id"',
    '[]',
    '{}',
    '{"id":7,"status":"completed"}',
    '{"id":"","status":"completed"}',
    '{"id":"a","status":["completed"]}',
    `{"id":"${'x'.repeat(1_001)}","status":"completed"}`,
    `{"id":"a","status":"completed","x":"${'x'.repeat(10_000)}"}`,
  ])('%.40s is none', (message) => {
    expect(parseEvent(message)).toBeUndefined();
  });
});
