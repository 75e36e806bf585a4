// The contestants. An adapter module exports:
//
//   name      what the table calls it
//   version   of the installed package
//   settings  { text: value }: what was set for speed and memory, printed above the table
//   alternatives   { id: { text, … } }: other documented settings that were tried; open gets one as `trial`
//   flows     { id: { text, … } }: the same with limits or groups, for `--flow`; open gets one as `trial` too
//   keepsAll  true where the history of completed jobs cannot be capped
//   open({ url, queue, keep, events, concurrency, delays, trial }) → session    (concurrency: of all workers that will run; delays:
//                                    true where jobs are delayed while a worker runs)
//   openMany({ nodes, names }) → { work(handler), enqueue(i, payload) }    many queues, for `--queues`; work() resolves
//                                    when a worker of each queue is ready; nodes: { host, port } of one server or of masters
//
// and a session has, with payloads as plain objects:
//
//   enqueueOne(payload)              resolves when the server has acknowledged this one job
//   enqueueParallel(payloads)        single enqueues that are all under way at once
//   enqueueBulk(payloads)            the fastest way the library has for many jobs
//   enqueueDelayed(payloads, ms)     many jobs that become due in `ms`
//   prepareWorker({ concurrency, prefetch, handler, heldBack }) → { start(), stop() }   connected, but idle until
//                                    start(); with heldBack false it may do all in start(), which is then not timed;
//                                    prefetch is how many jobs may be claimed ahead, where that can be set; undefined: its default
//   counts() → { waiting, scheduled, active, completed, failed }    as the queue itself tells them
//   shrink()                         drops what is capped whatever the number of jobs (an event stream)
//   close()

import { loadBeside, loadOurs } from './ours.mjs';

const modules = {
  bullmq: () => import('./bullmq.mjs'),
  'bee-queue': () => import('./bee-queue.mjs'),
  groupmq: () => import('./groupmq.mjs'),
  self: loadOurs,
  beside: loadBeside,
  nest: () => import('./ours-nest.mjs'),
};

/** The ids whose figures are the `peers` of the report. `self` is this library, `nest` this library in a Nest app. */
export const peerIds = ['bullmq', 'bee-queue', 'groupmq'];

/** @param id of a contestant, or `peer:alternative` for one with other settings than its best */
export async function loadPeer(id) {
  const [contestant, alternative] = id.split(':');
  const peer = await modules[contestant]();
  if (alternative === undefined) return peer;
  const trial = { ...peer.alternatives, ...peer.flows }[alternative];
  const name = `${peer.name}, ${alternative}`;
  return { ...peer, name, settings: { trial: trial.text }, open: (options) => peer.open({ ...options, trial }) };
}
