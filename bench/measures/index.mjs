// A measure takes one sample of one contestant and gives one or more figures at once:
//
//   id        of the measure, which `--only` accepts beside the ids of its figures
//   figures   { id: { unit, better: 'more' | 'less', text } }
//   quick     true where it belongs to the quick run
//   sample(bench, contestant) → { id: number | null }
//   observed  true where only `--observed` takes it
//   nest      true where this library is also measured through its Nest module
//   rounds    how many alternations are enough, where fewer are
//   times     how many times as many alternations as others it has in the whole run, where few would leave a ratio to chance
//   together  true where all contestants are there at once: their samples begin together and share the server by `bench.turns`
//   setUp(bench), tearDown(bench)   once, around all samples
import aof from './aof.mjs';
import ceiling from './ceiling.mjs';
import commands from './commands.mjs';
import enqueue from './enqueue.mjs';
import history from './history.mjs';
import lateness from './lateness.mjs';
import latency from './latency.mjs';
import limited from './limited.mjs';
import memory from './memory.mjs';
import processing from './processing.mjs';

export const measures = [
  ...enqueue,
  ...processing,
  ...limited,
  ...latency,
  ...lateness,
  ...memory,
  ...commands,
  ...ceiling,
  ...aof,
  ...history,
];
