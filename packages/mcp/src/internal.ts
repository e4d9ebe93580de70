// What the repository's own packages share of serving tools. It is not for users: names here change without notice.
export { listenOnLoopback } from "./server/loopback.ts";
export { sentParams } from "./server/sent-params.ts";
export { listedTool } from "./server/tool-list.ts";
