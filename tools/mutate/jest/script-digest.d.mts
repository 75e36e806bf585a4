export function scriptDigest(text: string): string;
export function inCluster(name: string): string;
