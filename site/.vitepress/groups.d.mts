export const GROUPS: {
  text: string;
  items: { text: string; link: string; description: string; target?: string }[];
}[];
