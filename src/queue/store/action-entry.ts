/** The author of an action. */
export interface ActionAuthor {
  /** The way: a page of the dashboard, the command line, or the code of an app. */
  via: 'dashboard' | 'cli' | 'app';
  /** The user of the dashboard, `user@host` of the command line, or the program of the app. */
  by: string;
}

/** The object of an action, for a link to it. */
export interface ActionTarget {
  /** What the id names. */
  kind: 'job' | 'group' | 'schedule' | 'batch';
  /** The id of a job or batch, or the name of a group or schedule. */
  id: string;
}

/** An entry of the action log. */
export interface ActionEntry extends ActionAuthor {
  /** Its place in the log: later entries have greater ones. */
  entryId: string;
  /** The time of the end of the action, or of its begin if it has not ended. */
  at: Date;
  /** The action, such as `pause`, `redrive` or `limit-group`. */
  action: string;
  /** The object of the action, in words. */
  subject: string;
  /** The single object of the action; absent for the queue or several jobs. */
  target?: ActionTarget;
  /** A second object, such as the new job of `redrive-as-new`. `subject` does not name it. */
  other?: ActionTarget;
  /** The number of changes; null if the action has not ended, or its end is unknown. */
  count: number | null;
}

/** An entry as its writer gives it. */
export interface NotedAction extends Omit<ActionEntry, 'entryId' | 'at'> {
  /** The entry of its begin. */
  of?: string;
  /** True if nothing was done: the entry hides its begin and itself. */
  isVoid?: boolean;
}

export type StoredAction = NotedAction & Pick<ActionEntry, 'entryId' | 'at'>;
