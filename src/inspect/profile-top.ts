// The functions of a profile that took most, for who has no viewer at hand.
import { z } from 'zod';
import { ProfileError } from '../queue/errors/errors.js';
import type { ProfileKind } from '../queue/model/profile.js';

/** The most functions that are shown. */
const MOST_SHOWN = 20;

/** A function in a profile. */
export interface ProfiledFunction {
  /** The name of the function, as V8 has it. */
  name: string;
  /** Its file and line; '' for one of V8. */
  place: string;
  /** Its own part of what was measured, without what it calls, from 0 to 1. */
  share: number;
}

const frame = z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() });
const cpuSchema = z.object({
  nodes: z.array(z.object({ id: z.number(), callFrame: frame })),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
type HeapNode = { callFrame: z.output<typeof frame>; selfSize: number; children: HeapNode[] };
const heapNode: z.ZodType<HeapNode> = z.lazy(() =>
  z.object({ callFrame: frame, selfSize: z.number(), children: z.array(heapNode) }),
);
const heapSchema = z.object({ head: heapNode });

/** What V8 names without a file, although no code of the app ran: the waits, and the measurement itself. */
const NO_CODE = ['(idle)', 'dispatch'];

/**
 * Returns the functions of a profile that took most by themselves, the first the most.
 *
 * @throws ProfileError for a text that is no profile
 */
export function topFunctions(queue: string, kind: ProfileKind, json: string): ProfiledFunction[] {
  const parts = partsOf(kind, json);
  if (!parts) {
    throw new ProfileError(queue, 'failed', 'what is stored is no profile of V8. Ask for another one.');
  }
  const byFunction = new Map<string, ProfiledFunction>();
  let all = 0;
  for (const [{ functionName, url, lineNumber }, amount] of parts) {
    if (url === '' && NO_CODE.includes(functionName)) continue;
    all += amount;
    const name = functionName || '(anonymous)';
    const place = url === '' ? '' : `${url.replace(/^file:\/\//, '')}:${lineNumber + 1}`;
    const known = byFunction.get(`${name} ${place}`) ?? { name, place, share: 0 };
    known.share += amount;
    byFunction.set(`${name} ${place}`, known);
  }
  return [...byFunction.values()]
    .filter(({ share }) => share > 0)
    .toSorted((a, b) => b.share - a.share)
    .slice(0, MOST_SHOWN)
    .map((each) => ({ ...each, share: each.share / all }));
}

type Parts = [frame: z.output<typeof frame>, amount: number][];

/** Returns the functions of a profile with the time or the bytes of each. Undefined for another text. */
function partsOf(kind: ProfileKind, json: string): Parts | undefined {
  const value = parsed(json);
  if (kind === 'heap') {
    const heap = heapSchema.safeParse(value);
    return heap.success ? heapParts(heap.data.head) : undefined;
  }
  const cpu = cpuSchema.safeParse(value);
  if (!cpu.success) {
    return undefined;
  }
  const { nodes, samples, timeDeltas } = cpu.data;
  const times = new Map<number, number>();
  samples.forEach((id, i) => times.set(id, (times.get(id) ?? 0) + Math.max(0, timeDeltas[i] ?? 0)));
  return nodes.map(({ id, callFrame }) => [callFrame, times.get(id) ?? 0]);
}

function heapParts(head: HeapNode): Parts {
  const parts: Parts = [];
  const open = [head];
  for (let node = open.pop(); node; node = open.pop()) {
    parts.push([node.callFrame, node.selfSize]);
    open.push(...node.children);
  }
  return parts;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
