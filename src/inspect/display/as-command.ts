/** Returns a command of the command line, its words quoted for a shell where they need it. */
export function asCommand(...words: readonly string[]): string {
  return ['npx', 'nest-job-queue', ...words].map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
