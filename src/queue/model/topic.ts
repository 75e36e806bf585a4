import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { checkJobId } from '../validation/names.js';

/** A subscription of a topic, as the register keeps it. */
export interface TopicSubscription {
  /** The name of the topic. */
  topic: string;
  /** The name of the subscription, among those of its topic. */
  name: string;
  /** The queue of its jobs. */
  queue: string;
  /** The time when an app first declared it. */
  since: Date;
  /** The prefix of the keys of that queue. Absent if an older version has declared it. */
  prefix?: string;
  /** Whether the name of that queue is a hash tag in its keys. Absent if an older version has declared it. */
  hashTag?: boolean;
  /** The number of shards of that queue. Absent for a queue without. */
  shards?: number;
}

/** A subscription as the code of an app declares it. */
export type DeclaredSubscription = Omit<TopicSubscription, 'since'>;

/** The start of the names of the queues of publications. Its options of `forRoot` are those of the register. */
export const PUBLICATIONS = 'topic-publications';

/** Returns the queue of the publications of a topic that a worker hands on. */
export function publicationsOf(topic: string): string {
  return `${PUBLICATIONS}/${topic}`;
}

/** Returns whether a name is kept for queues of publications. */
export function isOfPublications(queue: string): boolean {
  return queue === PUBLICATIONS || queue.startsWith(`${PUBLICATIONS}/`);
}

const NAME = /^[\w.-]{1,63}$/;
const RULE = '1 to 63 of A-Z a-z 0-9 _ . -';
const LONGEST_PUBLICATION_ID = 64;
const LONGEST_JOB_ID = 128;

/** Checks the name of a topic or of a subscription. Both become part of a queue's name. @throws InvalidOptionError */
export function checkTopicName(subject: string, name: unknown, hint?: string): asserts name is string {
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new InvalidOptionError(subject, RULE, show(name), hint);
  }
}

/** Checks the id of a publication, of which the ids of its jobs are made. @throws InvalidOptionError */
export function checkPublicationId(id: unknown): asserts id is string {
  checkJobId(id, 'publish.id');
  if (id.length > LONGEST_PUBLICATION_ID) {
    throw new InvalidOptionError('publish.id', `at most ${LONGEST_PUBLICATION_ID} characters`, show(id));
  }
}

/** Returns the name of the jobs of a subscription. It is also that of their queue if no other is chosen. */
export function jobNameOf({ topic, name }: Pick<TopicSubscription, 'topic' | 'name'>): string {
  return `${topic}/${name}`;
}

/** Returns the id of a job of a publication: always the same, so that a repeat adds no second job. */
export function jobIdOf(publication: string, jobName: string): string {
  const id = `${publication}:${jobName}`;
  return id.length <= LONGEST_JOB_ID ? id : `${publication}:${createHash('sha1').update(jobName).digest('hex')}`;
}

/** Returns the id of a publication that a worker hands on, of the id of its job. */
export function publicationIdOf({ id, name }: { id: string; name: string }): string {
  return id.slice(0, -name.length - 1);
}
