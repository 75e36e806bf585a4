// A process of a run: `node --import ./tools/chaos/register.mjs tools/chaos/processes/process.ts OPTIONS`.
import { appendFileSync } from 'node:fs';
import { shiftClock } from './clock.js';
import { monotonicMs } from '../histories/clock.js';
import { HistoryWriter } from '../histories/history.js';
import { connectTo } from './line.js';
import { startOperator } from './operator.js';
import type { Order, ProcessOptions, Report } from './process-options.js';
import type { Stop, Tools } from './role.js';
import { startFlowProducer } from './flow-producer.js';
import { startFifoProducer, startProducer, startSharedProducer, startSpreadProducer } from './producer.js';
import {
  startFifoWorker,
  startFlowWorker,
  startSharedWorker,
  startSpreadWorker,
  startWorkerRole,
} from './worker-role.js';

const ROLES: Record<ProcessOptions['role'], (tools: Tools) => Promise<Stop>> = {
  worker: startWorkerRole,
  'fifo-worker': startFifoWorker,
  'flow-worker': startFlowWorker,
  'shared-worker': startSharedWorker,
  'spread-worker': startSpreadWorker,
  producer: startProducer,
  'fifo-producer': startFifoProducer,
  'flow-producer': startFlowProducer,
  'shared-producer': startSharedProducer,
  'spread-producer': startSpreadProducer,
  operator: startOperator,
};

const SAMPLE_MS = 2_000;
const CLOSE_MS = 10_000;
const options = JSON.parse(process.argv[2]!) as ProcessOptions;
if (options.clockOffMs !== 0) shiftClock(options.clockOffMs);
const note = (message: string) => appendFileSync(options.log, `${monotonicMs()} ${message}\n`);
const report = (message: Report) => void process.send?.(message, undefined, undefined, () => undefined);
process.on('uncaughtExceptionMonitor', (error) => note(String(error.stack)));

const redis = connectTo(options.line, options.slot);
redis.on('error', (error: Error) => note(error.message));
const history = new HistoryWriter(options.history, options.number, options.role);
const logger = { log: () => undefined, warn: note, error: note };
const tools: Tools = { options, redis, history, logger, report, blockMs: 0 };
const stop = await ROLES[options.role](tools);
const sampling = setInterval(sample, SAMPLE_MS);
process.on('message', (order: Order) => {
  if (order.type === 'block') tools.blockMs = order.ms;
  else void leave();
});
// Without the runner the process has no work.
process.on('disconnect', () => process.exit());
report({ type: 'ready' });

function sample(): void {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo();
  const count = (what: RegExp) => resources.filter((each) => what.test(each)).length;
  const listeners = redis.eventNames().reduce((sum, name) => sum + redis.listenerCount(name), 0);
  report({
    type: 'sample',
    heap: heapUsed,
    rss,
    timers: count(/Timeout/),
    sockets: count(/TCPSocket|TCPConnect/),
    listeners,
  });
}

async function leave(): Promise<void> {
  clearInterval(sampling);
  history.add(['stopping']);
  await stop();
  await history.written();
  history.close();
  redis.disconnect();
  const open = await whatStays();
  process.send!({ type: 'stopped', open }, () => process.exit());
}

/** Returns the resources still open after a wait, because a socket waits for its other side to close. */
async function whatStays(): Promise<string[]> {
  const end = monotonicMs() + CLOSE_MS;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const open = process.getActiveResourcesInfo().filter((each) => /TCP|Timeout|Worker/.test(each));
    if (open.length === 0 || monotonicMs() > end) return open;
  }
}
