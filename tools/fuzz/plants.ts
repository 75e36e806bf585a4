// Planted faults: edits of the text of scripts. The fuzz finds each. They are of kinds that other tests missed. These
// are equality at a bound, the key of a sort, and the rest of a slice. Others are an outcome left out, a fence that is not
// raised, and a suffix in place of a name.
import { luaScripts } from '#queue/lua.generated.js';

interface Plant {
  find: RegExp;
  put: string;
  /** The seed of a round that finds it. */
  seed: number;
}

export const PLANTS: Readonly<Record<string, Plant>> = {
  'one job more than maxRunning': {
    find: /max_running - redis\.call\('ZCARD', claims\)/g,
    put: "max_running + 1 - redis.call('ZCARD', claims)",
    seed: 25,
  },
  'one job of a group more than its maxRunning': {
    find: /running >= group\.max_running/g,
    put: 'running > group.max_running',
    seed: 22,
  },
  'one waiting job more than maxPending': {
    find: /added_jobs >= of_queue\.jobs/g,
    put: 'added_jobs > of_queue.jobs',
    seed: 11,
  },
  'one attempt fewer than maxAttempts': {
    find: /final or attempts >=/g,
    put: 'final or attempts + 1 >=',
    seed: 4,
  },
  'a larger burst': {
    find: /math\.min\(burst, math\.floor\(4e15/g,
    put: 'math.min(burst + 9, math.floor(4e15',
    seed: 17,
  },
  'jobs of one priority in reverse': {
    find: /\* -2 \^ 40 \+ \(/g,
    put: '* -2 ^ 40 - (',
    seed: 2,
  },
  'a due job of each slice left': {
    find: /'-inf', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'/g,
    put: "'-inf', now, 'BYSCORE', 'LIMIT', 1, limit, 'WITHSCORES'",
    seed: 2,
  },
  'delayed jobs before their time': {
    find: /'-inf', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'/g,
    put: "'-inf', now + 400, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'",
    seed: 3,
  },
  'a fence that is not raised': {
    find: /#ids == 1 and '1' or/g,
    put: "#ids == 1 and '0' or",
    seed: 3,
  },
  'a failure that those behind it do not notice': {
    find: /if status ~= 'completed' then(?=\s+redis\.call\('HSET', job \.\. id, 'unmet')/g,
    put: "if status ~= 'completed' and status ~= 'failed' then",
    seed: 10,
  },
  'an id that ends another': {
    find: /'\\n' \.\. ended \.\. '\\n', 1, true/g,
    put: "ended .. '\\n', 1, true",
    seed: 61,
  },
  'a key that nobody holds for its time': {
    find: /held_until > now and held_until <=/g,
    put: 'held_until < now and held_until <=',
    seed: 2,
  },
  'a group whose head is not waited for': {
    find: /group\.max_running ~= 1 or is_dead/g,
    put: 'group.max_running ~= 2 or is_dead',
    seed: 22,
  },
  'an expiry that comes late': {
    find: /\(tonumber\(expires_at\) or 0\) <= now and/g,
    put: '(tonumber(expires_at) or 0) <= now - 60000 and', // longer than a queue is paused on a slow machine
    seed: 1,
  },
};

/** Plants a fault in all scripts, before their first use. @throws Error if no script has the text */
export function plant(name: string): void {
  const { find, put } = PLANTS[name]!;
  const texts: Record<string, string> = luaScripts;
  let isPlanted = false;
  for (const [script, text] of Object.entries(texts)) {
    texts[script] = text.replaceAll(find, put);
    isPlanted ||= texts[script] !== text;
  }
  if (!isPlanted) {
    throw new Error(`No script has the text of the planted fault "${name}": ${find.source}`);
  }
}
