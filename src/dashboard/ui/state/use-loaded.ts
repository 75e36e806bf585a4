import { useEffect, useRef, useState } from 'preact/hooks';
import { get, Problem } from './api.js';

type Query = Record<string, string | number | null | undefined>;

export interface Loaded<Answer> {
  data: Answer | null;
  problem: Problem | null;
  reload(): void;
}

/**
 * Loads an answer of the server, and again when `version` changes. What was there stays to be read while it loads, and
 * while the server is away.
 */
export function useLoaded<Answer>(path: string | null, query: Query, version: unknown = 0): Loaded<Answer> {
  const key = path === null ? '' : JSON.stringify([path, query]);
  const [state, setState] = useState<{ key: string; data: Answer | null; problem: Problem | null }>({
    key: '',
    data: null,
    problem: null,
  });
  const [again, setAgain] = useState(0);
  const busy = useRef('');
  useEffect(() => {
    if (path === null || busy.current === key) {
      return undefined;
    }
    const stop = new AbortController();
    busy.current = key;
    get<Answer>(path, query, stop.signal)
      .then(
        (data) => setState({ key, data, problem: null }),
        (problem: Problem) => {
          if (!stop.signal.aborted) {
            setState((before) => ({ key, data: before.key === key ? before.data : null, problem }));
          }
        },
      )
      .finally(() => (busy.current = ''));
    return () => {
      busy.current = '';
      stop.abort();
    };
  }, [key, version, again]);
  const current = state.key === key;
  return {
    data: current ? state.data : null,
    problem: current ? state.problem : null,
    reload: () => setAgain((n) => n + 1),
  };
}
