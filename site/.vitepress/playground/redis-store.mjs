// In the place of the store on Redis, which a browser cannot reach.
export const RedisStore = {};
export const isRedisStore = () => false;
