// The examples of docs/streams.md, run as they are.
import { beforeEach, expect, it } from '@jest/globals';
import type { INestApplication, Type } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { startApp } from '../nest/app.js';
import { exampleOf, loadExample } from './example.js';

interface Example {
  Model: Type;
  ChatHandler: Type;
  ChatController: Type;
}

const MODEL = {
  answer: async function* () {
    yield* ['Because ', 'of the air'];
  },
};

let app: INestApplication;

beforeEach(async () => {
  const { Model, ChatHandler, ChatController } = await loadExample<Example>('streams.md', 'streams');
  app = await startApp({
    controllers: [ChatController],
    providers: [ChatHandler, { provide: Model, useValue: MODEL }],
  });
});

/** Reads the events that a route sends: each as its type, its data and its id. */
async function eventsOf(url: string, after?: string): Promise<{ type?: string; data?: string; id?: string }[]> {
  const response = await fetch(url, { headers: after === undefined ? {} : { 'last-event-id': after } });
  const events = (await response.text()).trim().split('\n\n');
  return events.map((event) => ({
    type: /^event: (.*)/m.exec(event)?.[1],
    data: /^data: (.*)/m.exec(event)?.[1],
    id: /^id: (.*)/m.exec(event)?.[1],
  }));
}

it('a browser reads the answer, and goes on behind the last event that it has had', async () => {
  await app.listen(0);
  const url = `${await app.getUrl()}/chats`;
  const { id } = (await (await fetch(url, { method: 'POST' })).json()) as { id: string };
  const events = await eventsOf(`${url}/${id}`);
  expect(events.map(({ type, data }) => [type, data])).toEqual([
    ['chunk', 'Because '],
    ['chunk', 'of the air'],
    ['result', '{"tokens":2}'],
  ]);
  expect(await eventsOf(`${url}/${id}`, events[0]!.id)).toEqual(events.slice(1));
  expect(await eventsOf(`${url}/unknown`)).toMatchObject([{ type: 'failed', data: '{"code":"JOB_NOT_FOUND"}' }]);
});

it('a loop reads it', async () => {
  const { answerOf } = await loadExample<{ answerOf: (jobs: JobQueueService, id: string) => Promise<string> }>(
    'streams.md',
    'read-stream',
  );
  const jobs = app.get(JobQueueService);
  const { id } = await jobs.enqueue('chat', { question: '?' });
  expect(await answerOf(jobs, id)).toBe('Because of the air (2 tokens)');
});

it('a definition types the chunks', async () => {
  const { TranslateHandler, translate } = await loadExample<{
    TranslateHandler: Type;
    translate: (jobs: JobQueueService, texts: string[]) => Promise<string[]>;
  }>('streams.md', 'typed-stream');
  const translator = await startApp({ providers: [TranslateHandler] });
  expect(await translate(translator.get(JobQueueService), ['a', 'b'])).toEqual(['A', 'B']);
});

it('a test reads it', async () => {
  const { chunksOfAnswer } = await loadExample<{ chunksOfAnswer: () => Promise<unknown[]> }>(
    'streams.md',
    'test-stream',
    (code) =>
      `${exampleOf('streams.md', 'streams')}\n${code.replace(/.*'\.\/chat';\n/, '').replace(/import { JobQueueService }.*\n/, '')}`,
  );
  expect(await chunksOfAnswer()).toEqual(['Because ', 'of the air', { tokens: 2 }]);
});
