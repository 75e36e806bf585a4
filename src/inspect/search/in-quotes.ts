/** Returns a value as a search reads it again, whatever it has in it. */
export function inQuotes(value: string): string {
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
