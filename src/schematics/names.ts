// The names that follow from that of a job.

/** Returns the words of a name, as those of `sendEmail`, `send-email` and `send email`. */
function wordsOf(name: string): string[] {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2');
  return (spaced.match(/[A-Za-z0-9]+/g) ?? []).map((word) => word.toLowerCase());
}

/** Returns the name of files, folders and the job: `send-email`. */
export function dashed(name: string): string {
  return wordsOf(name).join('-');
}

/** Returns the name of a class: `SendEmail`. */
export function classNameOf(name: string): string {
  return wordsOf(name)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('');
}
