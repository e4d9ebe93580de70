export { bullmqQueue, type RedisOptions } from "./bullmq/queue.ts";
export { serveRuns } from "./bullmq/serve.ts";
export { redisPace, type RedisPaceOptions } from "./bullmq/pace.ts";
