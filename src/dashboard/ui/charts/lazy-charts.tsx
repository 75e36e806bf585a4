import { useEffect, useState } from 'preact/hooks';
import type { QueueView } from '../../views/views.js';
import { Notice } from '../parts/parts.js';

type ChartsModule = typeof import('./charts.js');

let loaded: ChartsModule | undefined;

/** Shows the charts; their library is loaded only when they are opened. */
export function LazyCharts({ queue }: { queue: QueueView }) {
  const [module, setModule] = useState(loaded);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import('./charts.js').then(
      (found) => setModule((loaded = found)),
      () => setFailed(true),
    );
  }, []);
  if (failed) {
    return <Notice title="The charts could not be loaded. Reload the page." kind="problem" />;
  }
  return module ? <module.Charts queue={queue} /> : <Notice title="Loading the charts…" kind="loading" />;
}
