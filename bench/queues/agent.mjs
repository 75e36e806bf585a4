// A process with many queues of one contestant: it serves all of them, or it produces jobs for some.
import { loadPeer } from '../peers/index.mjs';
import { serve } from '../fleet/serve.mjs';
import { monotonicUs } from '../fleet/payload.mjs';

const [contestant] = process.argv.slice(2);
const peer = await loadPeer(contestant);
let queues;
let latencies = [];

serve({
  open({ nodes, names }) {
    queues = peer.openMany({ nodes, names });
  },
  /** Returns the time from the first object of a queue until all workers are ready, in ms. */
  async work({ nodes, names }) {
    const started = performance.now();
    queues = peer.openMany({ nodes, names });
    await queues.work((payload) => void latencies.push(monotonicUs() - payload.t));
    return performance.now() - started;
  },
  enqueue: ({ i }) => queues.enqueue(i, { t: monotonicUs() }).then(() => undefined),
  cpuUs() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  /** Returns the latencies since the last call, in µs. */
  latencies() {
    const taken = latencies;
    latencies = [];
    return taken;
  },
});
