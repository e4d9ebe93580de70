export { redisWorkers, type RedisOptions } from "./redis-workers.ts";
export { serveAttempts, type ServeOptions } from "./serve-attempts.ts";
