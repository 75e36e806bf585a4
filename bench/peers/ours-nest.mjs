export const available = false;
