export const handler = () => 'not the default';
