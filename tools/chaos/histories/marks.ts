// Numbers that mark the state of a job.

/** Outcomes of an enqueue: without a reply, added, a replacement of a pending job, or not added. */
export const OPEN = 1;
export const ADDED = 2;
export const REPLACED = 3;
export const NOT_ADDED = 4;

/** Actions on a job, certain or possible. */
export const CANCEL_ASKED = 1;
export const CANCELLED = 2;
export const REMOVE_ASKED = 4;
export const REMOVED = 8;
export const RESCHEDULED = 16;
export const PLANTED = 32;
export const DOUBT = 64;
/** Its first failure is its last. */
export const FINAL = 128;
export const LATER = 256;
export const REDRIVEN = 512;
/** Each of its attempts may fail. */
export const FAILS = 1_024;
/** Its enqueue was acknowledged by a server that may have forgotten it since. */
export const UNSURE = 2_048;
/** The number that it takes of the counter behind the fences, for its place among those of its priority. */
export const PRIORITY = 4_096;
/** A dead letter, which may have been deleted. */
export const DISCARD_ASKED = 8_192;
export const DISCARDED = 16_384;
