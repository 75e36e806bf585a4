export function siteLink(href: string, page?: string): string;
