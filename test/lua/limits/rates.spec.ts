// What a rate promises, for any limit, period, burst, cost and clock. First the arithmetic of lua/lib/limits/rate.lua on
// the server, then the claims that use it. docs/internals/rates.md has the reasons for the bounds.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { RateLimit } from '#queue/model/limits.js';
import fc from '../../support/queue/properties.js';
import { queueOn } from '../../support/queue/queue-state.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { connect } from '../../support/redis/redis.js';
import { casesOf, someOf } from '../../support/run/samples.js';

const DAY = 86_400_000;
const NOW = Date.parse('2026-06-01T12:00:00Z');
const IN_2100 = Date.parse('2100-01-01T00:00:00Z');

/** The arithmetic as the scripts have it, with a clock that the rest of the script sets. */
const rateLua = `local now_us, stored = 0, {}
local redis = { call = function(_, _, ...) stored = { ... } end }
${readFileSync('lua/lib/limits/rate.lua', 'utf8')}`;

/** Checks many limits at one clock. Returns the first that breaks a promise. ARGV: limits from, to, period, clock in us */
const EACH_LIMIT = `${rateLua}
local period, clock = tonumber(ARGV[3]), tonumber(ARGV[4])
for limit = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  for _, burst in ipairs({ 1, 2, 3, 5, 10, 31, limit, 2000 }) do
    now_us = clock
    local function fails(what)
      return string.format('%d in %d ms, burst %d: %s', limit, period, burst, what)
    end
    local rate = read_rate(tostring(limit), tostring(period), tostring(burst))
    if starts_now(rate) ~= burst then
      return fails('at first ' .. starts_now(rate) .. ' start')
    end
    for _, cost in ipairs({ burst, 1, math.ceil(burst / 2) }) do
      charge_rate(rate, cost)
      local opens = opens_us(rate, cost)
      for ahead, right in pairs({ [0] = true, [1] = false }) do
        now_us = opens - ahead
        if (starts_now(rate) >= cost) ~= right then
          return fails(starts_now(rate) .. ' may start ' .. ahead .. ' us before a cost of ' .. cost .. ' is earned')
        end
      end
      now_us = clock
    end
    charge_rate(rate, -1)
    charge_rate(rate, -burst - math.ceil(burst / 2))
    if rate.us ~= clock or rate.part ~= 0 then
      return fails('what is given back is not what was taken')
    end
  end
end
return ''`;

/**
 * Plays claims by one rate while jobs wait. Each comes when the one before said, and late by up to ARGV[6] us. Halfway the
 * clock jumps.
 *
 * ARGV: limit, period, burst, cost, clock in us, lateness in us, jump in us, claims, seed.
 * Returns the units of the first claim and of the fullest period. Then for before and after the jump: all units, and when
 * the last of them started in us.
 */
const PLAYED = `${rateLua}
local limit, period, burst, cost, clock, late, jump, claims, seed = unpack(ARGV)
cost, now_us, late, seed = math.min(tonumber(cost), tonumber(burst)), tonumber(clock), tonumber(late), tonumber(seed)
local began = now_us
local at, units, first, all, in_period, fullest, first_units, reply = {}, {}, 1, 0, 0, 0, nil, {}
local function report(last)
  reply[#reply + 1], reply[#reply + 2] = all, string.format('%.0f', at[last] - began)
end
for i = 1, tonumber(claims) do
  if i == math.floor(claims / 2) then
    report(i - 1)
    now_us = now_us + tonumber(jump)
    first, all, in_period, began = i, 0, 0, now_us
  end
  local rate = read_rate(limit, period, burst, stored[2], stored[4], stored[6])
  local count = math.floor(starts_now(rate) / cost) * cost
  charge_rate(rate, count)
  write_rate('key', rate, true)
  at[i], units[i], all, in_period = now_us, count, all + count, in_period + count
  while at[first] < now_us - tonumber(period) * 1000 do
    in_period, first = in_period - units[first], first + 1
  end
  fullest, first_units = math.max(fullest, in_period), first_units or count
  seed = (seed * 16807) % 2147483647
  now_us = now_us + math.max(1, math.ceil((opens_us(rate, cost) - now_us) / 1000)) * 1000 + math.floor(late * seed / 2147483647)
end
report(#at)
return { first_units, fullest, unpack(reply) }`;

