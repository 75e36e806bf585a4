// A client of a server in memory, for helpers that were written for ioredis: commands, pipelines and scripts.
import type { Redis } from 'ioredis';
import type { ScriptStore } from '#memory/script-store.js';
import { clientOf } from '#memory/server/texts.js';

type Command = (...args: (string | number)[]) => Promise<unknown>;

/** Returns a client of the server of a store. It is at the server at once, whatever the network of the store. */
export function clientOfStore({ server }: ScriptStore): Redis {
  const client = clientOf(server, async (_name, run) => run()) as unknown as Record<string, Command>;
  const more: Readonly<Record<string, unknown>> = {
    options: {},
    del: (...keys: string[]) => client.unlink!(...keys),
    evalsha: () => Promise.reject(Object.assign(new Error('NOSCRIPT No matching script.'), { name: 'ReplyError' })),
    pipeline: () => pipelineOf(client),
  };
  return new Proxy(client, {
    get: (known, name) => more[name as string] ?? known[name as string],
  }) as unknown as Redis;
}

/** Returns a pipeline, which sends its commands when they are added. */
function pipelineOf(client: Record<string, Command>): unknown {
  const replies: Promise<[Error | null, unknown]>[] = [];
  const pipeline: object = new Proxy(
    { exec: () => Promise.all(replies) },
    {
      get: (own, name) => {
        if (name in own) return own[name as keyof typeof own];
        return (...args: (string | number)[]) => {
          const reply = client[name as string]!(...args);
          replies.push(
            reply.then(
              (found) => [null, found],
              (error: Error) => [error, undefined],
            ),
          );
          return pipeline;
        };
      },
    },
  );
  return pipeline;
}
