export function changelogProblem(root: string, target?: string): string | undefined;