/**
 * Claims at any time, some jobs or all, with jobs left or none. ARGV: limit, period, burst, clock in us, the longest time
 * between claims in us, claims, seed. Returns the units of the fullest period.
 */
const ANY_PATTERN = `${rateLua}
local limit, period, burst, clock, longest, claims, seed = unpack(ARGV)
now_us, seed = tonumber(clock), tonumber(seed)
local function random()
  seed = (seed * 16807) % 2147483647
  return seed / 2147483647
end
local at, units, first, in_period, fullest = {}, {}, 1, 0, 0
for i = 1, tonumber(claims) do
  local rate = read_rate(limit, period, burst, stored[2], stored[4], stored[6])
  local count = random() < 0.8 and starts_now(rate) or math.floor(random() * starts_now(rate))
  if count > 0 then
    charge_rate(rate, count)
    write_rate('key', rate, random() < 0.9)
  end
  at[i], units[i], in_period = now_us, count, in_period + count
  while at[first] < now_us - tonumber(period) * 1000 do
    in_period, first = in_period - units[first], first + 1
  end
  fullest = math.max(fullest, in_period)
  now_us = now_us + math.floor(longest * random() ^ (random() < 0.1 and 1 or 8))
end
return fullest`;

const rates = fc
  .record({
    limit: fc.oneof(fc.integer({ min: 1, max: 2_000 }), fc.constantFrom(7, 30, 75, 100, 120, 300, 669, 1_000)),
    periodMs: fc.oneof(fc.integer({ min: 1, max: DAY }), fc.constantFrom(1, 10, 100, 333, 1_000, 60_000, DAY)),
    burst: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2_000 })),
    cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 3_000 })),
    clock: fc.constantFrom(NOW, IN_2100).chain((ms) => fc.integer({ min: ms, max: ms + DAY })),
  })
  .map(({ cost, ...rate }) => ({ ...rate, cost: Math.min(cost, rate.burst) }));

/** In a shorter period only a burst serves the limit, because a wait is in whole ms. */
const SHORTEST_MS = 100;
const lateness = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true }));
const jumps = fc.oneof(
  fc.constant(0),
  fc.integer({ min: -2 * DAY, max: 2 * DAY }).map((ms) => 1_000 * ms),
);

/** Returns the least units that start in this time while jobs wait. */
const served = ({ limit, periodMs }: RateLimit, us: number) => (0.98 * limit * us) / 1_000 / periodMs;

/** Returns how late each start may be until 2 % of the limit are missing, in ms. The wait of a claim is in whole ms. */
function madeUpMs({ limit, periodMs }: RateLimit): number {
  const interval = periodMs / limit;
  const late = Math.floor(Math.min(0.02 * limit, 100 / interval));
  return Math.max(0, late * interval + Math.min(0.75 * interval, 1_000) - 1);
}

