// npm run bench -- --growth: what one job costs Redis while more and more others wait, run or are scheduled. Flat is
// what a queue should be. Writes a plot and the numbers of each.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { claims } from './claims.mjs';
import { scheduled } from './scheduled.mjs';
import { waiting } from './waiting.mjs';
import { plot } from './plot.mjs';

const growths = [waiting, claims, scheduled];

export async function runGrowth(bench, folder) {
  await mkdir(folder, { recursive: true });
  for (const growth of growths) {
    const levels = growth.levels.filter((level) => !bench.quick || level <= 10_000);
    const series = [];
    for (const [id, peer] of bench.contestants) {
      if (id === 'nest' || (growth.skips ?? []).includes(id)) continue;
      bench.log(`${growth.id}: ${peer.name}\n`);
      const points = await measure(bench, growth, id, levels);
      series.push({ name: `${peer.name} ${peer.version}`, points });
    }
    print(growth, levels, series);
    await writeFile(join(folder, `growth-${growth.id}.svg`), plot(growth.title, growth.axis, series));
    await writeFile(
      join(folder, `growth-${growth.id}.json`),
      `${JSON.stringify({ ...growth, series }, null, 2)}\n`,
    );
  }
}

/** Measures the points of one contestant. A contestant that fails at a level keeps its earlier points. */
async function measure(bench, growth, contestant, levels) {
  const points = [];
  try {
    await growth.run(bench, contestant, levels, (level, us) => {
      points.push({ level, us });
      bench.log(`  ${level.toLocaleString('en')}: ${us.toFixed(1)} µs/job\n`);
    });
  } catch (error) {
    bench.log(`  gave up: ${error.message}\n`);
  }
  return points;
}

function print({ title }, levels, series) {
  console.log(`\n${title}: µs of Redis CPU per processed job`);
  console.log(''.padEnd(28) + levels.map((level) => level.toLocaleString('en').padStart(11)).join(''));
  for (const { name, points } of series) {
    const at = (level) => points.find((point) => point.level === level)?.us.toFixed(1) ?? '–';
    console.log(name.padEnd(28) + levels.map((level) => at(level).padStart(11)).join(''));
  }
}
