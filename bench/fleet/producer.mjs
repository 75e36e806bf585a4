// The ways in which a producer feeds a queue. Each mode takes (session, load, payload) with load = { from, count, size,
// … }.

export const drive = {
  async bulk(session, { from, count, size, chunk = 1_000 }, payload) {
    for (let done = 0; done < count; done += chunk) {
      await session.enqueueBulk(make(from + done, Math.min(chunk, count - done), size, payload));
    }
  },

  async delayed(session, { from, count, size, chunk = 1_000, delayMs }, payload) {
    for (let done = 0; done < count; done += chunk) {
      await session.enqueueDelayed(make(from + done, Math.min(chunk, count - done), size, payload), delayMs);
    }
  },

  async parallel(session, { from, count, size, width = 100 }, payload) {
    for (let done = 0; done < count; done += width) {
      await session.enqueueParallel(make(from + done, Math.min(width, count - done), size, payload));
    }
  },

  async sequential(session, { from, count, size }, payload) {
    for (let i = 0; i < count; i++) await session.enqueueOne(payload(from + i, size));
  },

  /** Enqueues a job every `gapMs`, so that the queue is idle each time. With `delayMs` it is due later. */
  async paced(session, { from, count, size, gapMs, delayMs }, payload) {
    for (let i = 0; i < count; i++) {
      await enqueueOne(session, payload(from + i, size), delayMs);
      await new Promise((resolve) => setTimeout(resolve, gapMs));
    }
  },

  /** Enqueues single enqueues at a steady rate, whether the earlier ones are acknowledged or not (an open load). */
  async rate(session, { from, count, size, perSecond, delayMs }, payload) {
    const pending = [];
    const started = performance.now();
    for (let i = 0; i < count;) {
      const due = Math.min(count, Math.floor(((performance.now() - started) / 1_000) * perSecond));
      for (; i < due; i++) pending.push(enqueueOne(session, payload(from + i, size), delayMs));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(pending);
  },
};

function enqueueOne(session, payload, delayMs) {
  return delayMs === undefined ? session.enqueueOne(payload) : session.enqueueDelayed([payload], delayMs);
}

function make(from, count, size, payload) {
  return Array.from({ length: count }, (_, i) => payload(from + i, size));
}
