export function siteLink(href: string): string;
