import type { RedisClient } from 'nest-job-queue';

/** The shop's few numbers and texts beside its jobs. */
export interface Notes {
  get(key: string): Promise<string | null>;
  set(key: string, text: string): Promise<unknown>;
  del(key: string): Promise<unknown>;
  /** Returns the number after the increase. */
  incrby(key: string, by: number): Promise<number>;
}

/** Keeps them where the jobs are: in Redis, or in the memory of this process. */
export function notesIn(client: RedisClient | undefined): Notes {
  if (client) return client;
  const kept = new Map<string, string>();
  return {
    get: async (key) => kept.get(key) ?? null,
    set: async (key, text) => kept.set(key, text),
    del: async (key) => kept.delete(key),
    incrby: async (key, by) => {
      const number = Number(kept.get(key) ?? 0) + by;
      kept.set(key, String(number));
      return number;
    },
  };
}
