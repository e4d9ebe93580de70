// A client of the protocol's older revision cancels by a request of its own: the id that it was given shows whose call it
// means. It is never asked for, and kept nowhere: a client without one, or from before a restart, is served as well.
import { newSecret } from "./secret.ts";

/** What clients of the older revision send back with each request, once an answer has shown it to them. */
const header = "mcp-session-id";

/** The client that a request comes from; undefined: it shows none. */
export function clientOf(request: Request | undefined): string | undefined {
  return request?.headers.get(header) || undefined;
}

/** Gives an answer an id for a client that has none. Those of the newer revision, which name their method, need none. */
export function withClientId(request: Request, answer: Response): Response {
  const needsOne = request.method === "POST" && clientOf(request) === undefined && !request.headers.has("mcp-method");
  if (needsOne && answer.ok) answer.headers.set(header, newSecret());
  return answer;
}
