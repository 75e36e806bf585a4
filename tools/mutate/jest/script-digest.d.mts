export function scriptDigest(text: string): string;
