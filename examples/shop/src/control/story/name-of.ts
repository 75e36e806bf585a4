/** A job as the story calls it: its kind and the beginning of its id. */
export function nameOf({ name, id }: { name?: string; id: string }): string {
  return `${name ?? 'job'} ${id.slice(0, 8)}`;
}