describe('the arithmetic of a rate', () => {
  it.each(someOf([1, 7, 333, 1_000, 60_000, 3_600_000, DAY], 3))(
    'lets each limit from 1 to 2,000 in %i ms start its burst at once, and each cost when it is earned',
    async (periodMs) => {
      for (const clock of [`${NOW * 1_000 + 1}`, `${NOW * 1_000 + 999_999}`, `${IN_2100 * 1_000 + 123_457}`]) {
        for (let from = 1; from < 2_000; from += 500) {
          expect(await connect().eval(EACH_LIMIT, 0, from, from + 499, periodMs, clock)).toBe('');
        }
      }
    },
  );

  it('admits limit + burst in any period, 0.98 of the limit in the long run, and the first job at once', async () => {
    const redis = connect();
    await fc.assert(
      fc.asyncProperty(rates, lateness, jumps, fc.nat(2 ** 30), async (rate, share, jumpUs, seed) => {
        const { limit, periodMs, burst, cost, clock } = rate;
        const isLong = periodMs >= SHORTEST_MS;
        const lateUs = Math.floor(1_000 * share * (isLong ? madeUpMs(rate) : periodMs));
        const args = [limit, periodMs, burst, cost, clock * 1_000, lateUs, jumpUs, 400, seed + 1].map(String);
        const [first, fullest, ...parts] = ((await redis.eval(PLAYED, 0, ...args)) as string[]).map(Number);
        expect(first).toBe(Math.floor(burst / cost) * cost);
        expect(fullest).toBeLessThanOrEqual(limit + burst);
        const [before, tookUs, after, tookAfterUs] = parts as [number, number, number, number];
        if (isLong) {
          expect(before + cost).toBeGreaterThanOrEqual(served(rate, tookUs));
          // A clock that was set back may find the burst spent. A jump ahead looks like a late start.
          expect(after + cost + burst + 0.05 * limit).toBeGreaterThanOrEqual(served(rate, tookAfterUs));
        }
      }),
      { numRuns: casesOf(400, 100) },
    );
  }, 60_000);

  it('admits limit + burst in any period, whenever claims come', async () => {
    const redis = connect();
    await fc.assert(
      fc.asyncProperty(
        rates,
        fc.double({ min: 0, max: 3, noNaN: true }),
        fc.nat(2 ** 30),
        async (rate, share, seed) => {
          const { limit, periodMs, burst, clock } = rate;
          const longestUs = Math.floor(share * 1_000 * Math.min(periodMs, (50 * periodMs) / limit));
          const args = [limit, periodMs, burst, clock * 1_000, longestUs, 1_000, seed + 1].map(String);
          expect(await redis.eval(ANY_PATTERN, 0, ...args)).toBeLessThanOrEqual(limit + burst);
        },
      ),
      { numRuns: casesOf(400, 100) },
    );
  }, 60_000);
});

/** Claims until `jobs` have started, each time when the claim before said. Returns the time and cost of each start. */
async function startsOf(
  redis: Redis,
  clock: { nowMs: number },
  rate: RateLimit & { cost: number },
  group?: string,
) {
  const q = queueOn(redis);
  const { cost, ...rateLimit } = rate;
  await q.run(q.scripts.limits.set(group ? { groups: { rateLimit } } : { rateLimit }));
  const options = { ...(group && { group }), ...(cost > 1 && { cost }) };
  const jobs = 40;
  for (let i = 0; i < jobs; i++) await q.add(`job-${i}`, options);
  const starts: { at: number; units: number }[] = [];
  for (let i = 0; i < 4 * jobs && starts.length < jobs; i++) {
    const { jobs: claimed, nextDueInMs = 1 } = await q.run(q.claimCall(50));
    starts.push(...claimed.map(() => ({ at: clock.nowMs, units: cost })));
    clock.nowMs += nextDueInMs;
  }
  expect(starts).toHaveLength(jobs);
  return starts;
}

it.each([undefined, 'g'])('the claims of a limited queue keep to the same promises (group %s)', async (group) => {
  const clock = { nowMs: NOW };
  const redis = connectClocked(clock);
  await fc.assert(
    fc.asyncProperty(rates, async (rate) => {
      clock.nowMs = rate.clock;
      const starts = await startsOf(redis, clock, rate, group);
      expect(starts[0]!.at).toBe(rate.clock);
      for (const { at } of starts) {
        const inPeriod = starts.filter((other) => other.at >= at && other.at <= at + rate.periodMs);
        const units = inPeriod.reduce((sum, each) => sum + each.units, 0);
        expect(units).toBeLessThanOrEqual(rate.limit + rate.burst);
      }
      const last = starts.findLast(({ at }) => at < starts.at(-1)!.at); // the claim after it met the end of the line
      if (last && rate.periodMs >= SHORTEST_MS) {
        const units = rate.cost * (starts.lastIndexOf(last) + 2);
        expect(units).toBeGreaterThanOrEqual(served(rate, 1_000 * (last.at - rate.clock)));
      }
    }),
    { numRuns: casesOf(25, 10) },
  );
});
