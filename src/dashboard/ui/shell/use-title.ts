import { useSignalEffect } from '@preact/signals';
import { overview, session } from '../state/live.js';
import { route } from '../state/route.js';

/** Names the page in the browser's tab, with how many queues need a look. */
export function useTitle(): void {
  useSignalEffect(() => {
    const title = session.value?.title ?? 'Queues';
    const [page, first, second] = route.value.parts;
    const named = page === 'job' || page === 'batch' ? second : page === 'queue' ? first : page;
    const bad = overview.value?.queues.filter(({ verdict }) => verdict.severity === 'bad').length ?? 0;
    document.title = `${bad > 0 ? `(${bad}) ` : ''}${named ? `${named} · ` : ''}${title}`;
  });
}
