/** The callbacks that wait for a signal, and the one listener that calls them. Node warns of a leak at eleven listeners. */
interface Waits {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const waitsOf = new WeakMap<AbortSignal, Waits>();

/** Calls back when a signal aborts. Returns a function that ends the wait. Many waits cost the signal one listener. */
export function onceAborted(signal: AbortSignal, callback: () => void): () => void {
  const waits = waitsOf.get(signal) ?? listenTo(signal);
  waits.callbacks.add(callback);
  return () => {
    waits.callbacks.delete(callback);
    if (waits.callbacks.size === 0 && waitsOf.get(signal) === waits) {
      waitsOf.delete(signal);
      signal.removeEventListener('abort', waits.listener);
    }
  };
}

function listenTo(signal: AbortSignal): Waits {
  const callbacks = new Set<() => void>();
  const listener = () => callbacks.forEach((callback) => callback());
  signal.addEventListener('abort', listener, { once: true });
  const waits = { callbacks, listener };
  waitsOf.set(signal, waits);
  return waits;
}
