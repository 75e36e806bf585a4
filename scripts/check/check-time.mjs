// Checks that queues and workers take time and randomness from the clock of their store (src/queue/runtime/clock.ts).
// So a fleet can run by virtual time and a seed. Code that watches a real connection or thread is exempt.
import { readFileSync, readdirSync } from 'node:fs';
import { join, sep } from 'node:path';

const CALL =
  /(?<![.\w])(Date\.now|Math\.random|performance\.now|setTimeout|setInterval|setImmediate|randomUUID)\(/g;

const EXEMPT = [
  'queue/runtime/', // the seam itself
  'queue/redis/',
  'queue/transport/',
  'queue/doctor/', // measures how long an audit took
  'queue/validation/run-at.ts', // refuses a date years ahead
];

/** Returns a line for each use of the process's own time or chance in src/queue and src/worker. */
export function checkTime(src) {
  return ['queue', 'worker']
    .flatMap((folder) => filesOf(src, folder))
    .flatMap((file) => {
      const text = readFileSync(join(src, file), 'utf8');
      return text
        .split('\n')
        .flatMap((line, i) =>
          isComment(line)
            ? []
            : [...line.matchAll(CALL)].map(
                ([, name]) => `${file}:${i + 1}: take ${name} from the clock of the store`,
              ),
        );
    });
}

function filesOf(src, folder) {
  let files;
  try {
    files = readdirSync(join(src, folder), { recursive: true });
  } catch {
    return [];
  }
  return files
    .map((file) => `${folder}/${String(file).split(sep).join('/')}`)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'))
    .filter((file) => !EXEMPT.some((exempt) => file.startsWith(exempt)))
    .toSorted();
}

function isComment(line) {
  return /^\s*(\/\/|\/?\*)/.test(line);
}
