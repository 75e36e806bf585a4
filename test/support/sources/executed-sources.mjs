// Which sources of the library run: V8 counts the calls of each function.
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const session = new Session();

/** Begins to count. May be called again; another session may have ended it. */
export async function startCounting() {
  session.connect();
  await session.post('Profiler.enable');
  await resumeCounting();
}

/** Goes on counting after another session of the process has ended it. */
export async function resumeCounting() {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
}

/** Ends the count. V8 inlines no function meanwhile, so the rest of the process would be slower. */
export async function stopCounting() {
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
}

/** Returns the sources of which a function ran since the last call. Loading a source is not counted. */
export async function executedSources() {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith('file:') && url.includes('/src/'))
    .filter(({ functions }) => functions.some(({ functionName, ranges }) => functionName && ranges[0].count > 0))
    .map(({ url }) => relative(root, fileURLToPath(url)));
}
