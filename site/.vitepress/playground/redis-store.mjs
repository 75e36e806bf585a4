// In the place of ioredis and of the store on Redis, which a browser cannot reach.
export const RedisStore = {};
export const isRedisStore = () => false;
export const [Cluster, Command, Redis] = [class {}, class {}, class {}];
