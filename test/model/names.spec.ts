// Names are opaque. A sequence does the same if each name begins and ends all longer ones: J, JJ, JJJ. So no script and no
// call takes a part of a name for the whole. MODEL_RUNS and MODEL_SEED draw other sequences, MODEL_PATH one of them again.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { ScriptStore } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { Random } from '../../tools/chaos/random.js';
import { casesOf } from '../support/run/samples.js';
import { ANNOUNCED, answer, OPTIONS, sequences } from './compare-stores.js';
import { maintain } from './flow/operate.js';
import { seen } from './flow/seen.js';
import { newSide, type Side } from './flow/side.js';

const RUNS = Number(process.env.MODEL_RUNS ?? casesOf(200, 10));
const SEED = Number(process.env.MODEL_SEED ?? 7);

/** After this many steps the visible state is compared. */
const LOOK_EVERY = 8;

/** The words of the steps, by kind. A name in the place of one has its letter, as often as its place says. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  W: ['ada', 'bob'],
  N: ['mail', 'image', 'other'],
  K: ['k', 'l'],
  E: ['k1', 'k2', 'k3'],
  S: ['report', 'sweep'],
  G: ['ok', 'more'],
};
const NUMBERED: Readonly<Record<string, string>> = { j: 'J', b: 'B', t: 'T' };

function nested(word: string): string {
  const [, letter, number] = /^([jbt])(\d+)$/.exec(word) ?? [];
  if (letter !== undefined) return NUMBERED[letter]!.repeat(Number(number) + 1);
  const [kind, words] = Object.entries(WORDS).find(([, all]) => all.includes(word))!;
  return kind.repeat(words.indexOf(word) + 1);
}

/** Returns what a side with nested names has told, in the words of the steps. */
function inWords(told: unknown): unknown {
  const text = JSON.stringify({ told }).replaceAll(
    /(?<![A-Za-z])(J+|B+|T+|W+|N+|K+|E+|S+|G+)(?![A-Za-z])/g,
    (name) => {
      const number = name.length - 1;
      const words = WORDS[name[0]!];
      if (words) return words[number]!;
      const letter = name[0]!.toLowerCase();
      return letter === 'j' ? `j${String(number).padStart(3, '0')}` : `${letter}${number}`;
    },
  );
  return (JSON.parse(text) as { told: unknown }).told;
}

it(
  'names of which each begins and ends others do the same as unlike ones',
  async () => {
    const property = fc.asyncProperty(sequences, async (steps) => {
      const clock = { nowMs: Date.now() };
      const now = () => clock.nowMs;
      const sides = [undefined, nested].map((named) => {
        const random = new Random(steps.length);
        const server = new ScriptServer(now, { random: () => random.next() });
        const store = new ScriptStore({ ...systemClock, now }, { server });
        const options = { ...OPTIONS, ...(steps.length % 3 === 0 && ANNOUNCED) };
        return newSide(new JobQueue(store, 'own', options), new JobQueue(store, 'own-own'), now, named);
      }) as [Side, Side];
      const story: string[] = [];
      for (const [i, step] of steps.entries()) {
        clock.nowMs += 1 + (step.passesMs ?? 0);
        story.push(String(step));
        const isLook = i % LOOK_EVERY === LOOK_EVERY - 1 || i === steps.length - 1;
        const [plain, other] = await Promise.all(
          sides.map(async (side) => {
            const reply = await answer(step, side);
            await maintain(side);
            return { reply, ...(isLook && { seen: await seen(side) }) };
          }),
        );
        expect({ story, ...(inWords(other) as object) }).toEqual({ story, ...(inWords(plain) as object) });
      }
      sides.forEach(({ queue, other }) => [queue, other].forEach((each) => each.close()));
    });
    await fc.assert(property, {
      seed: SEED,
      numRuns: RUNS,
      endOnFailure: true,
      path: process.env.MODEL_PATH ?? '',
    });
  },
  RUNS * 10_000,
);
