export type { ListenOptions, ServeMcpOptions } from "./options.ts";
export { serveMcp } from "./serve.ts";
export type { McpService } from "./serve.ts";
