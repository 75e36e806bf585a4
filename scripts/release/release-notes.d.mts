export function releaseNotes(root: string, tag: string, isDraft?: boolean): string;
