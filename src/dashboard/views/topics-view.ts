/** A subscription of a topic, as the page shows it. */
export interface SubscriptionView {
  topic: string;
  name: string;
  queue: string;
  /** When an app first declared it. */
  since: number;
  /** Whether a live worker has its handler; null if its queue could not be read. */
  isHandled: boolean | null;
  /** Whether the viewer may end it. */
  canBeRemoved: boolean;
}

/** The subscriptions that the viewer may see, by topic and name. */
export interface TopicsView {
  subscriptions: SubscriptionView[];
}
